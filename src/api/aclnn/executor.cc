// SPDX-License-Identifier: Apache-2.0
// Executors: repeatable ones and new addresses for them.
#include "include/aclnn/acl_meta.h"
#include "include/aclnn/aclnn_base.h"
#include "src/api/aclnn/aclnn_guard.h"
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

Outcome CheckExecutor(const aclOpExecutor* executor) {
  if (executor == nullptr) return {kInnerNull, InternalError("executor is NULL")};
  MP_REQUIRE(Alive(executor) && executor->call != nullptr,
             "executor is not alive: one that is not repeatable ends with its first run");
  return Ok();
}

// The index-th tensor argument (kind kTensor), or the index-th argument that is a tensor or a list (a member of it).
Outcome SetAddress(aclOpExecutor* executor, Which which, bool list, size_t index, size_t member, void* address) {
  if (Outcome checked = CheckExecutor(executor); !checked.ok()) return checked;
  if (address == nullptr) return IsNull("addr is NULL");
  OpCall& call = *executor->call;
  size_t number = 0;
  for (size_t place = 0; place < call.size(); ++place) {
    const ArgSpec& spec = call.row().args[place];
    const bool tensor = spec.kind == ArgKind::kTensor;
    if (!(tensor || (list && spec.kind == ArgKind::kTensorList)) || !Counts(which, spec)) continue;
    if (number++ != index) continue;
    MP_REQUIRE(member < call.arg(place).count, "%s of %s has %u tensors; there is no number %zu", spec.name,
               call.row().name, call.arg(place).count, member);
    call.all_views()[call.arg(place).first + member].data = address;
    executor->validated = false;
    return Ok();
  }
  return InvalidArgument(Format("%s has %zu such arguments; there is no number %zu", call.row().name, number, index));
}

aclnnStatus SetTensor(const char* api, aclOpExecutor* executor, Which which, size_t index, aclTensor* tensor,
                      void* address) {
  return Guard(api, [&]() -> Outcome {
    if (tensor == nullptr) return IsNull("tensor is NULL");
    MP_REQUIRE(Alive(tensor), "tensor is not a live aclTensor");
    Outcome set = SetAddress(executor, which, /*list=*/false, index, 0, address);
    if (set.ok()) tensor->view.data = address;
    return set;
  });
}

aclnnStatus SetMember(const char* api, aclOpExecutor* executor, Which which, size_t index, size_t member,
                      aclTensorList* tensors, void* address) {
  return Guard(api, [&]() -> Outcome {
    if (tensors == nullptr) return IsNull("tensors is NULL");
    MP_REQUIRE(Alive(tensors), "tensors is not a live aclTensorList");
    Outcome set = SetAddress(executor, which, /*list=*/true, index, member, address);
    if (set.ok() && member < tensors->members.size() && tensors->members[member] != nullptr) {
      tensors->members[member]->view.data = address;
    }
    return set;
  });
}

}  // namespace

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return Guard("aclSetAclOpExecutorRepeatable", [&]() -> Outcome {
    if (Outcome checked = CheckExecutor(executor); !checked.ok()) return checked;
    executor->repeatable = true;
    return Ok();
  });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return Guard("aclDestroyAclOpExecutor", [&]() -> Outcome {
    if (Outcome checked = CheckExecutor(executor); !checked.ok()) return checked;
    auto& arena = ObjectArena<aclOpExecutor>::Get();
    MP_REQUIRE(arena.Retire(executor), "executor was destroyed or launched by another thread meanwhile");
    executor->call.reset();
    arena.Recycle(executor);
    return Ok();
  });
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

// Nothing to prepare: the runtime starts with its first use.
aclnnStatus aclnnInit(const char*) {
  return Guard("aclnnInit", [] { return Ok(); });
}
aclnnStatus aclnnFinalize() {
  return Guard("aclnnFinalize", [] { return Ok(); });
}
