# SPDX-License-Identifier: Apache-2.0
# libmillpond_kernels.so: compute by ATen. It links the torch it was built against and is loaded by the core when the first
# operator is made ready; without torch everything else still builds.
if(MILLPOND_SANITIZER AND NOT MILLPOND_SANITIZED_KERNELS)
  # The kernels take most of a build's time; a stand-in of a few lets the code around them be judged.
  add_library(millpond_kernels SHARED kernels/runtime/fake/fake_kernels.cc kernels/runtime/interface.cc)
  target_link_libraries(millpond_kernels PRIVATE mp_options millpond)
  return()
endif()

if(MILLPOND_KERNELS_FOR)
  find_package(MillpondTorch REQUIRED)  # there is nothing else to build
endif()
find_package(MillpondTorch)
if(NOT MillpondTorch_FOUND)
  message(STATUS "libmillpond_kernels.so is not built (${MillpondTorch_REASON}): operators will say so")
  return()
endif()

mp_sources(kernel_sources kernel_tests kernels/runtime kernels/gemm kernels/attention kernels/quant kernels/nn kernels/tensor kernels/ge kernels/group
           kernels/onnx)
# at::parallel_for is in a header: it has threads only where OpenMP is on, which a shared precompiled header is not. The
# runtime is the one that libtorch_cpu brings.
file(STRINGS "${CMAKE_CURRENT_SOURCE_DIR}/kernels/parallel_sources.txt" parallel_sources REGEX "^[^#]")
list(TRANSFORM parallel_sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/kernels/")
set_source_files_properties(${parallel_sources} PROPERTIES COMPILE_OPTIONS -fopenmp SKIP_PRECOMPILE_HEADERS ON)
# Loops for one kind of processor; which of them run is decided when the program runs.
set(tile_options -O3 -ffp-contract=fast -fno-fast-math)
set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/kernels/gemm/gemm_tile_plain.cc" PROPERTIES
  COMPILE_OPTIONS "${tile_options}" SKIP_PRECOMPILE_HEADERS ON)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND tile_options -mavx512f -mfma -mprefer-vector-width=512)
endif()
set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/kernels/gemm/gemm_tile_avx512.cc" PROPERTIES
  COMPILE_OPTIONS "${tile_options}" SKIP_PRECOMPILE_HEADERS ON)
# ATen's vectors, once for each set of instructions; a run chooses by what the processor has.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/kernels/tensor/fused_chain_avx2.cc" PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-mavx2;-mfma;-mf16c"
    COMPILE_DEFINITIONS "CPU_CAPABILITY=AVX2;CPU_CAPABILITY_AVX2")
  # GCC 12 takes its own header's undefined vectors for a mistake.
  set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/kernels/tensor/fused_chain_avx512.cc" PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mfma;-mf16c;-Wno-uninitialized;-Wno-maybe-uninitialized"
    COMPILE_DEFINITIONS "CPU_CAPABILITY=AVX512;CPU_CAPABILITY_AVX512")
endif()
mp_units(kernel_units millpond_kernels ${kernel_sources})
add_library(millpond_kernels SHARED ${kernel_units})
target_link_libraries(millpond_kernels PRIVATE mp_options millpond MillpondTorch::cpu)
mp_installed(millpond_kernels)
# ATen's headers are not written for our warnings; its calls convert freely between its integer types.
# TORCH_CHECK keeps the name of its file: the path in this tree, wherever it stands.
target_compile_options(millpond_kernels PRIVATE -Wno-conversion
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
target_precompile_headers(millpond_kernels PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/kernels/runtime/kernel.h")
# ccache keeps what was compiled with a precompiled header only when told that its macros do not matter.
target_compile_options(millpond_kernels PRIVATE -fpch-preprocess)
if(CCACHE_PROGRAM)
  set_target_properties(millpond_kernels PROPERTIES
    CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE_PROGRAM}")
endif()
# No place of torch: src/exec/op/torch_library.h finds it, in the build folder as in an install. A path of this machine that the
# install takes out again would leave its length behind, and two builds of one commit would differ.
set_target_properties(millpond_kernels PROPERTIES
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
target_link_options(millpond_kernels PRIVATE "-Wl,-rpath-link,${MILLPOND_TORCH_LIB_DIR}")  # what torch itself needs
if(MILLPOND_KERNELS_FOR)
  # lib64/kernels/torch-<release>: src/exec/op/torch_library.h chooses among those that are there.
  set_target_properties(millpond_kernels PROPERTIES INSTALL_RPATH "$ORIGIN/../..")
  target_compile_options(millpond_kernels PRIVATE "-fmacro-prefix-map=${MILLPOND_TORCH_INCLUDE_DIR}/=torch/")
  string(REGEX REPLACE "[+].*|[.]post.*" "" release "${MILLPOND_TORCH_VERSION}")
  install(TARGETS millpond_kernels LIBRARY DESTINATION "lib64/kernels/torch-${release}")
  return()
endif()
set(MILLPOND_TORCH_INFO "${MILLPOND_TORCH_INFO}" PARENT_SCOPE)

# Kernels are hidden in their library; those that need no more than ATen's threads are tested by themselves.
list(FILTER kernel_sources INCLUDE REGEX "/gemm(_tile_[a-z0-9]+)?\\.cc$")
mp_test(kernels_test ${kernel_tests} ${kernel_sources} LIBS MillpondTorch::cpu CORE)
target_compile_options(kernels_test PRIVATE -Wno-conversion)
target_link_options(kernels_test PRIVATE -Wl,--copy-dt-needed-entries)  # OpenMP is the one that libtorch_cpu brings
