# The catalogue against its schema, and topologies to and from other formats.
twinrun_test(core_io_topology_schema
  FILES core/io/topology_schema_test.cc
  DEPS twinrun::io)
# GCC 12 sees an overlap inside valijson's inlined string code that cannot happen.
target_compile_options(core_io_topology_schema_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
