# SPDX-License-Identifier: Apache-2.0
# The PyTorch that the kernels library is compiled against: the package of one Python, looked at as files.
#
# Why not find_package(Torch): its own config looks for CUDA, MKL and protobuf, takes seconds, and pins flags that are not
# ours. ATen needs two libraries and one include folder.
#
#   MILLPOND_TORCH_PYTHON      in: the Python whose torch counts (default .venv/bin/python), or "off" for none
#   MillpondTorch_FOUND        out; when false, MillpondTorch_REASON says why
#   MILLPOND_TORCH_DIR         the package's folder          MILLPOND_TORCH_VERSION   such as 2.13.0+cpu
#   MILLPOND_TORCH_INCLUDE_DIR, MILLPOND_TORCH_LIB_DIR
#   MillpondTorch::cpu         libtorch_cpu and libc10 by path; headers as system headers; CMake puts the folder of both into
#                              the rpath of what links it in the build tree; the installed library has none (src/exec/op/torch_library.h)
#   MILLPOND_TORCH_INFO        a file to install as share/millpond/torch.info: ./millpond doctor and src/exec/op/torch_library.cc read it
set(MILLPOND_TORCH_PYTHON "${PROJECT_SOURCE_DIR}/.venv/bin/python" CACHE STRING
    "Python whose torch the kernels are compiled against, or off")

set(MillpondTorch_REASON "")
set(_probe "${PROJECT_SOURCE_DIR}/tools/cli/torch_probe.py")
if(NOT MILLPOND_TORCH_PYTHON OR MILLPOND_TORCH_PYTHON STREQUAL "off")
  set(MillpondTorch_REASON "MILLPOND_TORCH_PYTHON is off")
elseif(NOT EXISTS "${MILLPOND_TORCH_PYTHON}")
  set(MillpondTorch_REASON "there is no ${MILLPOND_TORCH_PYTHON}")
else()
  execute_process(COMMAND "${MILLPOND_TORCH_PYTHON}" "${_probe}" WORKING_DIRECTORY /
                  OUTPUT_VARIABLE _answer ERROR_VARIABLE _error RESULT_VARIABLE _status TIMEOUT 60)
  if(NOT _status EQUAL 0)
    set(MillpondTorch_REASON "${MILLPOND_TORCH_PYTHON} does not run: ${_error}")
  else()
    string(JSON MILLPOND_TORCH_DIR ERROR_VARIABLE _absent GET "${_answer}" torch folder)
    string(JSON MILLPOND_TORCH_VERSION ERROR_VARIABLE _absent GET "${_answer}" torch version)
    if(_absent)
      set(MillpondTorch_REASON "${MILLPOND_TORCH_PYTHON} has no torch")
    endif()
  endif()
endif()

if(NOT MillpondTorch_REASON AND NOT MILLPOND_KERNELS_FOR)  # there: any torch
  file(STRINGS "${PROJECT_SOURCE_DIR}/requirements-torch.txt" _pin REGEX "^torch==")
  string(REGEX REPLACE "^torch==([^ \\\\]+).*" "\\1" _pin "${_pin}")  # its hashes follow
  if(NOT MILLPOND_TORCH_VERSION MATCHES "^${_pin}(\\+.*)?$")
    set(MillpondTorch_REASON "${MILLPOND_TORCH_PYTHON} has torch ${MILLPOND_TORCH_VERSION}, and ${_pin} is needed")
  endif()
endif()
if(NOT MillpondTorch_REASON)
  set(MILLPOND_TORCH_INCLUDE_DIR "${MILLPOND_TORCH_DIR}/include")
  set(MILLPOND_TORCH_LIB_DIR "${MILLPOND_TORCH_DIR}/lib")
  foreach(_file include/ATen/core/Tensor.h lib/libtorch_cpu.so lib/libc10.so)
    if(NOT EXISTS "${MILLPOND_TORCH_DIR}/${_file}")
      set(MillpondTorch_REASON "torch in ${MILLPOND_TORCH_DIR} has no ${_file}")
    endif()
  endforeach()
endif()

if(MillpondTorch_REASON)
  set(MillpondTorch_FOUND FALSE)
  unset(MILLPOND_TORCH_DIR)
  unset(MILLPOND_TORCH_VERSION)
  unset(MILLPOND_TORCH_INFO)
  if(MillpondTorch_FIND_REQUIRED)
    message(FATAL_ERROR "torch: ${MillpondTorch_REASON}")
  endif()
else()
  set(MillpondTorch_FOUND TRUE)
  if(NOT MillpondTorch_FIND_QUIETLY)
    message(STATUS "torch ${MILLPOND_TORCH_VERSION}: ${MILLPOND_TORCH_DIR}")
  endif()
  if(NOT TARGET MillpondTorch::cpu)
    add_library(MillpondTorch::c10 SHARED IMPORTED)
    set_target_properties(MillpondTorch::c10 PROPERTIES IMPORTED_LOCATION "${MILLPOND_TORCH_LIB_DIR}/libc10.so")
    add_library(MillpondTorch::cpu SHARED IMPORTED)
    set_target_properties(MillpondTorch::cpu PROPERTIES
      IMPORTED_LOCATION "${MILLPOND_TORCH_LIB_DIR}/libtorch_cpu.so"
      # Imported targets' include folders are system ones: our warnings do not reach torch's headers.
      INTERFACE_INCLUDE_DIRECTORIES "${MILLPOND_TORCH_INCLUDE_DIR};${MILLPOND_TORCH_INCLUDE_DIR}/torch/csrc/api/include"
      INTERFACE_LINK_LIBRARIES MillpondTorch::c10)
  endif()
  set(MILLPOND_TORCH_INFO "${PROJECT_BINARY_DIR}/share/millpond/torch.info")  # where an install has it
  file(CONFIGURE OUTPUT "${MILLPOND_TORCH_INFO}" CONTENT "version=@MILLPOND_TORCH_VERSION@\nfolder=@MILLPOND_TORCH_DIR@\n" @ONLY)
endif()
