// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, read and written by hand: torch loads its own libprotobuf into the process, and two cannot
// coexist in one. The reader trusts nothing: every length is compared with what is left, and nesting is bounded.
//
#ifndef MILLPOND_SRC_GRAPH_IO_WIRE_H_
#define MILLPOND_SRC_GRAPH_IO_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace millpond::wire {

enum class Kind : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// As libprotobuf's own default.
inline constexpr int kMaxDepth = 100;

class Reader;

// One field, as in the input.
struct Field {
  uint32_t number = 0;
  Kind kind = Kind::kVarint;
  uint64_t bits = 0;                 // of a number
  std::span<const std::byte> bytes;  // of a length-delimited field: a part of the input

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// The fields of one message, in order. Every getter fails when the field is of another kind.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> message) : origin_(message.data()), rest_(message) {}

  // False at the end, and on malformed input; status() tells them apart.
  bool Next(Field* out);
  Status status() { return std::move(status_); }

  Status Text(const Field& field, std::string* out) const;
  Status Int(const Field& field, int64_t* out) const;
  Status Bool(const Field& field, bool* out) const;
  Status Float(const Field& field, float* out) const;
  // Repeated numbers, one (unpacked) or many (packed) in this field, appended to the output.
  Status Ints(const Field& field, std::vector<int64_t>* out) const;
  Status Bools(const Field& field, std::vector<bool>* out) const;
  Status Floats(const Field& field, std::vector<float>* out) const;
  Status Doubles(const Field& field, std::vector<double>* out) const;
  // The message within this field; fails beyond kMaxDepth.
  Status Enter(const Field& field, Reader* out) const;

  // The error for a field of the wrong kind.
  Status Wrong(const Field& field, const char* what) const;

 private:
  bool Fail(const char* what);
  bool Varint(uint64_t* out);
  size_t offset() const { return static_cast<size_t>(rest_.data() - origin_); }

  const std::byte* origin_;  // of the outermost message, for positions in errors
  std::span<const std::byte> rest_;
  int depth_ = 0;
  Status status_;
};

// Writes a message in two passes of the same code: the first measures, so that lengths are known up front and large
// data is copied once.
class Writer {
 public:
  using Body = std::function<Status(Writer*)>;
  // Whether the bytes of constants are written; a dump may omit them.
  bool with_data = true;
  // Appends to `out` what `body` writes.
  static Status Write(const Body& body, std::string* out);

  // Zeros and empty strings are omitted, as in proto3; the Always variants write them (oneofs, repeated).
  void Int(uint32_t number, int64_t value) {
    if (value != 0) IntAlways(number, value);
  }
  void IntAlways(uint32_t number, int64_t value);
  void Bool(uint32_t number, bool value) { Int(number, value ? 1 : 0); }
  void FloatAlways(uint32_t number, float value);
  void Text(uint32_t number, std::string_view text) {
    if (!text.empty()) TextAlways(number, text);
  }
  void TextAlways(uint32_t number, std::string_view text);
  void PackedInts(uint32_t number, std::span<const int64_t> values);
  void PackedFloats(uint32_t number, std::span<const float> values);
  void PackedBools(uint32_t number, const std::vector<bool>& values);
  // Fails beyond kMaxDepth, so that everything written can be read.
  template <class Inner>
  Status Message(uint32_t number, const Inner& inner) {
    size_t slot = 0;
    MP_RETURN_IF_ERROR(Begin(number, &slot));
    MP_RETURN_IF_ERROR(inner());
    End(slot);
    return Ok();
  }

 private:
  Writer() = default;
  Status Begin(uint32_t number, size_t* out_slot);
  void End(size_t slot);
  void Tag(uint32_t number, Kind kind) { Varint(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(kind)); }
  void Varint(uint64_t value);
  void Raw(const void* bytes, size_t size);

  std::string* out_ = nullptr;  // null: measuring
  uint64_t size_ = 0;           // so far
  std::vector<uint64_t> sizes_;
  size_t next_size_ = 0;
  int depth_ = 0;
};

}  // namespace millpond::wire

#endif  // MILLPOND_SRC_GRAPH_IO_WIRE_H_
