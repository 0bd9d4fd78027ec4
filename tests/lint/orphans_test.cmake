# Configures a scratch project twice: every test named, then one more file on disk than in targets.
set(scratch ${CMAKE_CURRENT_BINARY_DIR}/orphans_scratch)
file(REMOVE_RECURSE ${scratch})
file(WRITE ${scratch}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\n"
  "add_custom_target(t SOURCES a_test.cc deep/b_test.cc)\nadd_subdirectory(deep)\n"
  "include(\"${CMAKE_CURRENT_LIST_DIR}/orphans.cmake\")\n")
file(WRITE ${scratch}/deep/CMakeLists.txt "add_custom_target(d SOURCES c_test.cc)\n")
foreach(name a_test.cc deep/b_test.cc deep/c_test.cc)
  file(WRITE ${scratch}/${name} "")
endforeach()

function(configure)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${scratch} -B ${scratch}/build
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
  set(status ${status} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

configure()
if(NOT status EQUAL 0)
  message(FATAL_ERROR "refused although every test is named: ${output}")
endif()
file(WRITE ${scratch}/deep/lost_test.cc "")
configure()
if(status EQUAL 0 OR NOT output MATCHES "deep/lost_test.cc" OR output MATCHES "[abc]_test.cc")
  message(FATAL_ERROR "exactly the orphan should be refused (status ${status}): ${output}")
endif()
file(REMOVE_RECURSE ${scratch})
