// SPDX-License-Identifier: Apache-2.0
// Around every kernel: ATen as if nobody else used it on this thread. A thread that synchronises runs kernels too, and
// it may be a Python thread inside autocast, autograd, vmap or a dispatch mode; none of that may leak in.
#include "src/kernels/runtime/run.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/AutogradState.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <omp.h>
#include <torch/version.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>

#include "src/kernels/runtime/about_types.h"
#include "src/kernels/runtime/isa_probe.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"
#include "src/kernels/runtime/scratch.h"
#include "src/kernels/runtime/team.h"
#include "src/ops/refusals.h"

namespace millpond::kernels {
namespace {

void* (*g_reach)(void*) = nullptr;
int g_team = 1;  // threads of a kernel that is not small; the same on every thread that may run one

// Entered by the first kernel of a run of tasks, left when the thread turns to something else: kernels alone run
// between.
class PlainAten {
 public:
  void Enter() {
    if (entered_) return;
    entered_ = true;
    keys_ = c10::impl::tls_local_dispatch_key_set();
    autograd_ = c10::AutogradState::get_tls_state();
    c10::impl::_force_tls_local_dispatch_key_set(Keys());
    c10::AutogradState::set_tls_state(c10::AutogradState(/*grad_mode=*/false, /*inference_mode=*/true,
                                                         /*fw_grad_mode=*/false, /*multithreading_enabled=*/false));
    // Asking is cheap, disabling is not: only a thread that is being profiled pays for it.
    profiled_ = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
    if (profiled_) at::enableRecordFunction(false);
    threads_before_ = threads_ = omp_get_max_threads();
  }
  void Leave() {
    if (!entered_) return;
    entered_ = false;
    SetThreads(threads_before_);
    if (profiled_) at::enableRecordFunction(true);
    c10::impl::_force_tls_local_dispatch_key_set(keys_);
    c10::AutogradState::set_tls_state(*autograd_);
    autograd_.reset();
  }
  void SetThreads(int threads) {
    if (threads_ == threads) return;
    omp_set_num_threads(threads);
    threads_ = threads;
  }
  static PlainAten& OfThread() {
    static thread_local PlainAten plain;
    return plain;
  }

 private:
  // What a fresh thread has inside inference mode.
  static const c10::impl::LocalDispatchKeySet& Keys() {
    static const c10::impl::LocalDispatchKeySet keys = [] {
      c10::impl::PODLocalDispatchKeySet plain{};
      plain.set_included(c10::default_included_set.remove(c10::DispatchKey::ADInplaceOrView));
      plain.set_excluded(c10::default_excluded_set | c10::autograd_dispatch_keyset);
      return c10::impl::LocalDispatchKeySet(plain);
    }();
    return keys;
  }

  bool entered_ = false;
  bool profiled_ = false;
  int threads_before_ = 1;
  int threads_ = 1;
  c10::impl::LocalDispatchKeySet keys_{c10::impl::PODLocalDispatchKeySet{}};
  std::optional<c10::AutogradState> autograd_;
};

// OpenMP keeps a team for each thread that ever asked for one, and once there are more threads in teams than processors
// none of them waits awake: every step of a graph then begins with a thread that must be woken, 0.1 ms late. A thread
// that has compiled a graph gives its team up.
void Rest() {
  DropScratch();
  omp_pause_resource(omp_pause_soft, omp_get_initial_device());
}

}  // namespace

void* Reach(void* address) { return g_reach(address); }

namespace {

// What is refused for its types may be tried again with others.
bool MayBeLifted(const std::string& message) { return IsAboutTypes(message) && !IsAboutTheOutput(message); }

// A kernel of several steps may have written before it was refused, so nothing that it reads may have changed by that.
bool ReadsWhatItWrites(const OpCall& call) {
  const auto args = call.row().args;
  const auto views_of = [&](size_t place) {
    const bool tensors = args[place].kind == ArgKind::kTensor || args[place].kind == ArgKind::kTensorList;
    return tensors && call.has(place) ? call.views(place) : decltype(call.views(place)){};
  };
  for (size_t written = 0; written < args.size(); ++written) {
    if (args[written].flow == ArgFlow::kIn) continue;
    if (args[written].flow == ArgFlow::kInOut && !args[written].overwritten) return true;
    for (const TensorView& target : views_of(written)) {
      for (size_t read = 0; read < args.size(); ++read) {
        if (args[read].flow == ArgFlow::kOut) continue;
        for (const TensorView& source : views_of(read)) {
          if (read != written && source.data != nullptr && source.data == target.data) return true;
        }
      }
    }
  }
  return false;
}

template <class Failed>
Status RunOnce(OpCall& call, void (*body)(Frame& frame), Frame::Lift lift, const Failed& failed, bool writes = true) {
  try {
    Frame frame(&call);
    if (lift != Frame::Lift::kNone && !frame.LiftTo(lift)) return failed("there is no other type to compute in");
    body(frame);
    if (writes) frame.LayOut();
    return Ok();
  } catch (const c10::Error& error) {
    return failed(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return failed("no host memory left for the kernel's intermediate results");
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("the kernel threw something that is not a std::exception");
  }
}

}  // namespace

namespace {

Status Refusal(const OpCall& call, const char* what) {
  return {Code::kOperatorRefused, Format("%s: %s", call.row().name, what)};
}

}  // namespace

// On the client's thread, which waits for no other kernel: nothing computes.
Status RunChecks(OpCall& call, void (*body)(Frame& frame)) {
  PlainAten& plain = PlainAten::OfThread();
  plain.Enter();
  plain.SetThreads(1);
  return RunOnce(
      call, body, Frame::Lift::kNone, [&](const char* what) { return Refusal(call, what); }, /*writes=*/false);
}

Status RunGuarded(OpCall& call, void (*body)(Frame& frame), bool once) {
  static std::mutex team_turn;
  PlainAten& plain = PlainAten::OfThread();
  plain.Enter();
  // One thread runs what needs the team (Scheduler::OnTeamThread), but for replayed graphs and other schedulers.
  const bool team = NeedsTeam(call);
  const auto turn = team ? std::unique_lock(team_turn) : std::unique_lock<std::mutex>();
  plain.SetThreads(team ? g_team : 1);
  const auto failed = [&](const char* what) { return Refusal(call, what); };
  if (const std::string reason = RefusedArgument(call); !reason.empty()) return failed(reason.c_str());
  Status refused;
  for (const Frame::Lift lift : {Frame::Lift::kNone, Frame::Lift::kExact, Frame::Lift::kDouble}) {
    Status status = RunOnce(call, body, lift, failed);
    if (status.ok()) return status;
    if (lift == Frame::Lift::kNone) refused = std::move(status);
    if (once || !MayBeLifted(refused.message()) || ReadsWhatItWrites(call)) break;
  }
  return refused;
}

at::Generator MakeGenerator(int64_t seed, int64_t offset) {
  // Two rounds of a 64-bit mixer, so that neighbouring offsets give unrelated streams.
  auto mix = [](uint64_t x) {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  };
  return at::make_generator<at::CPUGeneratorImpl>(
      mix(mix(static_cast<uint64_t>(seed)) ^ static_cast<uint64_t>(offset)));
}

std::vector<const Kernel*>& AllKernels() {
  static auto* kernels = new std::vector<const Kernel*>;
  return *kernels;
}

}  // namespace millpond::kernels

extern "C" __attribute__((visibility("default"))) const millpond::kernels::Library* millpondKernels() {
  using namespace millpond::kernels;  // NOLINT
  static const Library library{
      .torch_version = TORCH_VERSION,
      .kernels = AllKernels(),
      .start =
          [](void* (*reach)(void*)) {
            g_reach = reach;
            at::init_num_threads();
            g_team = at::get_num_threads();
            StartLending();
            HalfTypesFinding();
          },
      .leave = [] { PlainAten::OfThread().Leave(); },
      .trim = &Rest,
  };
  return &library;
}
