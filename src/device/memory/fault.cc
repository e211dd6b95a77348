// SPDX-License-Identifier: Apache-2.0
// Says what happened when somebody touches device memory that may not be touched.
//
//   The host touches D     report, then the handler that was there before us; by default the process dies, as it must
//   A kernel touches A     where nothing is mapped: a scratch page appears there, the kernel finishes, its task fails
//   The host touches the target of a pending copy    it is told, and goes on (watched_target.h)
//   A copy touches host    memory that is not there, or that may not be written: the copy is left, its call or task
//   fails
//
// In the handler: write() only, no locks and no allocation of ours. backtrace() is not on POSIX's list of safe
// functions, but its one unsafe act, loading the unwinder, is done at installation. The one exception comes last: a
// checker that listens is told of a touch by the host. It locks and allocates, and may, since it was the program's own
// code that faulted: the thread holds no lock of ours, and none of malloc's, which has no business in device memory.
#include "src/device/memory/fault.h"

#include <execinfo.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <cstring>
#include <iterator>
#include <mutex>
#include <span>

#include "src/base/thread_local.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/device_heap.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/own_file.h"
#include "src/device/memory/watched_target.h"
#include "src/device/stream/stream.h"
#include "src/trace/emit.h"
#include "src/trace/stack_depot.h"

namespace millpond {

namespace internal {
std::atomic<uint32_t> g_faults_pending{0};
}  // namespace internal

namespace {

struct sigaction g_previous[2];  // SIGSEGV, SIGBUS
std::atomic<bool> g_installed{false};
thread_local uint32_t t_owns_faults MP_FAST_TLS = 0;

struct Landing {
  sigjmp_buf place;
  internal::HostFault fault;
  bool of_kernel = false;  // device addresses are its to tell of, too
};
thread_local Landing* t_landing MP_FAST_TLS = nullptr;

// A fault on A whose task has not been told yet.
struct PendingFault {
  enum State : uint32_t { kFree, kFilling, kPending };
  std::atomic<uint32_t> state{kFree};
  std::atomic<uintptr_t> address{0};  // as the client knows it
  std::atomic<uintptr_t> scratch{0};  // the range made accessible, at its device address
  std::atomic<size_t> scratch_bytes{0};
  std::atomic<pid_t> thread{0};
  std::atomic<bool> owned{false};
  std::atomic<bool> on_host{false};  // `address` is one of the host's, and there is no scratch
  std::atomic<bool> write{false};
};
PendingFault g_pending[64];

pid_t ThreadId() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// A line of text built without the heap or locales.
class Text {
 public:
  Text& operator<<(const char* text) {
    while (*text != 0 && size_ < sizeof(buffer_)) buffer_[size_++] = *text++;
    return *this;
  }
  Text& operator<<(uint64_t value) {
    char digits[21];
    size_t at = sizeof(digits);
    digits[--at] = 0;
    do digits[--at] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    return *this << &digits[at];
  }
  Text& Hex(uintptr_t value) {
    *this << "0x";
    bool started = false;
    for (int shift = 60; shift >= 0; shift -= 4) {
      const unsigned digit = value >> shift & 15;
      started |= digit != 0 || shift == 0;
      if (!started) continue;
      const char text[2] = {"0123456789abcdef"[digit], 0};
      *this << text;
    }
    return *this;
  }
  ~Text() {
    for (size_t done = 0; done < size_;) {
      const ssize_t wrote = write(STDERR_FILENO, buffer_ + done, size_ - done);
      if (wrote <= 0) return;
      done += static_cast<size_t>(wrote);
    }
  }

 private:
  char buffer_[1024];
  size_t size_ = 0;
};

void PrintFrames(void* const* frames, int count) {
  if (count > 0) backtrace_symbols_fd(frames, count, STDERR_FILENO);
}

// The stack from the faulting instruction outwards, without our own frames and the kernel's.
struct FaultStack {
  explicit FaultStack(uintptr_t instruction) {
    const int count = backtrace(frames, static_cast<int>(std::size(frames)));
    int first = 0;
    while (first < count && reinterpret_cast<uintptr_t>(frames[first]) != instruction) ++first;
    if (first == count) first = 0;
    outermost = {frames + first, static_cast<size_t>(count - first)};
  }
  void Print() const { PrintFrames(outermost.data(), static_cast<int>(outermost.size())); }
  // The first frame is the instruction itself; the others are where calls return to, as in every stack of a finding.
  uint32_t Intern() const {
    void* calls[std::size(decltype(FaultStack::frames){})];
    std::copy(outermost.begin(), outermost.end(), calls);
    if (!outermost.empty()) calls[0] = static_cast<std::byte*>(calls[0]) + 1;
    return trace::InternStack({calls, outermost.size()});
  }

  void* frames[48];
  std::span<void* const> outermost;
};

// What lies at a device address; the block's number, 0 when none is known.
uint64_t DescribeAddress(uintptr_t address) {
  Text text;
  text << "  address    ";
  text.Hex(address);
  const PointerInfo info = LookUp(reinterpret_cast<void*>(address));
  if (info.kind == PointerKind::kDevice || info.kind == PointerKind::kMapped) {
    const auto base = reinterpret_cast<uintptr_t>(info.base);
    text << ", " << uint64_t{address - base} << " B into block #" << info.block << " (" << uint64_t{info.bytes}
         << " B at ";
    text.Hex(base) << " on device " << static_cast<uint64_t>(info.device)
                   << (info.kind == PointerKind::kDevice ? ", live)\n" : ", mapped)\n");
    return info.block;
  }
  const RangeHeap* heap =
      info.device >= 0 && info.kind == PointerKind::kUnallocated ? internal::HeapOf(info.device) : nullptr;
  HeapBlock block;
  if (heap != nullptr && heap->FindFreed(address, &block)) {
    text << ", " << uint64_t{address - block.base} << " B into block #" << block.number << " (" << uint64_t{block.bytes}
         << " B at ";
    text.Hex(block.base) << " on device " << static_cast<uint64_t>(info.device) << ", freed)\n";
    return block.number;
  }
  text << (info.kind == PointerKind::kReserved ? ", reserved, nothing mapped there" : ", in no block");
  if (info.device >= 0) text << ", device " << static_cast<uint64_t>(info.device);
  text << "\n";
  return 0;
}

void PrintAllocationStack(uint64_t block) {
  if (block == 0) return;
  void* frames[internal::kStackFrames];
  const int count = internal::FindAllocationStack(block, frames);
  if (count == 0) {
    Text() << "  allocated  at a place that was not kept; set MILLPOND_ALLOC_STACKS=1 to see its stack\n";
    return;
  }
  Text() << "  allocated by\n";
  PrintFrames(frames, count);
}

void ReportHostTouch(const internal::FaultFacts& facts) {
  Text() << "\nmillpond: the host " << (facts.write ? "wrote to" : "read from")
         << " device memory, which only the device can reach\n";
  const uint64_t block = DescribeAddress(facts.address);
  Text() << "  what to do copy it with aclrtMemcpy or aclrtMemcpyAsync, or use aclrtMallocHost memory\n";
  Text() << "  touched by thread " << static_cast<uint64_t>(ThreadId()) << "\n";
  const FaultStack stack(facts.instruction);
  stack.Print();
  PrintAllocationStack(block);
  if (!trace::Wants(trace::kMisuses)) return;
  void* const address = reinterpret_cast<void*>(facts.address);
  const char* const did = facts.write ? "writes to" : "reads from";
  trace::TellMisuseAt("MP512", "the host touches it here", address, stack.Intern(),
                      [&] { return Format("the host %s %p, which is memory of the device", did, address); });
}

// True when the host touched the target of a copy: it may go on, and whoever listens is told, unless it was a call or
// task of ours that did. As with device memory, the program's own code faulted.
bool HandleTargetTouch(const internal::FaultFacts& facts) {
  bool pending = false;
  if (!trace::Wants(trace::kTargets) || !internal::OpenTouchedTarget(facts.address, &pending)) return false;
  if (!pending || t_landing != nullptr || internal::FaultsAreTaken()) return true;
  using Kind = trace::Damage::Kind;
  trace::TellDamage({.kind = facts.write ? Kind::kTargetWritten : Kind::kTargetRead,
                     .device = -1,
                     .address = reinterpret_cast<void*>(facts.address),
                     .bytes = 1,
                     .block = nullptr,
                     .stream = -1,
                     .count = 0,
                     .at_free = false,
                     .thread = 0,
                     .stack = FaultStack(facts.instruction).Intern(),
                     .time_ns = 0});
  return true;
}

// --- Faults of kernels on A ---

bool IsAlias(uintptr_t address) {
  const internal::AddressMap& map = internal::g_address_map;
  return map.size != 0 && map.delta != 0 && address - (map.begin + static_cast<uintptr_t>(map.delta)) < map.size;
}

// Makes the place accessible, so that the kernel can run to its end. In the virtual part a whole 2 MiB is unmapped or
// none of it; in a heap (the host ran out of memory) only the page is replaced.
bool MapScratch(uintptr_t alias, bool in_heap, uintptr_t* out_begin, size_t* out_bytes) {
  const size_t bytes = in_heap ? static_cast<size_t>(sysconf(_SC_PAGESIZE)) : kHugePageBytes;
  const uintptr_t begin = alias / bytes * bytes;
  void* mapped = mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  madvise(mapped, bytes, MADV_DONTDUMP);
  madvise(mapped, bytes, MADV_DONTFORK);
  *out_begin = begin;
  *out_bytes = bytes;
  return true;
}

// `fill` stores what is particular to the fault.
template <class Fill>
void LeaveFault(uintptr_t address, Fill fill) {
  for (PendingFault& pending : g_pending) {
    uint32_t expected = PendingFault::kFree;
    if (!pending.state.compare_exchange_strong(expected, PendingFault::kFilling)) continue;
    pending.address.store(address, std::memory_order_relaxed);
    pending.thread.store(ThreadId(), std::memory_order_relaxed);
    pending.owned.store(internal::FaultsAreTaken(), std::memory_order_relaxed);
    fill(pending);
    pending.state.store(PendingFault::kPending, std::memory_order_release);
    internal::g_faults_pending.fetch_add(1, std::memory_order_release);
    return;  // a full table means that plenty of faults wait already
  }
}

// False when nothing helps: the fault then goes on to whoever is next.
bool HandleKernelFault(const internal::FaultFacts& facts) {
  const auto delta = static_cast<uintptr_t>(internal::g_address_map.delta);
  const uintptr_t address = facts.address - delta;
  const bool in_heap = address < GetAddressLayout().virtual_begin;
  uintptr_t scratch = 0;
  size_t scratch_bytes = 0;
  // Said before the page appears: afterwards the address looks like any other.
  const bool first = internal::g_faults_pending.load(std::memory_order_relaxed) == 0;
  if (first) {
    Text() << "\nmillpond: a task " << (facts.write ? "wrote to" : "read from")
           << (in_heap ? " device memory that the host could not provide\n"
                       : " device memory that is not mapped; the task fails\n");
    DescribeAddress(address);
    Text() << "  what to do "
           << (in_heap ? "give the host more memory, or lower MILLPOND_MEMORY\n"
                       : "keep memory mapped until the stream that uses it is synchronised\n");
    Text() << "  touched by thread " << static_cast<uint64_t>(ThreadId()) << "\n";
    FaultStack(facts.instruction).Print();
  }
  if (!MapScratch(facts.address, in_heap, &scratch, &scratch_bytes)) return false;
  LeaveFault(address, [&](PendingFault& pending) {
    pending.scratch.store(scratch - delta, std::memory_order_relaxed);
    pending.scratch_bytes.store(in_heap ? 0 : scratch_bytes, std::memory_order_relaxed);
    pending.on_host.store(false, std::memory_order_relaxed);
  });
  return true;
}

// --- The handler ---

void* Pointer(uintptr_t address) { return reinterpret_cast<void*>(address); }

void Chain(int signal, siginfo_t* info, void* context) {
  struct sigaction& previous = g_previous[signal == SIGBUS];
  const bool plain = (previous.sa_flags & SA_SIGINFO) == 0;
  if (plain && (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN)) {
    if (info->si_code <= 0 && previous.sa_handler == SIG_IGN) return;
    // A real fault comes again when the instruction is repeated; a raised signal does not.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    if (info->si_code <= 0) raise(signal);
    return;
  }
  sigset_t mask = previous.sa_mask, before;
  if ((previous.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  const struct sigaction called = previous;
  if ((previous.sa_flags & SA_RESETHAND) != 0) previous = {};
  if (plain) {
    called.sa_handler(signal);
  } else {
    called.sa_sigaction(signal, info, context);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

[[noreturn]] void Land(Landing* landing, const internal::FaultFacts& facts, int saved_errno) {
  landing->fault = {facts.address, facts.write};
  errno = saved_errno;
  siglongjmp(landing->place, 1);
}

void OnFault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const internal::FaultFacts facts = internal::FactsOfFault(info, context);
  if (facts.known) {
    const bool reachable =
        IsAlias(facts.address) || (GetAddressLayout().shared && IsDeviceAddress(Pointer(facts.address)));
    if (reachable && internal::FaultMetAMove()) {
      errno = saved;
      return;
    }
    if (IsAlias(facts.address)) {
      if (HandleKernelFault(facts)) {
        errno = saved;
        return;
      }
    } else if (IsDeviceAddress(Pointer(facts.address))) {
      // In shared mode the host may touch device memory, and a kernel's mistake looks like the host's.
      if (GetAddressLayout().shared && internal::FaultsAreTaken() && HandleKernelFault(facts)) {
        errno = saved;
        return;
      }
      if (Landing* landing = t_landing; landing != nullptr && landing->of_kernel) Land(landing, facts, saved);
      ReportHostTouch(facts);
    } else if (HandleTargetTouch(facts)) {
      errno = saved;
      return;
    } else if (Landing* landing = t_landing) {
      Land(landing, facts, saved);
    }
  }
  errno = saved;
  Chain(signal, info, context);
  errno = saved;
}

struct sigaction Ours() {
  struct sigaction ours {};
  ours.sa_sigaction = OnFault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  return ours;
}

}  // namespace

void InstallFaultHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    void* frames[2];
    backtrace(frames, 2);  // loads the unwinder now
    const struct sigaction ours = Ours();
    sigaction(SIGSEGV, &ours, &g_previous[0]);
    sigaction(SIGBUS, &ours, &g_previous[1]);
    g_installed.store(true, std::memory_order_release);
  });
}

namespace internal {

bool PutFaultHandlerFirst(struct sigaction* out_replaced) {
  InstallFaultHandler();
  const struct sigaction ours = Ours();
  sigaction(SIGSEGV, nullptr, out_replaced);
  if ((out_replaced->sa_flags & SA_SIGINFO) != 0 && out_replaced->sa_sigaction == OnFault) return false;
  return sigaction(SIGSEGV, &ours, out_replaced) == 0;
}

OwnsFaults::OwnsFaults() { ++t_owns_faults; }
OwnsFaults::~OwnsFaults() { --t_owns_faults; }

bool FaultsAreTaken() { return t_owns_faults != 0 || InTask(); }

static bool Touch(void (*touch)(const void* argument), const void* argument, bool of_kernel, HostFault* out_fault) {
  // A call may name memory before there is a device.
  if (__builtin_expect(!g_installed.load(std::memory_order_acquire), false)) InstallFaultHandler();
  Landing landing;
  landing.of_kernel = of_kernel;
  Landing* const former = t_landing;
  if (sigsetjmp(landing.place, 0) != 0) {
    t_landing = former;
    *out_fault = landing.fault;
    // A handler in front of ours may have blocked the signal; the next fault must be seen too.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGSEGV);
    sigaddset(&signals, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    return false;
  }
  t_landing = &landing;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  touch(argument);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_landing = former;
  return true;
}

bool TouchHost(void (*touch)(const void* argument), const void* argument, HostFault* out_fault) {
  return Touch(touch, argument, false, out_fault);
}

bool TouchAsKernel(void (*touch)(const void* argument), const void* argument, HostFault* out_fault) {
  return Touch(touch, argument, true, out_fault);
}

void LeaveHostFault(const HostFault& fault) {
  LeaveFault(fault.address, [&](PendingFault& pending) {
    pending.scratch_bytes.store(0, std::memory_order_relaxed);
    pending.on_host.store(true, std::memory_order_relaxed);
    pending.write.store(fault.write, std::memory_order_relaxed);
  });
}

std::string HostFaultText(const HostFault& fault) {
  return Format(
      "host address %p cannot be %s: nothing is mapped there, or its protection forbids it; pass memory that "
      "stays mapped until the call or the stream is done with it",
      reinterpret_cast<void*>(fault.address), fault.write ? "written" : "read");
}

bool TakeFaultSlow(Status* out_status) {
  const pid_t self = ThreadId();
  bool taken = false, on_host = false;
  HostFault fault;
  for (PendingFault& pending : g_pending) {
    if (pending.state.load(std::memory_order_acquire) != PendingFault::kPending) continue;
    if (pending.owned.load(std::memory_order_relaxed) && pending.thread.load(std::memory_order_relaxed) != self) {
      continue;
    }
    uint32_t expected = PendingFault::kPending;
    if (!pending.state.compare_exchange_strong(expected, PendingFault::kFilling)) continue;
    void* scratch = reinterpret_cast<void*>(pending.scratch.load(std::memory_order_relaxed));
    // Inaccessible again, unless the client has mapped something there since.
    const size_t bytes = pending.scratch_bytes.load(std::memory_order_relaxed);
    if (bytes != 0 && LookUp(scratch).kind != PointerKind::kMapped) UnmapAlias(scratch, bytes).Ignore();
    if (!taken) {
      fault = {pending.address.load(std::memory_order_relaxed), pending.write.load(std::memory_order_relaxed)};
      on_host = pending.on_host.load(std::memory_order_relaxed);
    }
    taken = true;
    pending.state.store(PendingFault::kFree, std::memory_order_release);
    g_faults_pending.fetch_sub(1, std::memory_order_release);
  }
  if (!taken) return false;
  *out_status = on_host ? InvalidArgument(HostFaultText(fault))
                        : Status(Code::kDeviceMemory,
                                 Format("the task touched device address %p, where nothing is mapped; keep memory "
                                        "mapped until the stream that uses it is synchronised",
                                        reinterpret_cast<void*>(fault.address)));
  return true;
}

}  // namespace internal

}  // namespace millpond
