// SPDX-License-Identifier: Apache-2.0
// Internals of the reader; the public header is onnx_model.h.
#ifndef MILLPOND_SRC_GRAPH_IO_ONNX_READ_H_
#define MILLPOND_SRC_GRAPH_IO_ONNX_READ_H_

#include <map>
#include <string>

#include "src/graph/io/files.h"
#include "src/graph/io/onnx_model.h"
#include "src/graph/io/wire.h"

namespace millpond::onnx {

// External data files: each opened once, only below the model's folder, never through a symbolic link.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}
  // `length` < 0: up to the end of the file.
  Status Read(const std::string& location, int64_t offset, int64_t length, ir::Bytes* out);

 private:
  Status Open(const std::string& location, const io::FileBytes** out);
  std::string folder_;
  std::map<std::string, io::FileBytes> files_;
};

class ModelReader {
 public:
  explicit ModelReader(const ReadOptions& options) : keep_(options.keep), files_(options.folder) {}

  Status Model(wire::Reader* reader, onnx::Model* out);
  // Of constants in the file so far.
  size_t raw_bytes() const { return raw_bytes_; }

 private:
  Status Graph(wire::Reader* reader, onnx::Graph* out);
  Status Node(wire::Reader* reader, onnx::Node* out);
  Status Nodes(const wire::Reader& outer, const wire::Field& field, std::vector<onnx::Node>* out);
  Status Attr(wire::Reader* reader, Attribute* out);
  Status AttrField(const wire::Reader& reader, const wire::Field& field, Attribute* out);
  Status Value(wire::Reader* reader, ValueInfo* out);
  Status Type(wire::Reader* reader, ValueInfo* out);
  Status TensorType(wire::Reader* reader, ValueInfo* out);
  Status Dim(wire::Reader* reader, ir::Dims* out);
  Status Function(wire::Reader* reader, onnx::Function* out);
  Status Opset(wire::Reader* reader, Opsets* out);
  // onnx_read_tensor.cc
  Status Tensor(wire::Reader* reader, std::string* out_name, ir::TensorPtr* out);

  std::shared_ptr<const void> keep_;
  ExternalFiles files_;
  size_t raw_bytes_ = 0;
};

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_IO_ONNX_READ_H_
