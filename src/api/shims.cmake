# SPDX-License-Identifier: Apache-2.0
# CANN's other libraries, beside libascendcl: SONAMEs as clients name them, each symbol in the library where CANN has it.

# mp_shim(NAME sources...): only what a public header declares is exported.
function(mp_shim name)
  mp_library(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

mp_shim(c_sec api/c_sec/c_sec.cc)

# Libraries whose entry points stand in Guard: mp_guarded_shim(NAME sources...).
function(mp_guarded_shim name)
  mp_shim(${name} ${ARGN} $<TARGET_OBJECTS:api_common>)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name} PRIVATE ascendcl millpond)
endfunction()

mp_sources(op_compiler_sources ignored api/op_compiler)
mp_guarded_shim(acl_op_compiler ${op_compiler_sources} api/acl/op/call.cc)
mp_sources(cblas_sources ignored api/cblas)
mp_guarded_shim(acl_cblas ${cblas_sources} api/acl/op/call.cc)
# Pictures. libjpeg and libpng are opened when a file is decoded; their headers are needed to compile.
mp_sources(dvpp_sources dvpp_tests api/dvpp media)
mp_guarded_shim(acl_dvpp ${dvpp_sources})
target_link_libraries(acl_dvpp PRIVATE ${CMAKE_DL_LIBS})
mp_sources(media_sources ignored media)
mp_test(media_test ${dvpp_tests} ${media_sources} LIBS millpond CORE)
mp_shim(acl_tdt_channel api/tdt/refused_channel.cc)
mp_shim(acl_tdt_queue api/tdt/refused_queue.cc)
mp_sources(aclnn_sources aclnn_tests api/aclnn)
mp_guarded_shim(nnopbase ${aclnn_sources})
foreach(library acl_tdt_channel acl_tdt_queue)
  target_link_libraries(${library} PRIVATE ascendcl)
endforeach()

mp_sources(hccl_sources ignored api/hccl)
mp_guarded_shim(hccl ${hccl_sources})

# The transformer boost library, beside the operators' two phases: its parameters and its graphs run rows.
mp_sources(atb_sources ignored api/atb)
mp_guarded_shim(atb ${atb_sources})
target_link_libraries(atb PRIVATE nnopbase)

# Shells: libraries that clients link or open by name, and whose symbols (if any) libascendcl or libnnopbase has. A
# symbol looked up in a shell is found in what the shell needs; one that nobody has is not found, and clients test that.
function(mp_shells needed)
  foreach(name IN LISTS ARGN)
    mp_shim(${name} api/common/shell.cc)
    target_link_options(${name} PRIVATE -Wl,--no-as-needed)
    target_link_libraries(${name} PRIVATE ${needed})
  endforeach()
endfunction()

# The parts CANN divides the runtime into. Some clients link a part alone, and a linker does not look into what a
# library needs: such a part names all that libascendcl exports and is its filter, so the loader takes every symbol from
# libascendcl and none from the part.
function(mp_filters filtered)
  file(STRINGS "${PROJECT_SOURCE_DIR}/abi/lib${filtered}.exports" names)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/abi/lib${filtered}.exports")
  set(text "// Written by src/api/shims.cmake. No body here is ever reached.\nstatic void Unreachable(void) { __builtin_trap(); }\n")
  foreach(name IN LISTS names)
    string(APPEND text "__attribute__((alias(\"Unreachable\"), visibility(\"default\"))) void ${name}(void);\n")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/filter_${filtered}.c")
  file(CONFIGURE OUTPUT "${source}" CONTENT "${text}" @ONLY)
  set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "-w;-fno-sanitize=all;-fno-builtin")
  foreach(name IN LISTS ARGN)
    mp_shim(${name} "${source}")
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_options(${name} PRIVATE -Wl,--no-as-needed "-Wl,--filter=lib${filtered}.so")
    target_link_libraries(${name} PRIVATE ${filtered})
  endforeach()
endfunction()
mp_filters(ascendcl acl_rt acl_rt_impl acl_mdl acl_op_executor msprofiler ascend_dump)
mp_shells(ascendcl runtime profapi platform)
# Operators: generated entry points. dlsym on libopapi's handle must reach libnnopbase.
mp_shim(opapi ${opapi_sources})
add_dependencies(opapi op_tables)
target_link_options(opapi PRIVATE -Wl,--no-as-needed)
target_link_libraries(opapi PRIVATE nnopbase)
mp_shells(opapi opapi_math opapi_nn opapi_cv opapi_transformer)  # the parts newer CANN divides it into
# Named by torch_npu, vllm-ascend and their like; later work fills some of them.
mp_shells(hccl hcomm)
mp_shells(ascendcl tiling_api register ascendalog ascend_hal ascend_ml lcal mspti ascendsk shmem)
mp_shim(dcmi api/dcmi/dcmi.cc)
target_include_directories(dcmi PRIVATE "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(dcmi PRIVATE ascendcl)
# Pools tell their pieces here. torch_npu does it when a library of the second name is to be preloaded, which the checker
# makes it believe: it needs nothing, so that a program that does load it gets nothing with it.
mp_shim(ms_tools_ext api/mstx/marks.cc api/mstx/regions.cc)
target_include_directories(ms_tools_ext PRIVATE "${PROJECT_SOURCE_DIR}/include")
target_link_options(ms_tools_ext PRIVATE -Wl,--no-as-needed)
target_link_libraries(ms_tools_ext PRIVATE ascendcl millpond)
mp_shim(ascend_kernel_hook api/common/shell.cc)

# Graphs. Vendor libraries pass std::string in the old ABI, new clients in the new one: files named *_old_abi.cc hold the
# few functions with strings, compiled once more the old way.
function(mp_graph_library name folder)
  mp_sources(sources ignored ${folder})
  set(old_abi ${sources})
  list(FILTER old_abi INCLUDE REGEX "_old_abi\\.cc$")
  if(old_abi)
    set_source_files_properties(${old_abi} PROPERTIES COMPILE_DEFINITIONS _GLIBCXX_USE_CXX11_ABI=0)
  endif()
  mp_guarded_shim(${name} ${sources} ${ARGN})
endfunction()

# Graphs are built with libgraph; its parts have names of their own that clients may link.
mp_graph_library(graph api/graph)
mp_shells(graph graph_base metadef)
# Graphs built call by call: a client of libgraph's public classes.
mp_graph_library(eager_style_graph_builder_base api/es)
target_link_options(eager_style_graph_builder_base PRIVATE -Wl,--no-as-needed)
target_link_libraries(eager_style_graph_builder_base PRIVATE graph)
# Sessions: what both generations share is linked into each.
mp_sources(ge_shared_sources ignored api/ge/shared)
mp_graph_library(ge_runner_v2 api/ge/v2 ${ge_shared_sources})
mp_graph_library(ge_runner api/ge/v1 ${ge_shared_sources})
target_link_options(ge_runner PRIVATE -Wl,--no-as-needed)
target_link_libraries(ge_runner PRIVATE ge_runner_v2 graph)
target_link_libraries(ge_runner_v2 PRIVATE graph)
# Offline builds.
mp_graph_library(ge_compiler api/ge_compiler)
target_link_options(ge_compiler PRIVATE -Wl,--no-as-needed)
target_link_libraries(ge_compiler PRIVATE ge_runner graph)
mp_shells(ge_runner ge_common ge_common_base ge_executor)
# Parsers of other frameworks' models.
mp_graph_library(fmk_onnx_parser api/parser)
target_link_libraries(fmk_onnx_parser PRIVATE graph)
mp_graph_library(fmk_parser api/frameworks)
target_link_options(fmk_parser PRIVATE -Wl,--no-as-needed)
target_link_libraries(fmk_parser PRIVATE ge_runner graph)
mp_shells(ascendcl ascend_protobuf)
