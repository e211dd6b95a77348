// SPDX-License-Identifier: Apache-2.0
// Which torch the kernels' library gets. It names libtorch_cpu.so and no place, so that the tree can be moved and a
// wheel can be installed anywhere: the program's own torch is taken if it has one, else one that a setting or the
// install names is loaded first.
#ifndef MILLPOND_SRC_EXEC_OP_TORCH_LIBRARY_H_
#define MILLPOND_SRC_EXEC_OP_TORCH_LIBRARY_H_

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace millpond::torch_library {

// share/millpond/torch.info: what the kernels were compiled against. Empty where nothing says so.
struct BuiltAgainst {
  std::string version;  // such as 2.13.0+cpu
  std::string folder;   // of the package; not in a wheel
};
BuiltAgainst ParseInfo(std::string_view text);

// 2.13.0 of 2.13.0+cpu and 2.13.0.post1: builds of one release have one binary interface.
std::string_view Release(std::string_view version);

// The version in a torch's version.py, or nothing.
std::string VersionIn(std::string_view version_py);

// Refuses a torch of another release. `library_folder` has libtorch_cpu.so; a torch that does not tell its version is
// taken.
Status CheckRelease(const std::string& library_folder, const BuiltAgainst& built);

// Before the kernels' library, which lies in `kernels_folder`, is opened.
Status Prepare(const std::string& kernels_folder);

}  // namespace millpond::torch_library

#endif  // MILLPOND_SRC_EXEC_OP_TORCH_LIBRARY_H_
