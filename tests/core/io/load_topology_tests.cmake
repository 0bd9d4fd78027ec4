# Reading topologies: files, the catalogue, expressions.
twinrun_test(core_io_load_topology
  FILES core/io/load_topology_test.cc core/io/topology_argument_test.cc core/io/catalogue_test.cc core/io/device_speed_test.cc
  DEPS twinrun::io)
