# What this machine offers beyond the plain CPU. Nothing here is required: each part is found, or
# reported as "off: not found"; `twinrun doctor` repeats the result and says what to do.
find_package(MPI QUIET COMPONENTS CXX)
set(BLA_VENDOR OpenBLAS)
find_package(BLAS QUIET)
find_package(CUDAToolkit QUIET)

set(nccl_hints ${NCCL_ROOT} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR})
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_hints} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY nccl HINTS ${nccl_hints} ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)

function(twinrun_report_part label found detail)
  if(found)
    message(STATUS "${label}: on (${detail})")
    set(TWINRUN_${label}_BUILD "${detail}" PARENT_SCOPE)
  else()
    message(STATUS "${label}: off: not found")
    set(TWINRUN_${label}_BUILD "" PARENT_SCOPE)
  endif()
endfunction()
twinrun_report_part(MPI "${MPI_CXX_FOUND}" "${MPI_CXX_VERSION}")
twinrun_report_part(BLAS "${BLAS_FOUND}" "OpenBLAS")
twinrun_report_part(CUDA "${CUDAToolkit_FOUND}" "${CUDAToolkit_VERSION}")
if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h nccl_version_lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" nccl_version "${nccl_version_lines}")
  list(JOIN nccl_version "." nccl_version)
  twinrun_report_part(NCCL TRUE "${nccl_version}")
else()
  twinrun_report_part(NCCL FALSE "")
endif()

# The CUDA parts (exec/cuda, tests/substitute) are built where the toolkit's compiler and NCCL are there:
# TWINRUN_HAS_CUDA says so.
option(TWINRUN_CUDA "build the CUDA backend and its tests, where nvcc and NCCL are found" ON)
set(TWINRUN_HAS_CUDA OFF)
if(TWINRUN_CUDA AND CUDAToolkit_FOUND AND NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Static, CMake's default, would put a second runtime beside the shared one that we link ourselves.
    set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
    # CMake 3.25 knows no C++20 for nvcc 13, and would take the standard of C++.
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80)  # -DCMAKE_CUDA_ARCHITECTURES=all-major for what is given away
    endif()
    if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    endif()
    enable_language(CUDA)
    add_library(NCCL::nccl UNKNOWN IMPORTED)
    set_target_properties(NCCL::nccl PROPERTIES
      IMPORTED_LOCATION ${NCCL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
    set(TWINRUN_HAS_CUDA ON)
  endif()
endif()
