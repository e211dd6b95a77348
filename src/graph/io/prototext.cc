// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/prototext.h"

#include <algorithm>
#include <cmath>

#include "src/graph/io/wire.h"

namespace millpond::io {

using wire::Field;
using wire::Reader;

namespace {

// Length of the UTF-8 sequence that starts here; 0 when none does.
size_t Utf8Length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (first >= 0xf5 || length == 0 || length > text.size()) return 0;
  const bool whole = std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length),
                                 [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
  return whole ? length : 0;
}

std::string FloatText(float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return Format("%.9g", static_cast<double>(value));
}

class Printer {
 public:
  explicit Printer(std::string* out) : out_(out) {}

  Status Message(const MessageSchema& schema, Reader* reader, int indent) {
    Field field;
    while (reader->Next(&field)) {
      const auto known = std::find_if(schema.fields.begin(), schema.fields.end(),
                                      [&](const FieldSchema& candidate) { return candidate.number == field.number; });
      if (known != schema.fields.end()) MP_RETURN_IF_ERROR(One(*known, *reader, field, indent));
    }
    return reader->status();
  }

 private:
  Status One(const FieldSchema& schema, const Reader& reader, const Field& field, int indent) {
    switch (schema.kind) {
      case FieldSchema::Kind::kMessage: {
        Reader inner({});
        MP_RETURN_IF_ERROR(reader.Enter(field, &inner));
        Line(indent, schema.name, " {\n");
        MP_RETURN_IF_ERROR(Message(*schema.message, &inner, indent + 1));
        Line(indent, "}", "\n");
        return Ok();
      }
      case FieldSchema::Kind::kText: {
        std::string text;
        MP_RETURN_IF_ERROR(reader.Text(field, &text));
        Value(indent, schema.name, QuotedText(text));
        return Ok();
      }
      case FieldSchema::Kind::kFloat: {
        std::vector<float> values;
        MP_RETURN_IF_ERROR(reader.Floats(field, &values));
        for (const float value : values) Value(indent, schema.name, FloatText(value));
        return Ok();
      }
      case FieldSchema::Kind::kInt:
      case FieldSchema::Kind::kBool:
      case FieldSchema::Kind::kEnum: {
        std::vector<int64_t> values;
        MP_RETURN_IF_ERROR(reader.Ints(field, &values));
        for (const int64_t value : values) Value(indent, schema.name, NumberText(schema, value));
        return Ok();
      }
    }
    return Ok();
  }

  static std::string NumberText(const FieldSchema& schema, int64_t value) {
    if (schema.kind == FieldSchema::Kind::kBool) return value != 0 ? "true" : "false";
    if (schema.kind == FieldSchema::Kind::kEnum && value >= 0 && static_cast<size_t>(value) < schema.words.size()) {
      return schema.words[static_cast<size_t>(value)];
    }
    return std::to_string(value);
  }

  void Line(int indent, const char* text, const char* end) {
    out_->append(static_cast<size_t>(indent) * 2, ' ').append(text).append(end);
  }
  void Value(int indent, const char* name, const std::string& value) {
    Line(indent, name, ": ");
    out_->append(value).append("\n");
  }

  std::string* out_;
};

}  // namespace

std::string QuotedText(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    size_t used = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else if (const size_t length = Utf8Length(text); length > 0) {
      out += text.substr(0, length);
      used = length;
    } else {
      out += Format("\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    text.remove_prefix(used);
  }
  return out + '"';
}

Status PrintMessage(const MessageSchema& schema, std::span<const std::byte> message, std::string* out) {
  Reader reader(message);
  return Printer(out).Message(schema, &reader, 0);
}

}  // namespace millpond::io
