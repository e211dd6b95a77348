# SPDX-License-Identifier: Apache-2.0
# Which shim source is in which of CANN's libraries. src/api/acl is libascendcl; the others are in shims.cmake.
mp_sources(acl_sources acl_tests api/acl)
# Compiled once, linked into the library and into its tests. Only what a public header declares is exported;
# abi/libascendcl.exports keeps the list.
add_library(ascendcl_objects OBJECT ${acl_sources})
target_link_libraries(ascendcl_objects PRIVATE mp_options)
target_include_directories(ascendcl_objects PRIVATE "${PROJECT_SOURCE_DIR}/include")
set_target_properties(ascendcl_objects PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
mp_library(ascendcl $<TARGET_OBJECTS:ascendcl_objects>)
set_target_properties(ascendcl PROPERTIES LINKER_LANGUAGE CXX)
# libc_sec is needed by name: vendor binaries find the bounded string functions through libascendcl.
target_link_options(ascendcl PRIVATE -Wl,--no-as-needed)
target_link_libraries(ascendcl PRIVATE millpond c_sec)

# The shims' own tests see hidden symbols, so they are built with the sources.
if(acl_tests)
  mp_test(api_acl_test ${acl_tests} $<TARGET_OBJECTS:ascendcl_objects> LIBS millpond c_sec CORE)
endif()

include(api/shims.cmake)
include(api/pool.cmake)
