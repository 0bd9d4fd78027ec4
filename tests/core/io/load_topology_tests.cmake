# Reading topologies: files, the catalogue, expressions.
twinrun_test(core_io_load_topology
  FILES core/io/load_topology_test.cc core/io/topology_argument_test.cc core/io/catalogue_test.cc
  DEPS twinrun::io)
# GCC 12 sees an overlap inside std::string's inlined operator+ that cannot happen (GCC bug 105651).
target_compile_options(core_io_load_topology_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
