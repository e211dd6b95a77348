# SPDX-License-Identifier: Apache-2.0
# Compiler settings and the few functions every folder uses.
include(GNUInstallDirs)
include(GoogleTest)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_INSTALL_LIBDIR lib64)  # CANN's layout, whatever the host's convention
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

find_package(Threads REQUIRED)

add_library(mp_options INTERFACE)
# -Wno-restrict: gcc 12 warns falsely about std::string concatenation at -O3 (GCC bug 105651).
# -Wthread-safety: src/base/thread_annotations.h says who guards what, and only clang reads it. Its unused private fields are
# those that keep CANN's layouts.
# A warning is an error with the compilers that CI has; another one warns of other things, and is not the user's to mend.
set(werror "")
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.") OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(werror -Werror)
endif()
if(MILLPOND_KERNELS_FOR)
  set(werror "")  # another torch's headers
endif()
target_compile_options(mp_options INTERFACE
  -Wall -Wextra ${werror} -fno-strict-aliasing
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety> $<$<CXX_COMPILER_ID:Clang>:-Wno-unused-private-field>
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wno-sign-conversion -Wnon-virtual-dtor>)
target_compile_definitions(mp_options INTERFACE MP_ASSERT_LEVEL=${MILLPOND_ASSERT_LEVEL})
target_include_directories(mp_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_link_libraries(mp_options INTERFACE Threads::Threads)
if(NOT MILLPOND_TRACE)
  target_compile_definitions(mp_options INTERFACE MP_NO_TRACE)
endif()
if(MILLPOND_SANITIZED_KERNELS)
  target_compile_definitions(mp_options INTERFACE MP_POISON_DEVICE_MEMORY)
endif()
if(MILLPOND_SANITIZER STREQUAL "asan")
  # Not enum: in C, clients may pass any int as an enumeration, and we refuse or ignore it at run time as documented.
  target_compile_options(mp_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize=enum -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(mp_options INTERFACE -fsanitize=address,undefined)
  if(MILLPOND_SANITIZED_KERNELS)
    # Not vptr: torch hides the types that it would ask about. gcc 12 warns falsely in ATen's headers once they are sanitized.
    target_compile_options(mp_options INTERFACE -fno-sanitize=vptr -Wno-maybe-uninitialized)
  endif()
elseif(MILLPOND_SANITIZER STREQUAL "tsan")
  target_compile_options(mp_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(mp_options INTERFACE -fsanitize=thread)
elseif(MILLPOND_SANITIZER STREQUAL "coverage")
  # Not the sanitizers' sibling by kind but by use: the same tests, the same stand-in for the kernels.
  target_compile_options(mp_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(mp_options INTERFACE --coverage)
elseif(MILLPOND_SANITIZER)
  message(FATAL_ERROR "MILLPOND_SANITIZER is '${MILLPOND_SANITIZER}'; known: asan, tsan, coverage, or empty")
endif()

# mp_installed(NAME): a library or program that is installed. With MILLPOND_FLOOR it is linked for systems older than this one
# (tools/link_floor.py). Only with the compiler and C library that CI has: newer headers ask for functions that
# cmake/floor has no stand-in for.
option(MILLPOND_FLOOR "Link what is installed for glibc 2.28 and gcc 8's libstdc++, where this machine can" OFF)
set(floor_dir "")
if(MILLPOND_FLOOR AND NOT MILLPOND_SANITIZER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(floor_dir "${PROJECT_BINARY_DIR}/floor")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/link_floor.py"
    "${PROJECT_SOURCE_DIR}/cmake/floor/floor.c" "${PROJECT_SOURCE_DIR}/cmake/floor/start.c")
  execute_process(COMMAND python3 "${PROJECT_SOURCE_DIR}/tools/link_floor.py" --compiler "${CMAKE_CXX_COMPILER}" --output "${floor_dir}"
                  RESULT_VARIABLE status ERROR_VARIABLE reason ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(STATUS "what is installed needs a system as new as this one: ${reason}")
    set(floor_dir "")
  endif()
endif()
function(mp_installed name)
  if(floor_dir)
    target_link_options(${name} PRIVATE "-L${floor_dir}" -Wl,--exclude-libs,ALL
      "-Wl,--push-state,--no-as-needed,${floor_dir}/libpthread.so.0,${floor_dir}/libdl.so.2,--pop-state")
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${floor_dir}/libfloor.a")
  endif()
endfunction()

# Where every build leaves CANN's libraries, so that tests and tools find them without an install.
set(MILLPOND_LIB_DIR "${PROJECT_BINARY_DIR}/lib64")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${MILLPOND_LIB_DIR}")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# gcc's TSan cannot place its shadow where mmap_rnd_bits is large; setarch -R turns randomisation off.
set(MILLPOND_TEST_LAUNCHER "")
if(MILLPOND_SANITIZER STREQUAL "tsan")
  set(MILLPOND_TEST_LAUNCHER setarch;-R)
elseif(CMAKE_CROSSCOMPILING)
  set(MILLPOND_TEST_LAUNCHER ${CMAKE_CROSSCOMPILING_EMULATOR})
  # Debian has gtest's library for its own processors alone, and the sources for all.
  if(EXISTS /usr/src/googletest/CMakeLists.txt)
    add_subdirectory(/usr/src/googletest "${PROJECT_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
    set(GTest_FOUND TRUE)
  endif()
endif()

# mp_units(OUT NAME file.cc...): what to compile for these files: units of several (tools/unity.py), and what has flags of its
# own or is generated as it is. Two thirds
# of the time a file takes is its headers, and the units share them. CMake's own UNITY_BUILD knows no clashes of names and
# writes absolute paths, which ccache cannot match from another checkout.
option(MILLPOND_UNITY "Compile files of a folder together; OFF compiles each alone, so that its includes are its own" OFF)
find_program(MILLPOND_PYTHON NAMES python3 REQUIRED)
function(mp_units out name)
  set(alone)
  set(files)
  foreach(file IN LISTS ARGN)
    if(NOT file MATCHES "^\\$<")
      cmake_path(ABSOLUTE_PATH file)
    endif()
    set(own_flags)
    foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS SKIP_PRECOMPILE_HEADERS GENERATED)
      get_source_file_property(value "${file}" ${property})
      if(value)
        list(APPEND own_flags ${property})
      endif()
    endforeach()
    if(MILLPOND_UNITY AND EXISTS "${file}" AND NOT own_flags)
      list(APPEND files "${file}")
    else()
      list(APPEND alone "${file}")
    endif()
  endforeach()
  if(files)
    execute_process(COMMAND "${MILLPOND_PYTHON}" "${PROJECT_SOURCE_DIR}/tools/unity.py" --kilobytes 64
                            --root "${PROJECT_SOURCE_DIR}" --output "${PROJECT_BINARY_DIR}/units/${name}" ${files}
                    OUTPUT_VARIABLE units OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "\n" ";" files "${units}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/unity.py")
  set(${out} ${files} ${alone} PARENT_SCOPE)
endfunction()

# mp_precompile(NAME): the headers that nearly every file includes, compiled once. Only without ccache: that one shares what
# was compiled between checkouts, and nothing that was compiled with a precompiled header.
set(MILLPOND_COMMON_HEADERS
  <algorithm> <array> <atomic> <cstddef> <cstdint> <cstring> <functional> <map> <memory> <optional> <set> <span> <string>
  <string_view> <unordered_map> <utility> <vector> "${PROJECT_SOURCE_DIR}/src/base/format.h"
  "${PROJECT_SOURCE_DIR}/src/base/mutex.h" "${PROJECT_SOURCE_DIR}/src/base/status.h")
function(mp_precompile name)
  if(MILLPOND_UNITY AND (NOT CCACHE_PROGRAM OR DEFINED ENV{CCACHE_DISABLE}))
    target_precompile_headers(${name} PRIVATE ${MILLPOND_COMMON_HEADERS})
  endif()
endfunction()

# mp_test(NAME file.cc... [LIBS lib...] [CORE] [SERIAL])
#   CORE: runs under the sanitizers too (label core). SERIAL: never beside another test.
function(mp_test name)
  cmake_parse_arguments(T "CORE;SERIAL" "TIMEOUT" "LIBS" ${ARGN})
  if(MILLPOND_SANITIZER AND NOT T_CORE)
    return()
  endif()
  if(NOT CMAKE_CROSSCOMPILING)
    find_package(GTest QUIET)
  endif()
  if(NOT GTest_FOUND)
    # Who only builds and runs needs no gtest: a target for what is said about it later, never built. ./millpond test sees
    # to gtest, and fails where it finds no test.
    add_executable(${name} EXCLUDE_FROM_ALL ${T_UNPARSED_ARGUMENTS})
    return()
  endif()
  add_executable(${name} ${T_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE mp_options ${T_LIBS} GTest::gtest GTest::gtest_main)
  # The libraries are what is tested, and keep their own level; a sanitizer compiles a test in half the time without one.
  # A unit test is built of sources of its library too, which are slow at -O0 where a sanitizer slows them already.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  if(MILLPOND_SANITIZER)
    set(own ${T_UNPARSED_ARGUMENTS})
    list(FILTER own INCLUDE REGEX "_test\\.cc$")
    set_source_files_properties(${own} PROPERTIES COMPILE_OPTIONS -O0)
  endif()
  set_target_properties(${name} PROPERTIES CROSSCOMPILING_EMULATOR "${MILLPOND_TEST_LAUNCHER}")
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  if(MILLPOND_SANITIZER STREQUAL "coverage")
    target_compile_definitions(${name} PRIVATE MP_STAND_IN_KERNELS)  # which the compiler tells of sanitizers by itself
    math(EXPR T_TIMEOUT "${T_TIMEOUT} * 5")  # not optimised, and counting
  endif()
  # One label each: gtest_discover_tests takes no list here.
  set(label unit)
  if(T_CORE)
    set(label core)
  endif()
  gtest_discover_tests(${name}
    TEST_PREFIX "${name}."
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${label}" RUN_SERIAL "${T_SERIAL}")
endfunction()
