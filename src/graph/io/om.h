// SPDX-License-Identifier: Apache-2.0
// `.om` files, in our own format: written by atc and aclgrphBuildModel, read by aclmdlLoadFrom* and aclopLoad. The
// vendor's `.om` files hold code for its hardware; they are recognised and refused.
//
// A file is a header, a table of sections, and the sections, each at a multiple of 64 bytes. All numbers are
// little-endian.
//     0  "MPNDOM\r\n"       8  version (u32)      12  kind (u32, OmKind)
//    16  file size (u64)                          24  checksum over all bytes, with itself as 0 (u64)
//    32  number of sections (u32)                 36  0 (u32)
//    40  for each section: type (u32), 0 (u32), offset (u64), bytes (u64)
// Sections of a model or a single operator: info (a message of protobuf's wire format, see om.cc) and graph (a ModelDef
// of ge_ir.proto, the weights within). Sections of a bundle: models, each a complete `.om`.
//
// Nothing in a file is trusted before it is checked: sizes against the file, the checksum against the bytes, and the
// contents by each section's reader.
#ifndef MILLPOND_SRC_GRAPH_IO_OM_H_
#define MILLPOND_SRC_GRAPH_IO_OM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::io {

enum class OmKind : uint32_t { kModel = 1, kBundle = 2, kSingleOp = 3 };

inline constexpr uint32_t kOmVersion = 1;

// Shapes fixed when the model was built; each run chooses one.
inline constexpr size_t kMaxGears = 100;
struct OmGears {
  enum class Kind : uint8_t { kNone = 0, kBatch = 1, kImage = 2, kDims = 3 };
  Kind kind = Kind::kNone;
  // By gear. Batch: {n}. Image: {height, width}. Dims: a number for each unknown dimension, inputs in order.
  std::vector<std::vector<int64_t>> values;
};

struct OmModel {
  std::string name;
  std::map<std::string, std::string, std::less<>> options;  // build options
  std::vector<std::string> output_names;                    // by output, as clients look them up
  OmGears gears;
  ir::GraphPtr graph;
};

// One operator, as `atc --singleop` and aclopCompile describe it. An absent optional operand has DType::kUndefined. An
// input with a fixed value (a "const_value") carries it as the TensorPtr attribute `kConstValue` of its description.
struct OmSingleOp {
  std::string type;
  std::vector<ir::TensorDesc> inputs;   // `name` is the operand's, or empty if unspecified
  std::vector<ir::TensorDesc> outputs;  // dims -1 and `range` where the shape is not fixed
  ir::Attributes attributes;
};
inline constexpr char kConstValue[] = "const_value";

// Checks header, sizes and checksum. kParseFile: not an `.om`, truncated or damaged; kUnsupported: a vendor's file,
// or an unknown version.
Status CheckOm(std::span<const std::byte> file, OmKind* out_kind);

Status WriteOm(const OmModel& model, std::string* out);
Status WriteOm(const OmSingleOp& op, std::string* out);
Status WriteOmBundle(std::span<const std::string> models, std::string* out);

// Constants refer to `file` as long as `keep` is not null; else they are copied. Each fails for a file of another kind
// and names that kind.
Status ReadOm(std::span<const std::byte> file, std::shared_ptr<const void> keep, OmModel* out);
Status ReadOm(std::span<const std::byte> file, std::shared_ptr<const void> keep, OmSingleOp* out);
// The parts of `file` that are models. Each is checked when it is read.
Status ReadOmBundle(std::span<const std::byte> file, std::vector<std::span<const std::byte>>* out_models);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_OM_H_
