# SPDX-License-Identifier: Apache-2.0
# The file that CANN's projects include to compile AscendC kernels. Many include it and have no kernel: they build. A
# project that asks for a kernel is told at once, because kernels of an NPU's cores cannot be compiled for a CPU here.
function(_millpond_no_kernels asked)
  message(FATAL_ERROR "${asked}: Millpond cannot compile AscendC kernels: it has no compiler for the cores of an NPU. "
                      "Compile the kernel for this machine with ./millpond kernel (docs/kernels.md), use an operator that "
                      "Millpond has (aclnn*, aclop*), or leave this target out of the build.")
endfunction()

function(ascendc_library name)
  _millpond_no_kernels("ascendc_library(${name})")
endfunction()

function(ascendc_fatbin_library name)
  _millpond_no_kernels("ascendc_fatbin_library(${name})")
endfunction()

# Settings of a kernel library: there is none by the time a project gets to them.
foreach(setting include_directories compile_definitions compile_options)
  cmake_language(EVAL CODE "
    function(ascendc_${setting} name)
      _millpond_no_kernels(\"ascendc_${setting}(\${name})\")
    endfunction()")
endforeach()
