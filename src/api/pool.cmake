# SPDX-License-Identifier: Apache-2.0
# libmillpond_pool.so: the pool for client programs. It needs libascendcl alone and only what CANN's headers declare, so
# that the same file runs on a real NPU; the allocator, the planner and the little of src/base they use are compiled into it.
mp_sources(pool_api_sources ignored api/pool)
mp_sources(pool_sources ignored pool planner)
mp_shim(millpond_pool ${pool_api_sources} ${pool_sources} base/status.cc base/format.cc base/files.cc api/common/guard.cc)
target_include_directories(millpond_pool PRIVATE "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(millpond_pool PRIVATE ascendcl ${CMAKE_DL_LIBS})
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set_target_properties(millpond_pool PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)  # an allocation crosses files
endif()
