// SPDX-License-Identifier: Apache-2.0
// The two phases of every aclnn operator.
#include "src/api/aclnn/entry.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "src/api/aclnn/aclnn_guard.h"
#include "src/api/aclnn/objects.h"
#include "src/api/aclnn/type_check.h"
#include "src/base/format.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/first_phase_failures.h"
#include "src/exec/op/group_run.h"
#include "src/exec/op/kernel_table.h"
#include "src/exec/op/launch.h"
#include "src/exec/op/type_trial.h"
#include "src/ops/refusals.h"
#include "src/ops/row.h"

using namespace millpond;         // NOLINT: a shim is a page of delegation
using namespace millpond::aclnn;  // NOLINT

namespace {

template <class T>
const T* Pointer(uint64_t word) {
  return reinterpret_cast<const T*>(static_cast<uintptr_t>(word));
}

constexpr const char* KindName(ArgKind kind) {
  switch (kind) {
    case ArgKind::kTensor:
      return "aclTensor";
    case ArgKind::kTensorList:
      return "aclTensorList";
    case ArgKind::kScalar:
      return "aclScalar";
    case ArgKind::kScalarList:
      return "aclScalarList";
    case ArgKind::kInts:
      return "aclIntArray";
    case ArgKind::kFloats:
      return "aclFloatArray";
    case ArgKind::kBools:
      return "aclBoolArray";
    default:
      return "value";
  }
}

// Gives the object of an argument to `add`; false when it is not alive, or `add` says so.
template <class T, class Add>
bool WithObject(uint64_t word, Add&& add) {
  const auto* object = Pointer<T>(word);
  return Alive(object) && add(*object);
}

bool AddViews(const aclTensorList& list, OpCall* call) {
  call->BeginViews();
  for (const aclTensor* member : list.members) {
    if (member != nullptr && !Alive(member)) return false;
    call->AppendView(member == nullptr ? TensorView() : member->view);
  }
  return true;
}

bool AddScalars(const aclScalarList& list, OpCall* call) {
  std::vector<ScalarValue> values;
  for (const aclScalar* member : list.members) {
    if (!Alive(member)) return false;
    values.push_back(member->value);
  }
  call->AddScalars(values);
  return true;
}

// Copies one pointed-to argument; false when it is not alive.
bool AddObject(ArgKind kind, uint64_t word, OpCall* call) {
  switch (kind) {
    case ArgKind::kTensor:
      return WithObject<aclTensor>(word, [&](const auto& tensor) { return call->AddView(tensor.view), true; });
    case ArgKind::kTensorList:
      return WithObject<aclTensorList>(word, [&](const auto& list) { return AddViews(list, call); });
    case ArgKind::kScalar:
      return WithObject<aclScalar>(word, [&](const auto& scalar) {
        return call->AddScalars({&scalar.value, 1}), true;
      });
    case ArgKind::kScalarList:
      return WithObject<aclScalarList>(word, [&](const auto& list) { return AddScalars(list, call); });
    case ArgKind::kInts:
      return WithObject<aclIntArray>(word, [&](const auto& array) { return call->AddInts(array.values), true; });
    case ArgKind::kFloats:
      return WithObject<aclFloatArray>(word, [&](const auto& array) { return call->AddFloats(array.values), true; });
    case ArgKind::kBools:
      return WithObject<aclBoolArray>(word, [&](const auto& array) { return call->AddBools(array.values), true; });
    default:
      return false;
  }
}

// Refuses a tensor of a type that the operator does not have, here, where the client still gets the reason.
Status ValidateType(const ArgSpec& spec, uint64_t word) {
  const DType type = Pointer<aclTensor>(word)->view.dtype;
  if ((ClassOf(type) & spec.classes) != 0) return Ok();
  constexpr const char* kNames[] = {"half-precision", "floating-point", "integer", "bool", "complex"};
  std::string allowed;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if ((spec.classes >> i & 1) != 0) allowed += (allowed.empty() ? "" : ", ") + std::string(kNames[i]);
  }
  return InvalidArgument(Format("%s is of type %s, which this operator does not have; it may be of these: %s",
                                spec.name, DTypeName(type), allowed.c_str()));
}

Outcome AddArgument(const ArgSpec& spec, uint64_t word, OpCall* call) {
  switch (spec.kind) {
    case ArgKind::kInt:
    case ArgKind::kBool:
    case ArgKind::kDType:
      call->AddInt(static_cast<int64_t>(word));
      return Ok();
    case ArgKind::kDouble:
      call->AddReal(std::bit_cast<double>(word));
      return Ok();
    case ArgKind::kString:
      call->AddText(word == 0 ? "" : Pointer<char>(word));
      return Ok();
    default:
      break;
  }
  if (word == 0) {
    if (!spec.optional) return IsNull(Format("%s is NULL; it must be an %s", spec.name, KindName(spec.kind)));
    call->AddAbsent();
    return Ok();
  }
  MP_REQUIRE(AddObject(spec.kind, word, call),
             "%s is not a live %s: it, or a member of it, was never created or is destroyed already", spec.name,
             KindName(spec.kind));
  return spec.classes == 0 ? Ok() : ValidateType(spec, word);
}

void RememberOutputs(const OpRow& row, const uint64_t* words, aclOpExecutor* executor) {
  for (size_t place = 0; place < row.args.size(); ++place) {
    const ArgSpec& spec = row.args[place];
    if (spec.kind != ArgKind::kTensor || spec.flow != ArgFlow::kOut) continue;
    executor->reported.push_back(const_cast<aclTensor*>(Pointer<aclTensor>(words[place])));
  }
}

bool AllHaveMemory(const OpCall& call) {
  const auto views = call.all_views();
  return std::none_of(views.begin(), views.end(), [](const TensorView& view) {
    return view.data == nullptr && view.dtype != DType::kUndefined && view.extent() != 0;
  });
}

// Where the call's memory is; 0 when none is anywhere.
int32_t DeviceOfCall(const OpCall& call) {
  for (const TensorView& view : call.all_views()) {
    if (const int32_t device = DeviceOfAddress(view.first()); device >= 0) return device;
  }
  return 0;
}

Outcome Prepare(const OpRow& row, const uint64_t* words, uint64_t* workspace_size, aclOpExecutor** out_executor) {
  if (workspace_size == nullptr || out_executor == nullptr) {
    return IsNull(workspace_size == nullptr ? "workspaceSize is NULL" : "executor is NULL");
  }
  const kernels::Kernel* kernel = nullptr;
  MP_RETURN_IF_ERROR(FindKernel(row, &kernel));
  OpCallPtr call = NewOpCall();
  call->Begin(&row);
  for (size_t place = 0; place < row.args.size(); ++place) {
    if (Outcome added = AddArgument(row.args[place], words[place], call.get()); !added.ok()) return added;
  }
  MP_RETURN_IF_ERROR(CheckTypes(*call));
  if (kernels::WorksInGroup(*kernel)) {
    // What fails while it runs costs the group its communicator.
    const std::string refused = RefusedArgument(*call);
    MP_REQUIRE(refused.empty(), "%s", refused.c_str());
    MP_RETURN_IF_ERROR(CheckGroups(*call));
  }
  if (!row.shapes.empty()) MP_RETURN_IF_ERROR(call->CheckShapes());
  // Now, while the caller holds its tensors: torch_npu frees a temporary's block as soon as the operator is in its own
  // queue, before the second phase, and relies on the stream's order; and an error of the second phase would stop that
  // queue for good. An address that is still missing may be set later (aclSetTensorAddr).
  const bool validated = AllHaveMemory(*call);
  if (validated) MP_RETURN_IF_ERROR(ValidateMemory(*call));
  if (validated && kernels::WorksInGroup(*kernel)) {
    MP_RETURN_IF_ERROR(CheckInGroup(*kernel, *call, DeviceOfCall(*call)));
  }
  MP_RETURN_IF_ERROR(TryTypes(*kernel, *call));
  aclOpExecutor* executor = ObjectArena<aclOpExecutor>::Get().Create();
  executor->kernel = kernel;
  executor->call = std::move(call);
  executor->repeatable = false;
  executor->validated = validated;
  executor->reported.clear();
  try {
    if (row.waits) RememberOutputs(row, words, executor);
  } catch (...) {  // no host memory: the client never hears of the executor
    executor->call.reset();
    if (ObjectArena<aclOpExecutor>::Get().Retire(executor)) ObjectArena<aclOpExecutor>::Get().Recycle(executor);
    throw;
  }
  *workspace_size = 0;
  *out_executor = executor;
  return Ok();
}

// torch_npu's queue stops for good at an error of the second phase, so there the refusal becomes a task's failure.
Outcome LaunchNothing(const OpRow& row, aclrtStream handle) {
  const std::optional<std::string> failure = FirstPhaseFailures::Get().Find(row);
  const std::string reason = "executor is NULL; " + (failure ? "its first phase failed: " + *failure
                                                             : "call the GetWorkspaceSize function first");
  Stream* stream = nullptr;
  if (ClientIsTorch() && ResolveStream(handle, &stream).ok() &&
      QueueRefusal(row.name, Format("%s: %s", row.name, reason.c_str()), stream).ok()) {
    return Ok();
  }
  return {kInnerNull, InternalError(reason)};
}

Status Launch(aclOpExecutor* executor, const void* caller, aclrtStream handle) {
  Stream* stream = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(handle, &stream));
  const OpRow& row = executor->call->row();
  if (!executor->validated) MP_RETURN_IF_ERROR(ValidateMemory(*executor->call));
  OpCallPtr call = executor->repeatable ? CloneOpCall(*executor->call) : std::move(executor->call);
  if (!row.waits) return LaunchOp(executor->kernel, std::move(call), stream, caller);
  OpCallPtr done;
  MP_RETURN_IF_ERROR(RunOp(executor->kernel, std::move(call), stream, &done));
  size_t number = 0;
  for (size_t place = 0; place < row.args.size(); ++place) {
    if (row.args[place].kind != ArgKind::kTensor || row.args[place].flow != ArgFlow::kOut) continue;
    aclTensor* reported = executor->reported[number++];
    if (reported == nullptr || !Alive(reported)) continue;
    const TensorView& actual = done->view(place);
    reported->view.rank = actual.rank;
    std::memcpy(reported->view.dims, actual.dims, sizeof actual.dims);
    std::memcpy(reported->view.strides, actual.strides, sizeof actual.strides);
  }
  return Ok();
}

// Ends an executor that is not repeatable with its first run, however that goes: of two threads one has it.
class LastRun {
 public:
  explicit LastRun(aclOpExecutor* executor)
      : executor_(executor->repeatable ? nullptr : executor),
        mine_(executor_ == nullptr || ObjectArena<aclOpExecutor>::Get().Retire(executor_)) {}
  ~LastRun() {
    if (executor_ == nullptr || !mine_) return;
    executor_->call.reset();
    ObjectArena<aclOpExecutor>::Get().Recycle(executor_);
  }
  bool mine() const { return mine_; }
  LastRun(const LastRun&) = delete;
  LastRun& operator=(const LastRun&) = delete;

 private:
  aclOpExecutor* const executor_;
  const bool mine_;
};

}  // namespace

aclnnStatus millpondAclnnPrepare(uint32_t row, const char* api, const uint64_t* words, uint64_t* workspace_size,
                                 aclOpExecutor** executor) {
  return Guard(api, [&]() -> Outcome {
    const OpRow& found = OpRows()[row];
    Outcome outcome = Prepare(found, words, workspace_size, executor);
    if (__builtin_expect(!outcome.ok(), false)) FirstPhaseFailures::Get().Set(found, outcome.status.message());
    return outcome;
  });
}

aclnnStatus millpondAclnnLaunch(uint32_t row, const void* caller, aclOpExecutor* executor, aclrtStream stream) {
  const OpRow& found = OpRows()[row];
  return Guard(found.name, [&]() -> Outcome {
    if (executor == nullptr) return LaunchNothing(found, stream);
    MP_REQUIRE(Alive(executor) && executor->call != nullptr,
               "executor is not alive: one that is not repeatable ends with its first run");
    MP_REQUIRE(&executor->call->row() == &found, "the executor is %s's", executor->call->row().name);
    const LastRun last_run(executor);
    MP_REQUIRE(last_run.mine(), "executor is being launched or destroyed by another thread");
    return Launch(executor, caller, stream);
  });
}
