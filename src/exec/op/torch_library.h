// SPDX-License-Identifier: Apache-2.0
// Which torch the kernels' library gets, and which library: there may be one for each of several releases. It names
// libtorch_cpu.so and no place, so that the tree can be moved and a wheel can be installed anywhere: the program's own
// torch is taken if it has one, else one that a setting or the install names is loaded first.
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

// The kernels' library for the torch whose libtorch_cpu.so lies in `library_folder`: kernels/torch-<release> beside the
// core if it is there, else the one in the core's own folder, which is for the release of `built`. A torch of another
// release is refused; one that does not tell its version gets the latter.
Status Choose(const std::string& own_folder, const std::string& library_folder, const BuiltAgainst& built,
              std::string* out_path);

// Before the kernels' library is opened: has a torch loaded, and says which library suits it. `own_folder`: the core's.
Status Prepare(const std::string& own_folder, std::string* out_path);

}  // namespace millpond::torch_library

#endif  // MILLPOND_SRC_EXEC_OP_TORCH_LIBRARY_H_
