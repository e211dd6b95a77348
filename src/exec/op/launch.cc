// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/launch.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "src/base/format.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/exec/op/accesses.h"
#include "src/exec/op/float_rules.h"
#include "src/exec/op/group_run.h"
#include "src/kernels/runtime/team.h"

namespace millpond {
namespace {

// The queued form: owns its call, copies it for capture.
class KernelBody {
 public:
  KernelBody(const kernels::Kernel* kernel, OpCallPtr call, const Stream& stream)
      : kernel_(kernel), call_(std::move(call)), rules_(stream) {}
  KernelBody(const KernelBody& other)
      : kernel_(other.kernel_), call_(CloneOpCall(*other.call_)), rules_(other.rules_) {}
  KernelBody(KernelBody&&) noexcept = default;
  KernelBody& operator=(const KernelBody&) = delete;
  KernelBody& operator=(KernelBody&&) = delete;
  ~KernelBody() = default;
  Status operator()() { return rules_.Run(*kernel_, *call_); }

 private:
  const kernels::Kernel* kernel_;
  OpCallPtr call_;
  FloatRules rules_;
};

struct TeamKernelBody : KernelBody {
  static constexpr bool kNeedsTeam = true;
  using KernelBody::KernelBody;
};

// A call that its caller waits for: the body may refer to the caller's frame.
struct WaitedBody {
  Status operator()() const {
    *result = rules.Run(*kernel, *call);
    return result->Clone();
  }

  const kernels::Kernel* kernel;
  OpCall* call;
  Status* result;
  FloatRules rules;
};

struct TeamWaitedBody : WaitedBody {
  static constexpr bool kNeedsTeam = true;
};

std::string ArgumentName(const OpCall& call, size_t view) {
  for (size_t place = 0; place < call.size(); ++place) {
    const ArgSpec& spec = call.row().args[place];
    const OpCall::Arg& arg = call.arg(place);
    if (!arg.present || view < arg.first || view >= arg.first + arg.count) continue;
    if (spec.kind == ArgKind::kTensor) return spec.name;
    if (spec.kind == ArgKind::kTensorList) return Format("%s[%zu]", spec.name, view - arg.first);
  }
  return "a tensor";
}

size_t AlignmentOf(DType dtype) { return std::bit_floor(static_cast<size_t>(std::clamp(BitsOf(dtype) / 8, 1, 8))); }

// Why [first, first + bytes) is not memory the device can use.
Status Unfit(const OpCall& call, size_t number, const TensorView& view, size_t bytes) {
  const void* first = view.first();
  const std::string what = Format("%s: tensor %s", call.row().name, ArgumentName(call, number).c_str());
  MP_REQUIRE(
      view.data != nullptr,
      "%s has no memory (its address is NULL) though its shape %s needs %zu bytes; did an allocator return NULL?",
      what.c_str(), ShapeText(view.shape()).c_str(), bytes);
  MP_RETURN_IF_ERROR(CheckRange("its memory", first, bytes, nullptr).Prefixed(what));
  const PointerInfo info = LookUp(first);
  MP_REQUIRE(info.kind != PointerKind::kPageable,
             "%s is at %p, which is ordinary host memory; operators read and write device memory (aclrtMalloc), or "
             "pinned, registered or managed host memory",
             what.c_str(), first);
  MP_REQUIRE(reinterpret_cast<uintptr_t>(first) % AlignmentOf(view.dtype) == 0,
             "%s starts at %p, which is not aligned for %s; device blocks are 32-byte aligned at least", what.c_str(),
             first, DTypeName(view.dtype));
  // Nothing is wrong with it any more: another thread gave the address out again since the launch was validated.
  return InvalidArgument(
      Format("%s: its memory at %p was freed before the operator was launched, and is allocated anew by now; keep a "
             "block until the work on it is launched",
             what.c_str(), first));
}

Status ValidateView(const OpCall& call, size_t number, const TensorView& view, size_t bytes) {
  const void* first = view.first();
  const size_t align = AlignmentOf(view.dtype);
  const PointerInfo info = LookUp(first);
  const size_t inside =
      static_cast<size_t>(static_cast<const std::byte*>(first) - static_cast<const std::byte*>(info.base));
  const bool fits = info.kind != PointerKind::kPageable && info.kind != PointerKind::kUnallocated &&
                    info.kind != PointerKind::kReserved && view.data != nullptr && bytes <= info.bytes - inside &&
                    reinterpret_cast<uintptr_t>(first) % align == 0;
  if (__builtin_expect(fits, true)) return Ok();
  // Several mappings side by side are one range: the slow check knows.
  if (info.kind == PointerKind::kMapped && reinterpret_cast<uintptr_t>(first) % align == 0) {
    if (CheckRange("its memory", first, bytes, nullptr).ok()) return Ok();
  }
  return Unfit(call, number, view, bytes);
}

size_t FootprintOf(const TensorView& view) { return view.dtype == DType::kUndefined ? 0 : view.BytesOf(view.extent()); }

bool SeveralDevices() {
  static const bool several = [] {
    Runtime* runtime = nullptr;
    return Runtime::Get(&runtime).ok() && runtime->device_count() > 1;
  }();
  return several;
}

// The stream is known only now: may its device reach the memory of every tensor?
Status CheckReach(const OpCall& call, const Stream& stream) {
  if (__builtin_expect(!SeveralDevices(), true)) return Ok();
  const auto views = call.all_views();
  for (size_t i = 0; i < views.size(); ++i) {
    const int32_t owner = DeviceOfAddress(views[i].first());
    MP_CHECK(owner < 0 || stream.device()->MayReach(owner), kRuntimeArgument,
             "%s: tensor %s is memory of device %d, and the stream is of device %d, which may not reach it; call "
             "aclrtDeviceEnablePeerAccess(%d, 0) while device %d is current",
             call.row().name, ArgumentName(call, i).c_str(), owner, stream.device()->id(), owner,
             stream.device()->id());
  }
  return Ok();
}

// What the call touches, where somebody will look.
Accesses AccessesFor(const OpCall& call, const Stream& stream) {
  return stream.wants_accesses() ? Accesses(call) : Accesses();
}

}  // namespace

Status ValidateMemory(const OpCall& call) {
  const auto views = call.all_views();
  for (size_t i = 0; i < views.size(); ++i) {
    const size_t bytes = FootprintOf(views[i]);
    if (bytes != 0) MP_RETURN_IF_ERROR(ValidateView(call, i, views[i], bytes));
  }
  return Ok();
}

std::vector<trace::Access> AccessesOf(const OpCall& call) {
  const Accesses accesses(call);
  return {accesses.span().begin(), accesses.span().end()};
}

Status LaunchOp(const kernels::Kernel* kernel, OpCallPtr call, Stream* stream, const void* caller) {
  MP_RETURN_IF_ERROR(CheckReach(*call, *stream));
  if (kernels::WorksInGroup(*kernel)) return LaunchInGroup(kernel, std::move(call), stream, "", caller);
  const Accesses accesses = AccessesFor(*call, *stream);
  const char* name = call->row().name;
  if (kernels::NeedsTeam(*call)) {
    return stream->Launch<TaskKind::kCompute>(name, accesses.span(), TeamKernelBody(kernel, std::move(call), *stream));
  }
  return stream->Launch<TaskKind::kCompute>(name, accesses.span(), KernelBody(kernel, std::move(call), *stream));
}

Status RunOp(const kernels::Kernel* kernel, OpCallPtr call, Stream* stream, OpCallPtr* out_call) {
  MP_CHECK(stream->capture() == nullptr, kCaptureImplicit,
           "%s cannot be captured: its output's shape is known only when it has run", call->row().name);
  MP_RETURN_IF_ERROR(CheckReach(*call, *stream));
  const Accesses accesses = AccessesFor(*call, *stream);
  const char* name = call->row().name;
  Status result(Code::kStreamAborted, "the stream was aborted before the operation ran");
  const WaitedBody body{kernel, call.get(), &result, FloatRules(*stream)};
  MP_RETURN_IF_ERROR(kernels::NeedsTeam(*call)
                         ? stream->Launch<TaskKind::kCompute>(name, accesses.span(), TeamWaitedBody{body})
                         : stream->Launch<TaskKind::kCompute>(name, accesses.span(), body));
  const uint64_t target = stream->enqueued();
  MP_RETURN_IF_ERROR(stream->WaitFor(target, std::nullopt, Code::kStreamSyncTimeout));
  MP_RETURN_IF_ERROR(std::move(result));
  *out_call = std::move(call);
  return Ok();
}

bool ClientIsTorch() {
  static const bool loaded = [] {
    void* library = dlopen("libtorch_npu.so", RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) dlclose(library);
    return library != nullptr;
  }();
  return loaded;
}

Status QueueRefusal(const char* name, std::string reason, Stream* stream) {
  return stream->Launch<TaskKind::kCompute>(
      name, {}, [reason = std::move(reason)]() -> Status { return Status(Code::kOperatorRefused, reason); });
}

}  // namespace millpond
