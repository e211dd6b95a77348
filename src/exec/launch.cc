// SPDX-License-Identifier: Apache-2.0
#include "src/exec/launch.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "src/base/format.h"
#include "src/device/memory.h"
#include "src/kernels/team.h"

namespace millpond {
namespace {

// The queued form: owns its call, copies it for capture.
class KernelBody {
 public:
  KernelBody(const kernels::Kernel* kernel, OpCallPtr call) : kernel_(kernel), call_(std::move(call)) {}
  KernelBody(const KernelBody& other) : kernel_(other.kernel_), call_(CloneOpCall(*other.call_)) {}
  KernelBody(KernelBody&&) noexcept = default;
  KernelBody& operator=(const KernelBody&) = delete;
  KernelBody& operator=(KernelBody&&) = delete;
  ~KernelBody() = default;
  Status operator()() { return kernel_->run(*call_); }

 private:
  const kernels::Kernel* kernel_;
  OpCallPtr call_;
};

struct TeamKernelBody : KernelBody {
  static constexpr bool kNeedsTeam = true;
  using KernelBody::KernelBody;
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
  // Nothing is wrong with it any more: another thread gave the address out again since the launch was judged.
  return InvalidArgument(
      Format("%s: its memory at %p was freed before the operator was launched, and is allocated anew by now; keep a "
             "block until the work on it is launched",
             what.c_str(), first));
}

Status JudgeView(const OpCall& call, size_t number, const TensorView& view, size_t bytes) {
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

// What the call touches, by the client's addresses.
class Accesses {
 public:
  explicit Accesses(const OpCall& call) {
    for (size_t place = 0; place < call.size(); ++place) {
      const ArgSpec& spec = call.row().args[place];
      if (!call.has(place) || (spec.kind != ArgKind::kTensor && spec.kind != ArgKind::kTensorList)) continue;
      const trace::Mode mode = spec.flow == ArgFlow::kIn    ? trace::Mode::kRead
                               : spec.flow == ArgFlow::kOut ? trace::Mode::kWrite
                                                            : trace::Mode::kReadWrite;
      for (const TensorView& view : call.views(place)) {
        if (const size_t bytes = FootprintOf(view); bytes != 0) Add({view.first(), bytes, mode});
      }
    }
  }
  std::span<const trace::Access> span() const {
    return more_.empty() ? std::span<const trace::Access>(few_, count_) : std::span<const trace::Access>(more_);
  }

 private:
  void Add(const trace::Access& access) {
    if (more_.empty() && count_ < kFew) {
      few_[count_++] = access;
      return;
    }
    if (more_.empty()) more_.assign(few_, few_ + count_);
    more_.push_back(access);
  }

  static constexpr size_t kFew = 8;
  trace::Access few_[kFew];
  size_t count_ = 0;
  std::vector<trace::Access> more_;
};

}  // namespace

Status JudgeMemory(const OpCall& call) {
  const auto views = call.all_views();
  for (size_t i = 0; i < views.size(); ++i) {
    const size_t bytes = FootprintOf(views[i]);
    if (bytes != 0) MP_RETURN_IF_ERROR(JudgeView(call, i, views[i], bytes));
  }
  return Ok();
}

std::vector<trace::Access> AccessesOf(const OpCall& call) {
  const Accesses accesses(call);
  return {accesses.span().begin(), accesses.span().end()};
}

Status LaunchOp(const kernels::Kernel* kernel, OpCallPtr call, Stream* stream) {
  const Accesses accesses(*call);
  const char* name = call->row().name;
  if (kernels::NeedsTeam(*call)) {
    return stream->Launch<TaskKind::kCompute>(name, accesses.span(), TeamKernelBody(kernel, std::move(call)));
  }
  return stream->Launch<TaskKind::kCompute>(name, accesses.span(), KernelBody(kernel, std::move(call)));
}

Status RunOp(const kernels::Kernel* kernel, OpCallPtr call, Stream* stream, OpCallPtr* out_call) {
  MP_CHECK(stream->capture() == nullptr, kCaptureImplicit,
           "%s cannot be captured: its output's shape is known only when it has run", call->row().name);
  const Accesses accesses(*call);
  OpCall* running = call.get();
  Status result(Code::kStreamAborted, "the stream was aborted before the operation ran");
  // The caller waits below, so the task may refer to its frame.
  MP_RETURN_IF_ERROR(
      stream->Launch<TaskKind::kCompute>(call->row().name, accesses.span(), [kernel, running, &result]() -> Status {
        result = kernel->run(*running);
        return result.Clone();
      }));
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
