// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/variables.h"

#include <algorithm>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/device/memory/memory.h"

namespace millpond::program {

VariableStore::~VariableStore() {
  // A device that was reset has freed everything already.
  for (const auto& [name, variable] : variables_) FreeDeviceAddress(variable.address).Ignore();
}

Status VariableStore::Obtain(Device* device, const std::string& name, const ir::TensorDesc& desc,
                             const ir::TensorPtr& initial, void** out_address) {
  const int64_t bytes = ir::IsStatic(desc.dims) ? ir::BytesOf(desc.dtype, desc.dims) : -1;
  MP_REQUIRE(bytes >= 0, "variable '%s' of type %s and shape %s has no known size", name.c_str(), DTypeName(desc.dtype),
             ir::TextOf(desc.dims).c_str());
  MutexLock lock(mutex_);
  const auto found = variables_.find(name);
  if (found != variables_.end()) {
    const Variable& variable = found->second;
    MP_REQUIRE(variable.desc.dtype == desc.dtype && variable.bytes == static_cast<size_t>(bytes),
               "variable '%s' is %s of shape %s here, but %s of shape %s in a graph that ran before; use another name",
               name.c_str(), DTypeName(desc.dtype), ir::TextOf(desc.dims).c_str(), DTypeName(variable.desc.dtype),
               ir::TextOf(variable.desc.dims).c_str());
    MP_REQUIRE(variable.device == device, "variable '%s' lies on device %d; the graph runs on device %d", name.c_str(),
               variable.device->id(), device->id());
    *out_address = variable.address;
    return Ok();
  }
  Variable variable{desc, nullptr, static_cast<size_t>(bytes), device};
  MP_RETURN_IF_ERROR(device->memory()
                         .Allocate(std::max<size_t>(variable.bytes, 1), "ge variable", &variable.address)
                         .Prefixed(Format("variable '%s'", name.c_str())));
  const size_t given = initial != nullptr ? std::min(initial->data.size, variable.bytes) : 0;
  if (given != 0) CopyBytes(variable.address, initial->data.data, given);
  if (given < variable.bytes) FillBytes(static_cast<std::byte*>(variable.address) + given, 0, variable.bytes - given);
  *out_address = variable.address;
  variables_.emplace(name, std::move(variable));
  return Ok();
}

Status VariableStore::Find(std::string_view name, Tensor* out) const {
  MutexLock lock(mutex_);
  const auto found = variables_.find(name);
  MP_REQUIRE(found != variables_.end(), "there is no variable '%s': no graph that has it ran yet",
             std::string(name).c_str());
  const Variable& variable = found->second;
  *out = {.dtype = variable.desc.dtype,
          .format = variable.desc.format,
          .dims = variable.desc.dims,
          .placement = ir::Placement::kDevice,
          .data = variable.address,
          .bytes = variable.bytes,
          .owner = nullptr};
  return Ok();
}

bool VariableStore::empty() const {
  MutexLock lock(mutex_);
  return variables_.empty();
}

}  // namespace millpond::program
