# SPDX-License-Identifier: Apache-2.0
# The files of the page become string literals: page.cc includes them, so that the library needs no files beside it.
set(MILLPOND_REPORT_DIR "${PROJECT_BINARY_DIR}/report")
set(page_parts page.html base.css page.css page.js page_chart.js)
set(page_source)
foreach(part IN LISTS page_parts)
  set(file "${CMAKE_CURRENT_LIST_DIR}/${part}")
  file(READ "${file}" text)
  string(MAKE_C_IDENTIFIER "${part}" name)
  string(APPEND page_source "constexpr std::string_view k_${name} = R\"~part~(${text})~part~\";\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
endforeach()
file(CONFIGURE OUTPUT "${MILLPOND_REPORT_DIR}/page_parts.inc" CONTENT "@page_source@" @ONLY)
