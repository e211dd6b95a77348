// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/runtime/lend.h"

#include <c10/core/CPUAllocator.h>

#include "src/kernels/runtime/outputs.h"
#include "src/kernels/runtime/scratch.h"

namespace millpond::kernels {
namespace {

// Below this a copy costs less than the questions.
constexpr size_t kMin = 16 * 1024;

thread_local Loan* t_loan = nullptr;
thread_local bool t_paused = false;

// Where at::empty, at::empty_strided and resize_ call the allocator. Others ask it too (oneDNN's wrapper, by
// raw_allocate, for temporaries of the same size), and only the address they will return to tells them apart.
constexpr size_t kEmptySites = 3;
const void* g_empty_sites[kEmptySites];
thread_local const void** t_learn = nullptr;

class LendingAllocator final : public c10::Allocator {
 public:
  explicit LendingAllocator(c10::Allocator* base) : base_(base) {}

  c10::DataPtr allocate(size_t bytes) override {
    const void* caller = __builtin_return_address(0);
    if (t_learn != nullptr) [[unlikely]]
      *t_learn = caller;
    if (bytes < kMin || Frame::Current() == nullptr || !IsEmptySite(caller)) return base_->allocate(bytes);
    if (t_loan != nullptr && !t_paused) {
      if (void* lent = t_loan->Take(bytes)) return {lent, nullptr, [](void*) {}, c10::Device(c10::kCPU)};
    }
    if (bytes < kMinScratch || bytes > kMaxScratch) return base_->allocate(bytes);
    return TakeScratch(bytes, base_);
  }
  c10::DeleterFnPtr raw_deleter() const override { return base_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override { base_->copy_data(to, from, bytes); }

 private:
  static bool IsEmptySite(const void* caller) {
    return std::find(g_empty_sites, g_empty_sites + kEmptySites, caller) != g_empty_sites + kEmptySites;
  }

  c10::Allocator* const base_;
};

// While results are written nothing is lent: a copy's own temporaries must not land in an output.
class Pause {
 public:
  Pause() : before_(std::exchange(t_paused, true)) {}
  ~Pause() { t_paused = before_; }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  const bool before_;
};

// The kernel may be given one argument of the row as an input and as an output.
bool IsInput(const OpCall& call, size_t view) {
  for (size_t place = 0; place < call.size(); ++place) {
    const ArgSpec& spec = call.row().args[place];
    const OpCall::Arg& arg = call.arg(place);
    if (spec.kind != ArgKind::kTensor && spec.kind != ArgKind::kTensorList) continue;
    if (arg.present && view >= arg.first && view < arg.first + arg.count) {
      return spec.flow == ArgFlow::kIn || (spec.flow == ArgFlow::kInOut && !spec.overwritten);
    }
  }
  return false;
}

bool MayBeLent(const Tensor& out) {
  if (out.nbytes() < kMin || !out.is_contiguous()) return false;
  if (reinterpret_cast<uintptr_t>(out.data_ptr()) % c10::gAlignment != 0) return false;
  Frame* frame = Frame::Current();
  const TensorView* own = frame->ViewOf(out);
  const OpCall& call = frame->call();
  if (IsInput(call, static_cast<size_t>(own - call.all_views().data()))) return false;
  const auto* first = static_cast<const std::byte*>(own->first());
  for (const TensorView& view : call.all_views()) {
    if (&view == own || view.dtype == DType::kUndefined) continue;
    const auto* other = static_cast<const std::byte*>(view.first());
    if (first < other + view.BytesOf(view.extent()) && other < first + out.nbytes()) return false;
  }
  return true;
}

}  // namespace

Loan::Loan(std::initializer_list<const Tensor*> outputs) : outer_(t_loan) {
  for (const Tensor* out : outputs) {
    if (out == nullptr || count_ == kMax || !MayBeLent(*out)) continue;
    // Two of one size could be swapped, and the first delivered would overwrite the second.
    const size_t bytes = out->nbytes();
    if (std::any_of(parts_, parts_ + count_, [&](const Part& part) { return part.bytes == bytes; })) continue;
    parts_[count_++] = {out->data_ptr(), bytes};
  }
  t_loan = this;
}

Loan::~Loan() { t_loan = outer_; }

void* Loan::Take(size_t bytes) {
  for (size_t i = 0; i < count_; ++i) {
    if (parts_[i].bytes == bytes) return std::exchange(parts_[i].data, nullptr);
  }
  return nullptr;
}

void Deliver(Tensor& out, const Tensor& value) {
  const Pause pause;
  TORCH_CHECK(out.sizes() == value.sizes(), "the result has shape ", value.sizes(), ", the output ", out.sizes());
  if (!Overlap(out, value)) {
    out.copy_(value);
    return;
  }
  const bool in_place = out.data_ptr() == value.data_ptr() && out.strides() == value.strides() &&
                        out.scalar_type() == value.scalar_type() && !value.is_conj() && !value.is_neg();
  if (!in_place) out.copy_(value.clone());
}

void DeliverAll(std::initializer_list<std::pair<Tensor*, Tensor>> results) {
  const Pause pause;
  c10::SmallVector<std::pair<Tensor*, Tensor>, 4> safe(results);
  for (auto& [out, value] : safe) {
    if (out == nullptr || !value.defined()) continue;
    for (const auto& [other, unused] : results) {
      if (other != nullptr && other != out && Overlap(*other, value)) {
        value = value.clone();
        break;
      }
    }
  }
  for (const auto& [out, value] : safe) {
    if (out != nullptr && value.defined()) Deliver(*out, value);
  }
}

void StartLending() {
  static const bool started = [] {
    // Lives as long as any tensor it may have made: for ever.
    c10::SetCPUAllocator(new LendingAllocator(c10::GetCPUAllocator()), /*priority=*/1);
    t_learn = &g_empty_sites[0];
    at::empty({1}, at::kFloat);
    t_learn = &g_empty_sites[1];
    at::empty_strided({1}, {1}, at::kFloat);
    at::Tensor none = at::empty({0}, at::kFloat);
    t_learn = &g_empty_sites[2];
    none.resize_({1});
    t_learn = nullptr;
    return true;
  }();
  static_cast<void>(started);
}

}  // namespace millpond::kernels
