// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/wire.h"

#include <bit>
#include <cstring>

namespace millpond::wire {

static_assert(std::endian::native == std::endian::little, "fixed-width fields are copied as they stand");

namespace {

constexpr uint64_t kMaxNumber = (uint64_t{1} << 29) - 1;

size_t VarintSize(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kVarint:
      return "a varint";
    case Kind::kFixed64:
      return "8 fixed bytes";
    case Kind::kBytes:
      return "length-delimited";
    case Kind::kFixed32:
      return "4 fixed bytes";
  }
  return "unknown";
}

// pre: a whole number of them
template <class Number>
void AppendBytes(std::span<const std::byte> bytes, std::vector<Number>* out) {
  const size_t before = out->size();
  out->resize(before + bytes.size() / sizeof(Number));
  if (!bytes.empty()) std::memcpy(out->data() + before, bytes.data(), bytes.size());
}

}  // namespace

bool Reader::Fail(const char* what) {
  status_ = Status(Code::kParseFile, Format("not a serialised graph: byte %zu: %s", offset(), what));
  rest_ = {};
  return false;
}

bool Reader::Varint(uint64_t* out) {
  uint64_t value = 0;
  for (size_t i = 0; i < 10; ++i) {
    if (i == rest_.size()) return Fail("the input ends within a varint");
    const auto byte = static_cast<uint64_t>(rest_[i]);
    if (i == 9 && byte > 1) return Fail("a varint is longer than 64 bits");
    value |= (byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      rest_ = rest_.subspan(i + 1);
      *out = value;
      return true;
    }
  }
  return Fail("a varint is longer than 10 bytes");
}

bool Reader::Next(Field* out) {
  if (rest_.empty()) return false;
  uint64_t tag;
  if (!Varint(&tag)) return false;
  if (tag >> 3 == 0 || tag >> 3 > kMaxNumber) return Fail("a field has an invalid number");
  out->number = static_cast<uint32_t>(tag >> 3);
  out->bits = 0;
  out->bytes = {};
  uint64_t length = 0;
  switch (tag & 7) {
    case 0:
      out->kind = Kind::kVarint;
      return Varint(&out->bits);
    case 1:
      out->kind = Kind::kFixed64;
      length = 8;
      break;
    case 2:
      out->kind = Kind::kBytes;
      if (!Varint(&length)) return false;
      break;
    case 5:
      out->kind = Kind::kFixed32;
      length = 4;
      break;
    default:
      return Fail("a field is of a kind that proto3 does not have");
  }
  if (length > rest_.size()) return Fail("a field is longer than the rest of its message");
  const std::span<const std::byte> bytes = rest_.first(static_cast<size_t>(length));
  rest_ = rest_.subspan(static_cast<size_t>(length));
  if (out->kind == Kind::kBytes) {
    out->bytes = bytes;
  } else {
    std::memcpy(&out->bits, bytes.data(), bytes.size());
  }
  return true;
}

Status Reader::Wrong(const Field& field, const char* what) const {
  return {Code::kParseFile, Format("not a serialised graph: before byte %zu: field %u is %s where %s was expected",
                                   offset(), field.number, NameOf(field.kind), what)};
}

Status Reader::Text(const Field& field, std::string* out) const {
  if (field.kind != Kind::kBytes) return Wrong(field, "text");
  out->assign(field.text());
  return Ok();
}

Status Reader::Int(const Field& field, int64_t* out) const {
  if (field.kind != Kind::kVarint) return Wrong(field, "a varint");
  *out = static_cast<int64_t>(field.bits);
  return Ok();
}

Status Reader::Bool(const Field& field, bool* out) const {
  if (field.kind != Kind::kVarint) return Wrong(field, "a varint");
  *out = field.bits != 0;
  return Ok();
}

Status Reader::Float(const Field& field, float* out) const {
  if (field.kind != Kind::kFixed32) return Wrong(field, "4 fixed bytes");
  *out = std::bit_cast<float>(static_cast<uint32_t>(field.bits));
  return Ok();
}

namespace {

// A repeated field that is not packed: one value.
template <class T>
Status Append(const Reader& reader, Status (Reader::*read)(const Field&, T*) const, const Field& field,
              std::vector<T>* out) {
  T value{};
  MP_RETURN_IF_ERROR((reader.*read)(field, &value));
  out->push_back(value);
  return Ok();
}

}  // namespace

Status Reader::Ints(const Field& field, std::vector<int64_t>* out) const {
  if (field.kind != Kind::kBytes) return Append(*this, &Reader::Int, field, out);
  Reader packed(field.bytes);
  packed.origin_ = origin_;
  uint64_t value{};
  while (!packed.rest_.empty() && packed.Varint(&value)) out->push_back(static_cast<int64_t>(value));
  return packed.status();
}

Status Reader::Bools(const Field& field, std::vector<bool>* out) const {
  std::vector<int64_t> values;
  MP_RETURN_IF_ERROR(Ints(field, &values));
  for (const int64_t value : values) out->push_back(value != 0);
  return Ok();
}

Status Reader::Floats(const Field& field, std::vector<float>* out) const {
  if (field.kind != Kind::kBytes) return Append(*this, &Reader::Float, field, out);
  if (field.bytes.size() % sizeof(float) != 0) return Wrong(field, "a whole number of floats");
  AppendBytes(field.bytes, out);
  return Ok();
}

Status Reader::Doubles(const Field& field, std::vector<double>* out) const {
  if (field.kind == Kind::kFixed64) {
    out->push_back(std::bit_cast<double>(field.bits));
    return Ok();
  }
  if (field.kind != Kind::kBytes || field.bytes.size() % sizeof(double) != 0) {
    return Wrong(field, "a whole number of doubles");
  }
  AppendBytes(field.bytes, out);
  return Ok();
}

Status Reader::Enter(const Field& field, Reader* out) const {
  if (field.kind != Kind::kBytes) return Wrong(field, "a message");
  MP_CHECK(depth_ < kMaxDepth, kParseFile, "not a serialised graph: before byte %zu: messages nest deeper than %d",
           offset(), kMaxDepth);
  out->origin_ = origin_;
  out->rest_ = field.bytes;
  out->depth_ = depth_ + 1;
  out->status_ = Ok();
  return Ok();
}

Status Writer::Write(const Body& body, std::string* out) {
  Writer writer;
  MP_RETURN_IF_ERROR(body(&writer));
  const size_t before = out->size();
  out->reserve(before + writer.size_);
  writer.out_ = out;
  const uint64_t measured = std::exchange(writer.size_, 0);
  Status status = body(&writer);
  if (!status.ok() || writer.size_ != measured) {
    out->resize(before);
    if (!status.ok()) return status;
    return InternalError(Format("a message measured as %zu bytes was written as %zu: the graph changed meanwhile",
                                static_cast<size_t>(measured), static_cast<size_t>(writer.size_)));
  }
  return Ok();
}

void Writer::Raw(const void* bytes, size_t size) {
  size_ += size;
  if (out_ != nullptr) out_->append(static_cast<const char*>(bytes), size);
}

void Writer::Varint(uint64_t value) {
  if (out_ == nullptr) {
    size_ += VarintSize(value);
    return;
  }
  char bytes[10];
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
  bytes[size++] = static_cast<char>(value);
  Raw(bytes, size);
}

void Writer::IntAlways(uint32_t number, int64_t value) {
  Tag(number, Kind::kVarint);
  Varint(static_cast<uint64_t>(value));
}

void Writer::FloatAlways(uint32_t number, float value) {
  Tag(number, Kind::kFixed32);
  Raw(&value, sizeof value);
}

void Writer::TextAlways(uint32_t number, std::string_view text) {
  Tag(number, Kind::kBytes);
  Varint(text.size());
  Raw(text.data(), text.size());
}

void Writer::PackedInts(uint32_t number, std::span<const int64_t> values) {
  if (values.empty()) return;
  uint64_t size = 0;
  for (const int64_t value : values) size += VarintSize(static_cast<uint64_t>(value));
  Tag(number, Kind::kBytes);
  Varint(size);
  for (const int64_t value : values) Varint(static_cast<uint64_t>(value));
}

void Writer::PackedFloats(uint32_t number, std::span<const float> values) {
  if (values.empty()) return;
  Tag(number, Kind::kBytes);
  Varint(values.size_bytes());
  Raw(values.data(), values.size_bytes());
}

void Writer::PackedBools(uint32_t number, const std::vector<bool>& values) {
  if (values.empty()) return;
  Tag(number, Kind::kBytes);
  Varint(values.size());
  for (const bool value : values) Varint(value ? 1 : 0);
}

Status Writer::Begin(uint32_t number, size_t* out_slot) {
  MP_REQUIRE(depth_ < kMaxDepth,
             "the graph cannot be written: attributes and graphs within them nest deeper than %d messages; does one "
             "hold itself?",
             kMaxDepth);
  ++depth_;
  if (out_ == nullptr) {
    *out_slot = sizes_.size();
    // The size so far, until End makes it the size of this message. The tag is counted before, the length at the end.
    Tag(number, Kind::kBytes);
    sizes_.push_back(size_);
    return Ok();
  }
  MP_CHECK(next_size_ < sizes_.size(), kInternal, "the graph changed while it was written");
  *out_slot = next_size_++;
  Tag(number, Kind::kBytes);
  Varint(sizes_[*out_slot]);
  return Ok();
}

void Writer::End(size_t slot) {
  --depth_;
  if (out_ != nullptr) return;
  sizes_[slot] = size_ - sizes_[slot];
  Varint(sizes_[slot]);
}

}  // namespace millpond::wire
