# `cmake --install` and the exported package: another project says find_package(twinrun) and links
# twinrun::topology, twinrun::plan, …; tests/install/ does exactly that.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
get_property(libraries GLOBAL PROPERTY TWINRUN_LIBRARIES)
install(TARGETS ${libraries} EXPORT twinrun-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/twinrun)
install(TARGETS twinrun RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET twinrun_mpi_plugin)
  install(TARGETS twinrun_mpi_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/twinrun)
endif()
if(TARGET twinrun_cuda_plugin)
  install(TARGETS twinrun_cuda_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/twinrun)
endif()
install(EXPORT twinrun-targets NAMESPACE twinrun::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/twinrun)
# In a folder of their own: beside the build's files find_package would take them for an installed package.
set(package ${PROJECT_BINARY_DIR}/package)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/twinrun-config.cmake.in
  ${package}/twinrun-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/twinrun)
write_basic_package_version_file(${package}/twinrun-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${package}/twinrun-config.cmake
  ${package}/twinrun-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/twinrun)
