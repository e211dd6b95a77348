# SPDX-License-Identifier: Apache-2.0
# Which shim source is in which of CANN's libraries. src/api/acl is libascendcl; the others are in shims.cmake.
mp_sources(acl_sources acl_tests api/acl)
mp_library(ascendcl ${acl_sources})
# Only what a public header declares is exported; abi/libascendcl.exports keeps the list.
set_target_properties(ascendcl PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
# libc_sec is needed by name: vendor binaries find the bounded string functions through libascendcl.
target_link_options(ascendcl PRIVATE -Wl,--no-as-needed)
target_link_libraries(ascendcl PRIVATE millpond c_sec)

# The shims' own tests see hidden symbols, so they are built with the sources.
if(acl_tests)
  mp_test(api_acl_test ${acl_tests} ${acl_sources} LIBS millpond c_sec CORE)
endif()

include(api/shims.cmake)
