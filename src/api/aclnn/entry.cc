// SPDX-License-Identifier: Apache-2.0
// The two phases of every aclnn operator.
#include "src/api/aclnn/entry.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "src/api/aclnn/objects.h"
#include "src/base/format.h"
#include "src/device/runtime.h"
#include "src/device/stream.h"
#include "src/exec/kernel_table.h"
#include "src/exec/launch.h"
#include "src/ops/row.h"
#include "src/trace/sink.h"

using namespace millpond;         // NOLINT: a shim is a page of delegation
using namespace millpond::aclnn;  // NOLINT

namespace {

std::string PhaseOne(const OpRow& row) { return std::string(row.name) + "GetWorkspaceSize"; }

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

// Copies one pointed-to argument; false when it is not alive.
bool AddObject(ArgKind kind, uint64_t word, OpCall* call) {
  switch (kind) {
    case ArgKind::kTensor: {
      const auto* tensor = Pointer<aclTensor>(word);
      if (!Alive(tensor)) return false;
      call->AddView(tensor->view);
      return true;
    }
    case ArgKind::kTensorList: {
      const auto* list = Pointer<aclTensorList>(word);
      if (!Alive(list)) return false;
      call->BeginViews();
      for (const aclTensor* member : list->members) {
        if (member != nullptr && !Alive(member)) return false;
        call->AppendView(member == nullptr ? TensorView() : member->view);
      }
      return true;
    }
    case ArgKind::kScalar: {
      const auto* scalar = Pointer<aclScalar>(word);
      if (!Alive(scalar)) return false;
      call->AddScalars({&scalar->value, 1});
      return true;
    }
    case ArgKind::kScalarList: {
      const auto* list = Pointer<aclScalarList>(word);
      if (!Alive(list)) return false;
      std::vector<ScalarValue> values;
      for (const aclScalar* member : list->members) {
        if (!Alive(member)) return false;
        values.push_back(member->value);
      }
      call->AddScalars(values);
      return true;
    }
    case ArgKind::kInts: {
      const auto* array = Pointer<aclIntArray>(word);
      if (!Alive(array)) return false;
      call->AddInts(array->values);
      return true;
    }
    case ArgKind::kFloats: {
      const auto* array = Pointer<aclFloatArray>(word);
      if (!Alive(array)) return false;
      call->AddFloats(array->values);
      return true;
    }
    case ArgKind::kBools: {
      const auto* array = Pointer<aclBoolArray>(word);
      if (!Alive(array)) return false;
      call->AddBools(array->values);
      return true;
    }
    default:
      return false;
  }
}

// Refuses a tensor of a type that the operator does not have, here, where the client still gets the reason.
aclnnStatus JudgeType(const OpRow& row, const ArgSpec& spec, uint64_t word) {
  const DType type = Pointer<aclTensor>(word)->view.dtype;
  if ((ClassOf(type) & spec.classes) != 0) return 0;
  constexpr const char* kNames[] = {"half-precision", "floating-point", "integer", "bool", "complex"};
  std::string allowed;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if ((spec.classes >> i & 1) != 0) allowed += (allowed.empty() ? "" : ", ") + std::string(kNames[i]);
  }
  return Fail(PhaseOne(row), kInvalidParameter,
              Format("%s is of type %s, which this operator does not have; it may be of these: %s", spec.name,
                     DTypeName(type), allowed.c_str()));
}

aclnnStatus AddArgument(const OpRow& row, const ArgSpec& spec, uint64_t word, OpCall* call) {
  switch (spec.kind) {
    case ArgKind::kInt:
    case ArgKind::kBool:
    case ArgKind::kDType:
      call->AddInt(static_cast<int64_t>(word));
      return 0;
    case ArgKind::kDouble:
      call->AddReal(std::bit_cast<double>(word));
      return 0;
    case ArgKind::kString:
      call->AddText(word == 0 ? "" : Pointer<char>(word));
      return 0;
    default:
      break;
  }
  if (word == 0) {
    if (spec.optional) {
      call->AddAbsent();
      return 0;
    }
    return Fail(PhaseOne(row), kNullPointer, Format("%s is NULL; it must be an %s", spec.name, KindName(spec.kind)));
  }
  if (AddObject(spec.kind, word, call)) return spec.classes == 0 ? 0 : JudgeType(row, spec, word);
  return Fail(PhaseOne(row), kInvalidParameter,
              Format("%s is not a live %s: it, or a member of it, was never created or is destroyed already", spec.name,
                     KindName(spec.kind)));
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

aclnnStatus Prepare(const OpRow& row, const uint64_t* words, uint64_t* workspace_size, aclOpExecutor** out_executor) {
  if (workspace_size == nullptr || out_executor == nullptr) {
    return Fail(PhaseOne(row), kNullPointer, workspace_size == nullptr ? "workspaceSize is NULL" : "executor is NULL");
  }
  if (InForkedChild()) {
    return Fail(PhaseOne(row),
                Status(Code::kForked, "this process was forked from one that had already used the device"));
  }
  const kernels::Kernel* kernel = nullptr;
  if (const Status status = FindKernel(row, &kernel); !status.ok()) return Fail(PhaseOne(row), status);
  OpCallPtr call = NewOpCall();
  call->Begin(&row);
  for (size_t place = 0; place < row.args.size(); ++place) {
    if (const aclnnStatus status = AddArgument(row, row.args[place], words[place], call.get()); status != 0)
      return status;
  }
  if (!row.shapes.empty()) {
    if (const Status status = call->CheckShapes(); !status.ok()) return Fail(PhaseOne(row), status);
  }
  // Now, while the caller holds its tensors: torch_npu frees a temporary's block as soon as the operator is in its own
  // queue, before the second phase, and relies on the stream's order; and an error of the second phase would stop that
  // queue for good. An address that is still missing may be set later (aclSetTensorAddr).
  const bool judged = AllHaveMemory(*call);
  if (judged) {
    if (const Status status = JudgeMemory(*call); !status.ok()) return Fail(PhaseOne(row), status);
  }
  aclOpExecutor* executor = Arena<aclOpExecutor>::Get().Create();
  executor->kernel = kernel;
  executor->call = std::move(call);
  executor->repeatable = false;
  executor->judged = judged;
  executor->reported.clear();
  if (row.waits) RememberOutputs(row, words, executor);
  *workspace_size = 0;
  *out_executor = executor;
  return 0;
}

// Why the first phase of each operator last failed: a client that ignores it comes to the second with no executor,
// perhaps on another thread, and should read the reason there.
class PhaseOneFailures {
 public:
  void Set(const OpRow& row, std::string reason) {
    std::lock_guard lock(mutex_);
    reasons_[row.id] = std::move(reason);
  }
  std::string Get(const OpRow& row) {
    std::lock_guard lock(mutex_);
    const auto found = reasons_.find(row.id);
    return found == reasons_.end() ? "call the GetWorkspaceSize function first"
                                   : "its first phase failed: " + found->second;
  }

 private:
  std::mutex mutex_;
  std::map<uint16_t, std::string> reasons_;
};

PhaseOneFailures& Failures() {
  static auto* failures = new PhaseOneFailures;
  return *failures;
}

aclnnStatus LaunchNothing(const OpRow& row, aclrtStream handle) {
  const std::string reason = "executor is NULL; " + Failures().Get(row);
  Stream* stream = nullptr;
  if (ClientIsTorch() && ResolveStream(handle, &stream).ok() &&
      QueueRefusal(row.name, Format("%s: %s", row.name, reason.c_str()), stream).ok()) {
    return 0;
  }
  return Fail(row.name, kInnerNull, reason);
}

Status Launch(aclOpExecutor* executor, aclrtStream handle) {
  Stream* stream = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(handle, &stream));
  const OpRow& row = executor->call->row();
  if (!executor->judged) MP_RETURN_IF_ERROR(JudgeMemory(*executor->call));
  OpCallPtr call = executor->repeatable ? CloneOpCall(*executor->call) : std::move(executor->call);
  if (!row.waits) return LaunchOp(executor->kernel, std::move(call), stream);
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

}  // namespace

aclnnStatus millpondAclnnPrepare(uint32_t row, const uint64_t* words, uint64_t* workspace_size,
                                 aclOpExecutor** executor) {
  const OpRow& found = OpRows()[row];
  aclnnStatus result = 0;
  try {
    result = Prepare(found, words, workspace_size, executor);
    if (__builtin_expect(result != 0, false)) Failures().Set(found, LastFailure());
  } catch (...) {
    result = FailCurrentException(PhaseOne(found));
  }
  return result;
}

aclnnStatus millpondAclnnLaunch(uint32_t row, void*, uint64_t, aclOpExecutor* executor, aclrtStream stream) {
  const OpRow& found = OpRows()[row];
  if (executor == nullptr) return LaunchNothing(found, stream);
  if (!Alive(executor) || executor->call == nullptr) {
    return Fail(found.name, kInvalidParameter,
                "executor is not alive: one that is not repeatable ends with its first run");
  }
  if (&executor->call->row() != &found) {
    return Fail(found.name, kInvalidParameter, Format("the executor is %s's", executor->call->row().name));
  }
  aclnnStatus result = 0;
  const bool repeatable = executor->repeatable;
  try {
    if (const Status status = Launch(executor, stream); !status.ok()) result = Fail(found.name, status);
  } catch (...) {
    result = FailCurrentException(found.name);
  }
  if (!repeatable) {
    executor->call.reset();
    Arena<aclOpExecutor>::Get().Destroy(executor);
  }
  return result;
}
