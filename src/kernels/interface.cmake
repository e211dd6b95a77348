# SPDX-License-Identifier: Apache-2.0
# What core and kernels must have in common to be loaded together: the headers that both are compiled from. There are several
# libraries of kernels, one for each release of torch, and some are built later than the core (./millpond build-kernels).
file(GLOB interface_headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/base/*.h" "${CMAKE_CURRENT_SOURCE_DIR}/base/*.def"
  "${CMAKE_CURRENT_SOURCE_DIR}/ops/*.h")
list(APPEND interface_headers "${CMAKE_CURRENT_SOURCE_DIR}/kernels/runtime/library.h")
list(SORT interface_headers)
set(interface "")
foreach(header IN LISTS interface_headers)
  file(SHA256 "${header}" digest)
  string(APPEND interface ${digest})
endforeach()
string(SHA256 interface "${interface}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${interface_headers})
set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/kernels/runtime/interface.cc" "${CMAKE_CURRENT_SOURCE_DIR}/exec/op/interface.cc"
  PROPERTIES COMPILE_DEFINITIONS "MP_KERNELS_INTERFACE=\"${interface}\"" SKIP_PRECOMPILE_HEADERS ON)
