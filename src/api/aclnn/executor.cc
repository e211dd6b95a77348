// SPDX-License-Identifier: Apache-2.0
// Executors: repeatable ones and new addresses for them.
#include "include/aclnn/acl_meta.h"
#include "include/aclnn/aclnn_base.h"
#include "src/api/aclnn/objects.h"
#include "src/base/format.h"

using namespace millpond;         // NOLINT: a shim is a page of delegation
using namespace millpond::aclnn;  // NOLINT

namespace {

enum class Which { kInputs, kOutputs, kAll };

bool Counts(Which which, const ArgSpec& spec) {
  switch (which) {
    case Which::kInputs:
      return spec.flow != ArgFlow::kOut;
    case Which::kOutputs:
      return spec.flow != ArgFlow::kIn;
    case Which::kAll:
      return true;
  }
  return false;
}

aclnnStatus CheckExecutor(const char* api, const aclOpExecutor* executor) {
  if (executor == nullptr) return Fail(api, kInnerNull, "executor is NULL");
  if (!Alive(executor) || executor->call == nullptr) {
    return Fail(api, kInvalidParameter, "executor is not alive: one that is not repeatable ends with its first run");
  }
  return 0;
}

// The index-th tensor argument (kind kTensor), or the index-th argument that is a tensor or a list (a member of it).
aclnnStatus SetAddress(const char* api, aclOpExecutor* executor, Which which, bool list, size_t index, size_t member,
                       void* address) {
  if (const aclnnStatus status = CheckExecutor(api, executor); status != 0) return status;
  if (address == nullptr) return Fail(api, kNullPointer, "addr is NULL");
  OpCall& call = *executor->call;
  size_t number = 0;
  for (size_t place = 0; place < call.size(); ++place) {
    const ArgSpec& spec = call.row().args[place];
    const bool tensor = spec.kind == ArgKind::kTensor;
    if (!(tensor || (list && spec.kind == ArgKind::kTensorList)) || !Counts(which, spec)) continue;
    if (number++ != index) continue;
    if (member >= call.arg(place).count) {
      return Fail(api, kInvalidParameter,
                  Format("%s of %s has %u tensors; there is no number %zu", spec.name, call.row().name,
                         call.arg(place).count, member));
    }
    call.all_views()[call.arg(place).first + member].data = address;
    executor->judged = false;
    return 0;
  }
  return Fail(api, kInvalidParameter,
              Format("%s has %zu such arguments; there is no number %zu", call.row().name, number, index));
}

aclnnStatus SetTensor(const char* api, aclOpExecutor* executor, Which which, size_t index, aclTensor* tensor,
                      void* address) {
  if (tensor != nullptr && !Alive(tensor)) return Fail(api, kInvalidParameter, "tensor is not a live aclTensor");
  if (tensor == nullptr) return Fail(api, kNullPointer, "tensor is NULL");
  const aclnnStatus status = SetAddress(api, executor, which, /*list=*/false, index, 0, address);
  if (status == 0) tensor->view.data = address;
  return status;
}

aclnnStatus SetMember(const char* api, aclOpExecutor* executor, Which which, size_t index, size_t member,
                      aclTensorList* tensors, void* address) {
  if (tensors == nullptr) return Fail(api, kNullPointer, "tensors is NULL");
  if (!Alive(tensors)) return Fail(api, kInvalidParameter, "tensors is not a live aclTensorList");
  const aclnnStatus status = SetAddress(api, executor, which, /*list=*/true, index, member, address);
  if (status == 0 && member < tensors->members.size() && tensors->members[member] != nullptr) {
    tensors->members[member]->view.data = address;
  }
  return status;
}

}  // namespace

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  if (const aclnnStatus status = CheckExecutor("aclSetAclOpExecutorRepeatable", executor); status != 0) return status;
  executor->repeatable = true;
  return 0;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  if (const aclnnStatus status = CheckExecutor("aclDestroyAclOpExecutor", executor); status != 0) return status;
  executor->call.reset();
  Arena<aclOpExecutor>::Get().Destroy(executor);
  return 0;
}

// Each under both spellings that CANN exports.
#define MP_TENSOR_ADDRESS(name, which)                                                                \
  aclnnStatus acl##name(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) { \
    return SetTensor("acl" #name, executor, which, index, tensor, addr);                              \
  }                                                                                                   \
  aclnnStatus Acl##name(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) { \
    return SetTensor("Acl" #name, executor, which, index, tensor, addr);                              \
  }
#define MP_MEMBER_ADDRESS(name, which)                                                                               \
  aclnnStatus acl##name(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex, aclTensorList* tensors, \
                        void* addr) {                                                                                \
    return SetMember("acl" #name, executor, which, irIndex, relativeIndex, tensors, addr);                           \
  }                                                                                                                  \
  aclnnStatus Acl##name(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex, aclTensorList* tensors, \
                        void* addr) {                                                                                \
    return SetMember("Acl" #name, executor, which, irIndex, relativeIndex, tensors, addr);                           \
  }
MP_TENSOR_ADDRESS(SetInputTensorAddr, Which::kInputs)
MP_TENSOR_ADDRESS(SetOutputTensorAddr, Which::kOutputs)
MP_TENSOR_ADDRESS(SetTensorAddr, Which::kAll)
MP_MEMBER_ADDRESS(SetDynamicInputTensorAddr, Which::kInputs)
MP_MEMBER_ADDRESS(SetDynamicOutputTensorAddr, Which::kOutputs)
MP_MEMBER_ADDRESS(SetDynamicTensorAddr, Which::kAll)

aclnnStatus aclnnInit(const char*) { return 0; }  // nothing to prepare: the runtime starts with its first use
aclnnStatus aclnnFinalize() { return 0; }
