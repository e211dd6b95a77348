// SPDX-License-Identifier: Apache-2.0
// The variables of a session: device memory by name that outlives runs and graphs. Safe from any thread. Whoever ends
// the store has synchronised the streams that ran graphs with it.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_VARIABLES_H_
#define MILLPOND_SRC_EXEC_PROGRAM_VARIABLES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/device.h"
#include "src/exec/program/program.h"

namespace millpond::program {

class VariableStore {
 public:
  VariableStore() = default;
  ~VariableStore();
  VariableStore(const VariableStore&) = delete;
  VariableStore& operator=(const VariableStore&) = delete;

  // The variable's memory. The first call makes it, with the initial value or zeros; later ones must describe it alike.
  Status Obtain(Device* device, const std::string& name, const ir::TensorDesc& desc, const ir::TensorPtr& initial,
                void** out_address);
  // What a variable is and where; fails when no graph that ran has one of that name.
  Status Find(std::string_view name, Tensor* out) const;
  bool empty() const;

 private:
  struct Variable {
    ir::TensorDesc desc;
    void* address = nullptr;
    size_t bytes = 0;
    Device* device = nullptr;
  };
  mutable Mutex mutex_;
  std::map<std::string, Variable, std::less<>> variables_ GUARDED_BY(mutex_);
};

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_VARIABLES_H_
