# SPDX-License-Identifier: Apache-2.0
# find_package(GenerateEsPackage) for CANN's projects that build graphs call by call (docs/es.md): add_es_library writes the functions for the
# built-in operators with gen_esb when the project is configured, and makes a library of them.
#
#   add_es_library(ES_LINKABLE_AND_ALL_TARGET es_all OPP_PROTO_TARGET target [OUTPUT_PATH dir] [EXCLUDE_OPS Add,Conv2D])
get_filename_component(_millpond_es_tree "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
set(MILLPOND_ES_TREE "${_millpond_es_tree}" CACHE INTERNAL "where Millpond is installed")
find_program(MILLPOND_PYTHON3 NAMES python3 REQUIRED)

# Definitions of a project's own are in a library that is built later than this; those of the tree are known now.
function(_millpond_es_check_definitions target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "add_es_library: OPP_PROTO_TARGET ${target} is no target")
  endif()
  get_target_property(kind ${target} TYPE)
  get_target_property(folder ${target} INTERFACE_LIBRARY_OUTPUT_DIRECTORY)
  if(kind STREQUAL "INTERFACE_LIBRARY" AND folder MATCHES "opp/built-in/op_proto/?$")
    return()
  endif()
  message(FATAL_ERROR "add_es_library: ${target} is not the built-in definitions (an INTERFACE target whose "
    "INTERFACE_LIBRARY_OUTPUT_DIRECTORY is .../opp/built-in/op_proto). Functions for operators of your own are not generated here: "
    "write them with ge::es::CompliantNodeBuilder")
endfunction()

function(add_es_library)
  cmake_parse_arguments(ES "" "ES_LINKABLE_AND_ALL_TARGET;OPP_PROTO_TARGET;OUTPUT_PATH;EXCLUDE_OPS" "" ${ARGN})
  foreach(needed ES_LINKABLE_AND_ALL_TARGET OPP_PROTO_TARGET)
    if(NOT ES_${needed})
      message(FATAL_ERROR "add_es_library: ${needed} is missing")
    endif()
  endforeach()
  if(GE_ES_EXTRACT_HISTORY)
    message(FATAL_ERROR "add_es_library: there is no history of definitions here; leave GE_ES_EXTRACT_HISTORY out")
  endif()
  _millpond_es_check_definitions(${ES_OPP_PROTO_TARGET})
  set(name ${ES_ES_LINKABLE_AND_ALL_TARGET})
  string(REGEX REPLACE "^es_" "" module "${name}")
  set(output "${ES_OUTPUT_PATH}")
  if(NOT output)
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  endif()
  set(folder "${output}/include/${name}")
  execute_process(
    COMMAND "${MILLPOND_PYTHON3}" -I "${MILLPOND_ES_TREE}/bin/gen_esb" "--output_dir=${folder}" "--module_name=${module}"
      "--exclude_ops=${ES_EXCLUDE_OPS}"
    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(FATAL_ERROR "add_es_library: gen_esb: ${said}")
  endif()
  message(STATUS "${said}")

  file(GLOB sources "${folder}/*.cpp")
  add_library(${name}_objects OBJECT ${sources})
  target_include_directories(${name}_objects PRIVATE "${folder}" "${MILLPOND_ES_TREE}/include" "${MILLPOND_ES_TREE}/include/ge")
  target_compile_features(${name}_objects PRIVATE cxx_std_17)
  set_target_properties(${name}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  foreach(kind shared static)
    string(TOUPPER ${kind} word)
    add_library(${name}_${kind} ${word} $<TARGET_OBJECTS:${name}_objects>)
    set_target_properties(${name}_${kind} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE CXX
      LIBRARY_OUTPUT_DIRECTORY "${output}/lib64" ARCHIVE_OUTPUT_DIRECTORY "${output}/lib64")
  endforeach()
  set(base "${MILLPOND_ES_TREE}/lib64/libeager_style_graph_builder_base.so")
  target_link_libraries(${name}_shared PRIVATE "${base}")

  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_shared ${name}_static)
  add_custom_target(build_${name} DEPENDS ${name}_shared ${name}_static)
  target_include_directories(${name} INTERFACE "${folder}" "${MILLPOND_ES_TREE}/include" "${MILLPOND_ES_TREE}/include/ge")
  # Projects name other libraries of the tree without their folder.
  target_link_directories(${name} INTERFACE "${MILLPOND_ES_TREE}/lib64")
  target_link_libraries(${name} INTERFACE ${name}_shared "${base}")
endfunction()

function(add_es_library_and_whl)
  message(WARNING "add_es_library_and_whl: no wheel is made; Python's functions are in the package ge.es already")
  add_es_library(${ARGN})
endfunction()

set(GenerateEsPackage_FOUND TRUE)
