# SPDX-License-Identifier: Apache-2.0
# Which shim source is in which of CANN's libraries. src/api/acl is libascendcl; the others are in shims.cmake.
mp_sources(common_sources common_tests api/common)
list(FILTER common_sources EXCLUDE REGEX "/(refuse|shell)\\.cc$")
# What every ABI shares is compiled once and linked into each library; it holds no state, that is libmillpond's.
add_library(api_common OBJECT ${common_sources})
target_link_libraries(api_common PRIVATE mp_options)
target_include_directories(api_common PRIVATE "${PROJECT_SOURCE_DIR}/include")
set_target_properties(api_common PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

mp_sources(acl_sources acl_tests api/acl/rt/device api/acl/rt/memory api/acl/rt/stream api/acl/rt/capture api/acl/rt/kernel api/acl/mdl api/acl/op api/acl/prof api/acl/refused)
list(APPEND acl_sources ${CMAKE_CURRENT_SOURCE_DIR}/api/common/refuse.cc)
list(APPEND acl_tests ${common_tests})
# Compiled once, linked into the library and into its tests. Only what a public header declares is exported;
# abi/libascendcl.exports keeps the list.
mp_units(acl_units ascendcl ${acl_sources})
add_library(ascendcl_objects OBJECT ${acl_units})
target_link_libraries(ascendcl_objects PRIVATE mp_options)
mp_precompile(ascendcl_objects)
target_include_directories(ascendcl_objects PRIVATE "${PROJECT_SOURCE_DIR}/include")
set_target_properties(ascendcl_objects PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
mp_library(ascendcl $<TARGET_OBJECTS:ascendcl_objects> $<TARGET_OBJECTS:api_common>)
set_target_properties(ascendcl PROPERTIES LINKER_LANGUAGE CXX)
# libc_sec is needed by name: vendor binaries find the bounded string functions through libascendcl.
target_link_options(ascendcl PRIVATE -Wl,--no-as-needed)
target_link_libraries(ascendcl PRIVATE millpond c_sec)

# The shims' own tests see hidden symbols, so they are built with the sources.
if(acl_tests)
  mp_test(api_acl_test ${acl_tests} $<TARGET_OBJECTS:ascendcl_objects> $<TARGET_OBJECTS:api_common> LIBS millpond c_sec CORE)
endif()

include(api/shims.cmake)
include(api/pool.cmake)
