# Installs the build into a scratch prefix, then configures, builds and runs a foreign project that says
# find_package(twinrun). The scratch folder is made anew each time: nothing left over can help.
file(REMOVE_RECURSE ${SCRATCH})
set(ENV{CMAKE_PREFIX_PATH} "")

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(toolchain "")
if(TOOLCHAIN)
  set(toolchain -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN})
endif()
run("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
run("configuring the consumer" ${CMAKE_COMMAND} -S ${CONSUMER} -B ${SCRATCH}/build -G Ninja ${toolchain}
  -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_CXX_FLAGS=${CXX_FLAGS}
  -DEXPECTED_VERSION=${VERSION})
run("building the consumer" ${CMAKE_COMMAND} --build ${SCRATCH}/build)
run("running the consumer" ${SCRATCH}/build/consumer)
if(NOT output MATCHES "^1.50 us\ntopology\n")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()
run("running the installed program" ${SCRATCH}/prefix/bin/twinrun version)
file(REMOVE_RECURSE ${SCRATCH})
