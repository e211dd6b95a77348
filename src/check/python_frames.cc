// SPDX-License-Identifier: Apache-2.0
#include "src/check/python_frames.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string_view>

namespace millpond::check {

namespace {

template <class T>
T At(const void* object, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + offset, sizeof(value));
  return value;
}

// From CPython's public headers of these versions, x86-64 and aarch64: the same there. What most of them have in common
// is PythonLayout's own default; a row says where a version differs.
constexpr PythonLayout kLayouts[] = {
    {.version = "3.10.",
     .frame_holder = 24,
     .holder_is_frame = true,
     .code = 32,
     .previous = 24,
     .instruction = 96,
     .instruction_is_index = true,
     .file = 104,
     .name = 112,
     .characters = 48},
    {.version = "3.11.", .current = 8, .code = 32, .previous = 48, .bytecode = 184, .characters = 48},
    {.version = "3.12.", .owner = 70, .bytecode = 192},
    {.version = "3.13.", .frame_holder = 72, .holder_is_frame = true, .owner = 70, .bytecode = 200},
};
constexpr uint8_t kOwnedByInterpreter = 3;  // a frame that stands between two runs of the interpreter, not a function's
constexpr int kCodeUnit = 2;                // bytes

// The same of memory that may not be there any more.
template <class T>
bool Peek(const void* object, size_t offset, T* out_value) {
  iovec to{out_value, sizeof(T)};
  iovec from{static_cast<char*>(const_cast<void*>(object)) + offset, sizeof(T)};  // NOLINT: it is only read
  return object != nullptr && process_vm_readv(getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(sizeof(T));
}

// What torch calls to have gradients computed, and returns from when they are.
constexpr std::string_view kBackward = "_engine_run_backward";

// What the state of a str says.
bool IsCompact(uint32_t state) { return (state >> 5 & 1) != 0; }
bool IsAscii(uint32_t state) { return (state >> 6 & 1) != 0; }
uint32_t CharacterBytes(uint32_t state) { return state >> 2 & 7; }

void AppendUtf8(uint32_t character, std::string* text) {
  const auto add = [&](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
  const auto rest = [&](int shift) { add(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xC0 | character >> 6);
    rest(0);
  } else if (character < 0x10000) {
    add(0xE0 | character >> 12);
    rest(6);
    rest(0);
  } else {
    add(0xF0 | (character >> 18 & 7));
    rest(12);
    rest(6);
    rest(0);
  }
}

// A str: length, then state bits, then the characters behind a header, which is longer where some are not ASCII (by the
// length and the address of its UTF-8, and before 3.12 by one length more).
std::string TextOf(const void* text, const void* text_type, size_t characters) {
  if (text == nullptr || At<const void*>(text, 8) != text_type) return "?";
  const auto length = At<int64_t>(text, 16);
  const auto state = At<uint32_t>(text, 32);
  if (!IsCompact(state) || length < 0 || length > 4096) return "(a name that cannot be read)";
  if (IsAscii(state)) return {static_cast<const char*>(text) + characters, static_cast<size_t>(length)};
  const size_t begin = characters + (characters == 48 ? 24 : 16);
  std::string utf8;
  for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
    const size_t bytes = CharacterBytes(state);
    AppendUtf8(bytes == 1   ? At<uint8_t>(text, begin + i)
               : bytes == 2 ? At<uint16_t>(text, begin + 2 * i)
                            : At<uint32_t>(text, begin + 4 * i),
               &utf8);
  }
  return utf8;
}

uint64_t Mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 29;
}

// How long a text is and how it ends, without reading all of it.
uint64_t EndOf(const void* text, const void* text_type, size_t characters) {
  if (text == nullptr || At<const void*>(text, 8) != text_type) return 0;
  const auto state = At<uint32_t>(text, 32);
  if (!IsCompact(state) || !IsAscii(state)) return 0;
  const auto length = At<uint64_t>(text, 16);
  // A short one has the end of its header before it.
  return Mixed(length, length <= 4096 ? At<uint64_t>(text, characters + length - sizeof(uint64_t)) : 0);
}

}  // namespace

const PythonLayout* PythonLayoutOf(const char* version) {
  // A build without the GIL has other structures under the same number.
  if (std::strstr(version, "free-threading") != nullptr) return nullptr;
  const auto* const found = std::find_if(std::begin(kLayouts), std::end(kLayouts), [&](const PythonLayout& layout) {
    return std::strncmp(version, layout.version, std::strlen(layout.version)) == 0;
  });
  return found == std::end(kLayouts) ? nullptr : found;
}

bool PythonFrames::Find() {
  const auto find = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
  auto* const initialized = reinterpret_cast<int (*)()>(find("Py_IsInitialized"));
  if (initialized == nullptr) {
    looked_ = looks_ > 1 << 16;
    return false;
  }
  if (initialized() == 0) return false;
  looked_ = true;
  auto* const version = reinterpret_cast<const char* (*)()>(find("Py_GetVersion"));
  this_thread_ = reinterpret_cast<void* (*)()>(find("PyGILState_GetThisThreadState"));
  line_of_ = reinterpret_cast<int (*)(void*, int)>(find("PyCode_Addr2Line"));
  code_type_ = find("PyCode_Type");
  text_type_ = find("PyUnicode_Type");
  if (version == nullptr || this_thread_ == nullptr || line_of_ == nullptr || code_type_ == nullptr ||
      text_type_ == nullptr) {
    return false;
  }
  layout_ = PythonLayoutOf(version());
  if (layout_ == nullptr) {
    const std::string_view text = version();
    unread_version_ = text.substr(0, text.find(' '));
  }
  return layout_ != nullptr;
}

uint32_t PythonFrames::Read() {
  if (layout_ == nullptr && !Find()) return 0;
  const void* const thread = this_thread_();
  if (thread == nullptr) return 0;
  const void* frame = At<const void*>(thread, layout_->frame_holder);
  if (!layout_->holder_is_frame && frame != nullptr) frame = At<const void*>(frame, layout_->current);
  const uint32_t number = ReadFrom(frame);
  if (number == 0) return 0;
  ++reads_;
  if (threads_.empty() || threads_.back() != thread) {
    std::erase(threads_, thread);
    if (threads_.size() == kThreads) threads_.erase(threads_.begin());
    threads_.push_back(thread);
  }
  return number;
}

const void* PythonFrames::InnermostOf(const void* thread) const {
  const void* frame = nullptr;
  if (!Peek(thread, layout_->frame_holder, &frame)) return nullptr;
  if (!layout_->holder_is_frame && !Peek(frame, layout_->current, &frame)) return nullptr;
  for (size_t i = 0; layout_->owner != 0 && i < kMaxFrames; ++i) {
    uint8_t owner = 0;
    if (!Peek(frame, layout_->owner, &owner)) return nullptr;
    if (owner != kOwnedByInterpreter) break;
    if (!Peek(frame, layout_->previous, &frame)) return nullptr;
  }
  return frame;
}

bool PythonFrames::WaitsForBackward(const void* frame) const {
  const void *code = nullptr, *type = nullptr, *name = nullptr;
  if (!Peek(frame, layout_->code, &code) || !Peek(code, 8, &type) || type != code_type_) return false;
  if (!Peek(code, layout_->name, &name) || !Peek(name, 8, &type) || type != text_type_) return false;
  int64_t length = 0;
  std::array<char, kBackward.size()> text{};
  return Peek(name, 16, &length) && length == static_cast<int64_t>(kBackward.size()) &&
         Peek(name, layout_->characters, &text) && std::string_view(text.data(), text.size()) == kBackward;
}

uint32_t PythonFrames::FindBackward() {
  const void* waiting = nullptr;
  for (const void* thread : threads_) {
    const void* const frame = InnermostOf(thread);
    if (!WaitsForBackward(frame)) continue;
    if (waiting != nullptr) return 0;
    waiting = frame;
  }
  return waiting != nullptr ? ReadFrom(waiting) : 0;
}

uint32_t PythonFrames::ReadFrom(const void* frame) {
  Place places[kMaxFrames];
  size_t count = 0;
  uint64_t hash = 0;
  for (; frame != nullptr && count < kMaxFrames; frame = At<const void*>(frame, layout_->previous)) {
    if (layout_->owner != 0 && At<uint8_t>(frame, layout_->owner) == kOwnedByInterpreter) continue;
    const auto* const code = At<const char*>(frame, layout_->code);
    // Not a frame as this version has them: better none than nonsense.
    if (code == nullptr || At<const void*>(code, 8) != code_type_) break;
    const int offset =
        layout_->instruction_is_index
            ? At<int>(frame, layout_->instruction) * kCodeUnit
            : static_cast<int>(At<const char*>(frame, layout_->instruction) - (code + layout_->bytecode));
    const uint64_t stamp = StampOf(code, count < kThorough);
    places[count++] = {code, offset, stamp};
    hash = Mixed(hash, reinterpret_cast<uint64_t>(code) ^ static_cast<uint64_t>(offset) ^ stamp);
  }
  if (count == 0) return 0;
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const std::vector<Place>& known = places_[at->second];
    if (known.size() == count && std::equal(known.begin(), known.end(), places)) return at->second;
  }
  // The texts are taken now: the code may be gone when somebody asks.
  std::vector<PythonFrame> frames;
  frames.reserve(count);
  for (size_t i = 0; i < count; ++i) frames.push_back(Describe(places[i]));
  const auto number = static_cast<uint32_t>(places_.size());
  places_.emplace_back(places, places + count);
  stacks_.push_back(std::move(frames));
  by_hash_.emplace(hash, number);
  return number;
}

// Functions that a program compiles while it runs are freed again, and the next one is at their address.
uint64_t PythonFrames::StampOf(const char* code, bool thorough) const {
  const auto* const file = At<const char*>(code, layout_->file);
  const auto* const name = At<const char*>(code, layout_->name);
  // Behind the object's type: how much code it is, or of how many arguments.
  const uint64_t stamp =
      At<uint64_t>(code, 16) ^ reinterpret_cast<uint64_t>(file) ^ reinterpret_cast<uint64_t>(name) << 1;
  if (!thorough) return stamp;
  return Mixed(Mixed(stamp, EndOf(file, text_type_, layout_->characters)),
               EndOf(name, text_type_, layout_->characters));
}

PythonFrame PythonFrames::Describe(const Place& place) const {
  return {TextOf(At<const void*>(place.code, layout_->name), text_type_, layout_->characters),
          TextOf(At<const void*>(place.code, layout_->file), text_type_, layout_->characters),
          line_of_(const_cast<char*>(place.code), place.offset)};
}

}  // namespace millpond::check
