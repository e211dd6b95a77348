// SPDX-License-Identifier: Apache-2.0
// A protobuf message as text. A table names its fields, so that one binary writer serves both files and dumps.
#ifndef MILLPOND_SRC_GRAPH_IO_PROTOTEXT_H_
#define MILLPOND_SRC_GRAPH_IO_PROTOTEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace millpond::io {

struct MessageSchema;

struct FieldSchema {
  enum class Kind : uint8_t { kInt, kBool, kFloat, kText, kEnum, kMessage };
  uint32_t number;
  const char* name;
  Kind kind;
  const MessageSchema* message = nullptr;   // of a message
  std::span<const char* const> words = {};  // of an enumeration, by number
};

struct MessageSchema {
  std::span<const FieldSchema> fields;
};

// Fields that are not in the schema are omitted.
Status PrintMessage(const MessageSchema& schema, std::span<const std::byte> message, std::string* out);

// Quoted, with C escapes, as in prototext. Valid UTF-8 is kept.
std::string QuotedText(std::string_view text);

// ge.proto.ModelDef.
const MessageSchema& ModelSchema();
// onnx.ModelProto, as far as dumps use it.
const MessageSchema& OnnxSchema();

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_PROTOTEXT_H_
