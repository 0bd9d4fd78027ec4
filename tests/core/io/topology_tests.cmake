# The catalogue against its schema, and topologies to and from other formats.
twinrun_test(core_io_topology_schema
  FILES core/io/topology_schema_test.cc
  DEPS twinrun::io ValiJSON::valijson)

twinrun_test(core_io_topology_formats
  FILES
    core/io/link_list_test.cc
    core/io/nccl_tables_test.cc
    core/io/nccl_xml_broken_test.cc
    core/io/nccl_xml_export_test.cc
    core/io/nccl_xml_import_test.cc
    core/io/save_topology_test.cc
  DEPS twinrun::io)
target_compile_definitions(core_io_topology_formats_test PRIVATE
  TWINRUN_TEST_ROOT="${PROJECT_SOURCE_DIR}")
