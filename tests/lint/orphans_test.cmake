# Configures a scratch project twice: every test named, then one more file on disk than in targets.
set(scratch ${CMAKE_CURRENT_BINARY_DIR}/orphans_scratch)
file(REMOVE_RECURSE ${scratch})
file(WRITE ${scratch}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\n"
  "add_custom_target(t SOURCES a_test.cc)\ninclude(${CMAKE_CURRENT_LIST_DIR}/orphans.cmake)\n")
file(WRITE ${scratch}/a_test.cc "")

function(configure status_variable output_variable)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${scratch} -B ${scratch}/build
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()

configure(status output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "refused although every test is named: ${output}")
endif()
file(WRITE ${scratch}/deep/lost_test.cc "")
configure(status output)
if(status EQUAL 0 OR NOT output MATCHES "deep/lost_test.cc")
  message(FATAL_ERROR "an orphan was not refused (status ${status}): ${output}")
endif()
file(REMOVE_RECURSE ${scratch})
