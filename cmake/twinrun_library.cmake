# One folder, one target: twinrun_library(topology FOLDER core/topology SOURCES … HEADERS … DEPS …) makes
# twinrun::topology. Headers are a file set with the repository root as base, so they are written
# "core/topology/spec.h" everywhere, installed under that path, and each compiled alone by the target
# all_verify_interface_header_sets.
add_library(twinrun_options INTERFACE)
# -Wrestrict: GCC 12 sees overlaps inside std::string's inlined code that cannot happen (GCC bug 105651).
target_compile_options(twinrun_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TWINRUN_WERROR}>>:-Werror>)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

function(twinrun_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;DEPS;PRIVATE_DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "twinrun_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(twinrun_${name} STATIC ${arg_SOURCES})
  add_library(twinrun::${name} ALIAS twinrun_${name})
  set_target_properties(twinrun_${name} PROPERTIES EXPORT_NAME ${name})
  target_sources(twinrun_${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS})
  target_link_libraries(twinrun_${name} PUBLIC ${arg_DEPS}
    PRIVATE $<BUILD_INTERFACE:twinrun_options> ${arg_PRIVATE_DEPS})
  target_compile_features(twinrun_${name} PUBLIC cxx_std_20)
  set_property(GLOBAL APPEND PROPERTY TWINRUN_LIBRARIES twinrun_${name})
endfunction()
