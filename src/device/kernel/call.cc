// SPDX-License-Identifier: Apache-2.0
#include "src/device/kernel/call.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "src/base/thread_end.h"
#include "src/device/memory/device_heap.h"
#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"

namespace millpond {

namespace {

constexpr size_t kWord = 8;

size_t RoundUp(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// The parameters one after another, each aligned by `align_of`; the end of the last in *out_end.
template <class AlignOf>
std::vector<KernelArgument> Place(const KernelInfo& info, const AlignOf& align_of, size_t* out_end) {
  std::vector<KernelArgument> places(info.parameter_count);
  size_t at = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    at = RoundUp(at, align_of(info.parameters[i]));
    places[i] = {at, info.parameters[i].bytes};
    at += info.parameters[i].bytes;
  }
  *out_end = at;
  return places;
}

size_t PackedAlignment(const KernelParameter& parameter) { return std::max<size_t>(parameter.alignment, 4); }

// Arguments that come as plain bytes: laid out like a struct of the parameters, where nothing is aligned to less than
// four bytes, or each in words of its own, as aclrtKernelArgsGetMemSize counts them.
Status PlaceByInfo(const Kernel& kernel, size_t bytes, std::vector<KernelArgument>* out_places) {
  size_t packed = 0, spaced = 0;
  auto packed_places = Place(*kernel.info, PackedAlignment, &packed);
  auto spaced_places = Place(
      *kernel.info, [](const KernelParameter& parameter) { return std::max<size_t>(parameter.alignment, kWord); },
      &spaced);
  // The end may be rounded up, as sizeof of a struct is.
  if (bytes >= packed && bytes <= RoundUp(packed, kWord)) {
    *out_places = std::move(packed_places);
  } else if (bytes >= spaced && bytes <= RoundUp(spaced, kWord)) {
    *out_places = std::move(spaced_places);
  } else {
    return InvalidArgument(
        Format("%zu bytes of arguments were given; the %zu parameters of kernel %s take %zu, or %zu "
               "with each in 8-byte words of its own",
               bytes, kernel.info->parameter_count, kernel.name.c_str(), packed, spaced));
  }
  return Ok();
}

Status CheckWords(const Kernel& kernel, size_t bytes, const std::vector<KernelArgument>& arguments) {
  constexpr char kAdvice[] =
      "write MILLPOND_KERNEL(%s) after the kernel, so that its parameters are known "
      "(millpond/kernel.h; ./millpond kernel does it by itself)";
  const auto refuse = [&](const std::string& found) {
    return InvalidArgument(Format("kernel %s does not say what its parameters are, so each must be a pointer or an "
                                  "integer in a word of 8 bytes; %s. ",
                                  kernel.name.c_str(), found.c_str()) +
                           Format(kAdvice, kernel.name.c_str()));  // NOLINT: constant
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].bytes > kWord) return refuse(Format("argument %zu has %zu bytes", i, arguments[i].bytes));
  }
  if (arguments.empty() && bytes % kWord != 0) return refuse(Format("%zu bytes are no number of such words", bytes));
  if (arguments.empty() && bytes / kWord > kMaxArguments) {
    return refuse(Format("%zu words are more than %zu", bytes / kWord, kMaxArguments));
  }
  return Ok();
}

Status CheckListed(const Kernel& kernel, const std::vector<KernelArgument>& arguments) {
  const KernelInfo& info = *kernel.info;
  if (arguments.size() != info.parameter_count) {
    return InvalidArgument(Format("%zu arguments were given; kernel %s has %zu parameters", arguments.size(),
                                  kernel.name.c_str(), info.parameter_count));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].bytes != info.parameters[i].bytes) {
      return InvalidArgument(Format("argument %zu has %zu bytes; parameter %zu of kernel %s has %u", i,
                                    arguments[i].bytes, i, kernel.name.c_str(), info.parameters[i].bytes));
    }
  }
  return Ok();
}

// A device address among the arguments becomes the one at which the kernel may touch the memory.
Status Translate(const Kernel& kernel, std::vector<std::byte>* bytes) {
  for (size_t at = 0; at + kWord <= bytes->size(); at += kWord) {
    void* address = nullptr;
    std::memcpy(&address, bytes->data() + at, kWord);
    if (!IsDeviceAddress(address)) continue;
    const PointerInfo info = LookUp(address);
    const RangeHeap* heap =
        info.device >= 0 && info.kind == PointerKind::kUnallocated ? internal::HeapOf(info.device) : nullptr;
    HeapBlock block;
    if (heap != nullptr && heap->FindFreed(reinterpret_cast<uintptr_t>(address), &block)) {
      return Status(
          Code::kDeviceMemory,
          Format("bytes %zu to %zu of the arguments of kernel %s are %p, in block #%llu of %zu bytes, which was "
                 "freed before the kernel ran; free memory once the stream that uses it is synchronised",
                 at, at + kWord - 1, kernel.name.c_str(), address, static_cast<unsigned long long>(block.number),
                 size_t{block.bytes}));
    }
    address = Reachable(address);
    std::memcpy(bytes->data() + at, &address, kWord);
  }
  return Ok();
}

// --- Calling ------------------------------------------------------------------------------------------------------

template <size_t... kIndex>
void CallWords(void* function, const uint64_t* words, std::index_sequence<kIndex...>) {
  using Function = void (*)(decltype(static_cast<void>(kIndex), uint64_t{})...);
  reinterpret_cast<Function>(function)(words[kIndex]...);
}

// The arguments of a call, ready for each block.
class Parameters {
 public:
  Parameters(const Kernel& kernel, const std::vector<std::byte>& bytes, const std::vector<KernelArgument>& places)
      : kernel_(kernel), bytes_(bytes), places_(places) {
    if (kernel.info == nullptr) ReadWords();
  }
  void Call() {
    if (kernel_.info == nullptr) {
      if (words_used_ <= kFew) return CallWords(kernel_.function, words_.data(), std::make_index_sequence<kFew>());
      return CallWords(kernel_.function, words_.data(), std::make_index_sequence<kMaxArguments>());
    }
    // Copied for each block: a kernel may change its parameters.
    constexpr size_t kAlignment = 64;
    std::vector<std::byte> storage(StorageBytes() + kAlignment);
    std::vector<void*> addresses(places_.size() + 1);
    size_t at =
        RoundUp(reinterpret_cast<uintptr_t>(storage.data()), kAlignment) - reinterpret_cast<uintptr_t>(storage.data());
    for (size_t i = 0; i < places_.size(); ++i) {
      std::memcpy(storage.data() + at, bytes_.data() + places_[i].offset, places_[i].bytes);
      addresses[i] = storage.data() + at;
      at += RoundUp(places_[i].bytes, kAlignment);
    }
    kernel_.info->call(addresses.data());
  }

 private:
  static constexpr size_t kFew = 16;

  size_t StorageBytes() const {
    size_t bytes = 64;
    for (const KernelArgument& place : places_) bytes += RoundUp(place.bytes, 64);
    return bytes;
  }
  void ReadWords() {
    words_used_ = places_.size();
    for (size_t i = 0; i < places_.size() && i < kMaxArguments; ++i) {
      std::memcpy(&words_[i], bytes_.data() + places_[i].offset, std::min(places_[i].bytes, kWord));
    }
  }

  const Kernel& kernel_;
  const std::vector<std::byte>& bytes_;
  const std::vector<KernelArgument>& places_;
  std::array<uint64_t, kMaxArguments> words_{};
  size_t words_used_ = 0;
};

struct BlockRun {
  Parameters* parameters;
  const char* thrown = nullptr;  // what the kernel threw
  std::string text;
};

// What the kernel throws must not pass TouchAsKernel, which would be left without its landing.
void RunOneBlock(const void* argument) {
  auto* run = static_cast<BlockRun*>(const_cast<void*>(argument));
  try {
    run->parameters->Call();
  } catch (const std::exception& error) {
    run->text = error.what();
    run->thrown = run->text.c_str();
  } catch (...) {
    LetThreadEnd();
    run->thrown = "something that is not a std::exception";
  }
}

Status RunBlock(const Kernel& kernel, Parameters* parameters, KernelBlock* block) {
  BlockRun run{.parameters = parameters, .thrown = nullptr, .text = {}};
  internal::HostFault fault;
  bool finished = false;
  {
    const InBlock in_block(block);
    finished = internal::TouchAsKernel(&RunOneBlock, &run, &fault);
  }
  const std::string where = Format("kernel %s, block %u of %u", kernel.name.c_str(), block->index, block->count);
  if (finished) {
    return run.thrown == nullptr ? Ok() : Status(Code::kTaskFailed, Format("%s: %s", where.c_str(), run.thrown));
  }
  void* const address = reinterpret_cast<void*>(fault.address);
  const char* const did = fault.write ? "wrote to" : "read from";
  if (IsDeviceAddress(address)) {
    return Status(Code::kTaskFailed,
                  Format("%s %s device address %p as it was stored in memory; a kernel calls "
                         "millpond_kernel_reachable(address) before it follows such an address (millpond/kernel.h)",
                         where.c_str(), did, address));
  }
  return Status(Code::kTaskFailed,
                Format("%s %s address %p, where nothing is mapped or it may not; the kernel was left there",
                       where.c_str(), did, address));
}

Status ReadArguments(const KernelCall& call, std::vector<std::byte>* out_bytes) {
  if (call.on_device_bytes == 0) {
    *out_bytes = call.bytes;
  } else {
    out_bytes->resize(call.on_device_bytes);
    std::memcpy(out_bytes->data(), Reachable(call.on_device), call.on_device_bytes);
  }
  MP_RETURN_IF_ERROR(Translate(*call.kernel, out_bytes));
  for (const KernelPlaceholder& placeholder : call.placeholders) {
    const void* data = out_bytes->data() + placeholder.data_offset;
    std::memcpy(out_bytes->data() + placeholder.address_offset, &data, kWord);
  }
  return Ok();
}

Status FindPlaces(const KernelCall& call, size_t bytes, std::vector<KernelArgument>* out_places) {
  *out_places = call.arguments;
  if (!out_places->empty()) return Ok();
  if (call.kernel->info != nullptr) return PlaceByInfo(*call.kernel, bytes, out_places);
  for (size_t at = 0; at < bytes; at += kWord) out_places->push_back({at, kWord});
  return Ok();
}

Status RunCall(const KernelCall& call) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::byte> bytes;
  MP_RETURN_IF_ERROR(ReadArguments(call, &bytes));
  // Data of placeholders follows the arguments.
  size_t end = bytes.size();
  for (const KernelPlaceholder& placeholder : call.placeholders) end = std::min(end, placeholder.data_offset);
  std::vector<KernelArgument> places;
  MP_RETURN_IF_ERROR(FindPlaces(call, end, &places));
  Parameters parameters(*call.kernel, bytes, places);
  for (uint32_t i = 0; i < call.blocks; ++i) {
    KernelBlock block{.size = sizeof(KernelBlock), .index = call.first_block + i, .count = call.blocks, .state = {}};
    MP_RETURN_IF_ERROR(RunBlock(*call.kernel, &parameters, &block));
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  if (call.timeout_us != 0 && took > std::chrono::microseconds(call.timeout_us)) {
    return Status(Code::kTaskTimeout,
                  Format("kernel %s took longer than its launch allows, %llu us; it ran to its end",
                         call.kernel->name.c_str(), static_cast<unsigned long long>(call.timeout_us)));
  }
  return Ok();
}

}  // namespace

std::vector<KernelArgument> PackedParameters(const KernelInfo& info) {
  size_t ignored = 0;
  return Place(info, PackedAlignment, &ignored);
}

Status CheckCall(const KernelCall& call) {
  if (call.blocks == 0 || call.blocks > kMaxBlocks) {
    return InvalidArgument(Format("numBlocks is %u; it must be 1 to %u", call.blocks, kMaxBlocks));
  }
  if (UINT32_MAX - call.first_block < call.blocks) {
    return InvalidArgument(Format("%u blocks from %u on have no numbers", call.blocks, call.first_block));
  }
  const size_t all = std::max(call.bytes.size(), call.on_device_bytes);
  if (all > kMaxArgumentBytes) {
    return InvalidArgument(
        Format("the arguments have %zu bytes; at most %zu go with a launch. Put large data into "
               "device memory and pass its address",
               all, kMaxArgumentBytes));
  }
  size_t end = all;
  for (const KernelPlaceholder& placeholder : call.placeholders) end = std::min(end, placeholder.data_offset);
  if (call.kernel->info == nullptr) return CheckWords(*call.kernel, end, call.arguments);
  if (!call.arguments.empty()) return CheckListed(*call.kernel, call.arguments);
  std::vector<KernelArgument> ignored;
  return PlaceByInfo(*call.kernel, end, &ignored);
}

Status LaunchKernelCall(Stream* stream, KernelCall call) {
  MP_RETURN_IF_ERROR(CheckCall(call));
  const char* name = call.kernel->task_name;
  trace::Access reads[1];
  size_t count = 0;
  if (call.on_device_bytes != 0) {
    reads[count++] = trace::RowsOf(call.on_device, call.on_device_bytes, 1, 0, trace::Mode::kRead);
  }
  // Shared with captured graphs, which replay it.
  auto shared = std::make_shared<const KernelCall>(std::move(call));
  return stream->Launch<TaskKind::kCompute>(name, std::span<const trace::Access>(reads, count),
                                            [shared]() -> Status { return RunCall(*shared); });
}

}  // namespace millpond
