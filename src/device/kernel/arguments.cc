// SPDX-License-Identifier: Apache-2.0
#include "src/device/kernel/arguments.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "src/device/memory/memory.h"

namespace millpond {

namespace {

constexpr size_t kWord = 8;
// Of a parameter: the list's number, then its index and one.
constexpr uint64_t kIndexBits = 8;
static_assert(kMaxArguments < (1u << kIndexBits));

size_t RoundUp(size_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

KernelArguments::KernelArguments(std::shared_ptr<const Kernel> kernel, size_t limit)
    : kernel_(std::move(kernel)), limit_(std::min(limit, kMaxArgumentBytes)), number_(NextNumber()) {}

Status KernelArguments::Add(One one, void** out_parameter) {
  if (final_) {
    return InvalidArgument(
        "the list is final: aclrtKernelArgsFinalize was called, after which arguments are updated, not "
        "appended");
  }
  if (all_.size() == kMaxArguments) {
    return InvalidArgument(Format("the list has %zu arguments, the most there may be", kMaxArguments));
  }
  if (RoundUp(one.bytes) > limit_ - used_) {
    return InvalidArgument(
        Format("an argument of %zu bytes does not fit: %zu of %zu bytes are used (each argument takes "
               "a multiple of 8)",
               one.bytes, used_, limit_));
  }
  used_ += RoundUp(one.bytes);
  all_.push_back(std::move(one));
  *out_parameter = reinterpret_cast<void*>(number_ << kIndexBits | all_.size());
  return Ok();
}

Status KernelArguments::Find(const void* parameter, One** out_one) {
  const auto value = reinterpret_cast<uint64_t>(parameter);
  const uint64_t index = value & ((1u << kIndexBits) - 1);
  if (value >> kIndexBits != number_ || index == 0 || index > all_.size()) {
    return InvalidArgument(
        Format("parameter handle %p is none of this list, which has %zu; pass what "
               "aclrtKernelArgsAppend or aclrtKernelArgsAppendPlaceHolder gave for it",
               parameter, all_.size()));
  }
  *out_one = &all_[index - 1];
  return Ok();
}

Status KernelArguments::Append(const void* value, size_t bytes, void** out_parameter) {
  if (bytes == 0) return InvalidArgument("paramSize is 0; an argument has at least 1 byte");
  if (bytes > kMaxArgumentBytes) {
    return InvalidArgument(Format("paramSize is %zu; an argument has at most %zu bytes", bytes, kMaxArgumentBytes));
  }
  MP_RETURN_IF_ERROR(CheckReadable("param", value, bytes));
  One one;
  one.bytes = bytes;
  one.value.assign(static_cast<const std::byte*>(value), static_cast<const std::byte*>(value) + bytes);
  MutexLock lock(mutex_);
  return Add(std::move(one), out_parameter);
}

Status KernelArguments::AppendPlaceholder(void** out_parameter) {
  One one;
  one.bytes = kWord;
  one.is_placeholder = true;
  MutexLock lock(mutex_);
  return Add(std::move(one), out_parameter);
}

Status KernelArguments::PlaceholderBuffer(const void* parameter, size_t bytes, void** out_buffer) {
  MutexLock lock(mutex_);
  One* one = nullptr;
  MP_RETURN_IF_ERROR(Find(parameter, &one));
  if (!one->is_placeholder) {
    return InvalidArgument("the parameter is no placeholder; aclrtKernelArgsAppendPlaceHolder makes one");
  }
  const size_t free = limit_ - used_ + RoundUp(one->buffer_bytes);
  if (bytes == 0 || RoundUp(bytes) > free) {
    return InvalidArgument(Format("dataSize is %zu; it must be 1 to %zu, what the list has left", bytes, free));
  }
  one->buffer = std::make_unique<std::byte[]>(RoundUp(bytes));
  used_ = used_ - RoundUp(one->buffer_bytes) + RoundUp(bytes);
  one->buffer_bytes = bytes;
  *out_buffer = one->buffer.get();
  return Ok();
}

Status KernelArguments::Update(const void* parameter, const void* value, size_t bytes) {
  if (bytes <= kMaxArgumentBytes && bytes != 0) MP_RETURN_IF_ERROR(CheckReadable("param", value, bytes));
  MutexLock lock(mutex_);
  One* one = nullptr;
  MP_RETURN_IF_ERROR(Find(parameter, &one));
  if (one->is_placeholder) {
    return InvalidArgument(
        "the parameter is a placeholder: write its data to what aclrtKernelArgsGetPlaceHolderBuffer gave");
  }
  if (bytes != one->bytes) {
    return InvalidArgument(
        Format("paramSize is %zu; the argument was appended with %zu bytes, and keeps them", bytes, one->bytes));
  }
  std::memcpy(one->value.data(), value, bytes);
  return Ok();
}

void KernelArguments::Finalize() {
  MutexLock lock(mutex_);
  final_ = true;
}

bool KernelArguments::was_launched() const {
  MutexLock lock(mutex_);
  return launched_;
}

Status KernelArguments::FillCall(const Kernel& kernel, KernelCall* call) {
  MutexLock lock(mutex_);
  if (&kernel != kernel_.get()) {
    return InvalidArgument(Format("the arguments were made for kernel %s, and the launch is of %s",
                                  kernel_->name.c_str(), kernel.name.c_str()));
  }
  if (!final_) return InvalidArgument("the arguments are not final; call aclrtKernelArgsFinalize before the launch");
  call->bytes.resize(used_);
  size_t at = 0;
  for (const One& one : all_) {
    call->arguments.push_back({at, one.bytes});
    if (!one.is_placeholder) std::memcpy(call->bytes.data() + at, one.value.data(), one.bytes);
    at += RoundUp(one.bytes);
  }
  for (size_t i = 0; i < all_.size(); ++i) {
    if (!all_[i].is_placeholder) continue;
    if (all_[i].buffer == nullptr) {
      return InvalidArgument(
          Format("argument %zu is a placeholder without data; aclrtKernelArgsGetPlaceHolderBuffer gives "
                 "it memory",
                 i));
    }
    std::memcpy(call->bytes.data() + at, all_[i].buffer.get(), all_[i].buffer_bytes);
    call->placeholders.push_back({call->arguments[i].offset, at});
    at += RoundUp(all_[i].buffer_bytes);
  }
  launched_ = true;
  return Ok();
}

SharedTable<KernelArguments, HandleKind::kKernelArguments>& KernelArgumentLists() {
  static auto& table = *new SharedTable<KernelArguments, HandleKind::kKernelArguments>;
  return table;
}

void* AddKernelArguments(std::shared_ptr<KernelArguments> list) {
  // The ABI has no call that ends a list, and a program may make one for each launch.
  constexpr size_t kMany = 4096;
  if (KernelArgumentLists().size() >= kMany) {
    size_t left = kMany / 2;
    KernelArgumentLists().RemoveIf([&](const KernelArguments& one) {
      if (left == 0 || !one.was_launched()) return false;
      --left;
      return true;
    });
  }
  return KernelArgumentLists().Add(std::move(list));
}

}  // namespace millpond
