// SPDX-License-Identifier: Apache-2.0
// Reads what dumps wrote, as tools of the vendor's do: eight bytes with a length, a message of dump_data.proto, the
// tensors' bytes.
#ifndef MILLPOND_TESTS_ACL_DUMP_FILES_H_
#define MILLPOND_TESTS_ACL_DUMP_FILES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace acl_test {

struct DumpedTensor {
  uint64_t type = 0;
  std::vector<uint64_t> shape, original;
  std::vector<float> values;
};

struct DumpFile {
  std::string folder;  // below the path that was asked for, without the time
  std::string name;    // "Add.aclnnAdd": the type and the name
  std::string op_name;
  std::vector<DumpedTensor> inputs, outputs;
};

// A protobuf message, one field after the other.
class Message {
 public:
  explicit Message(std::string bytes) : bytes_(std::move(bytes)) {}
  bool Next() {
    if (at_ >= bytes_.size()) return false;
    const uint64_t tag = Varint();
    field = tag >> 3;
    if ((tag & 7) == 0) {
      number = Varint();
    } else {
      const uint64_t size = Varint();
      text = bytes_.substr(at_, size);
      at_ += size;
    }
    return true;
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  bool AtEnd() const { return at_ >= bytes_.size(); }

  uint64_t field = 0;
  uint64_t number = 0;
  std::string text;

 private:
  std::string bytes_;
  size_t at_ = 0;
};

inline DumpedTensor ReadDumpedTensor(const std::string& bytes, uint64_t size_field, uint64_t* size) {
  DumpedTensor tensor;
  Message message(bytes);
  while (message.Next()) {
    if (message.field == 1) tensor.type = message.number;
    if (message.field == size_field) *size = message.number;
    if (message.field != 3 && message.field != size_field + 1) continue;
    Message shape(message.text);
    while (shape.Next()) {
      Message dims(shape.text);
      while (!dims.AtEnd()) (message.field == 3 ? tensor.shape : tensor.original).push_back(dims.Varint());
    }
  }
  return tensor;
}

inline DumpFile ReadDumpFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  DumpFile file;
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  Message message(bytes.substr(sizeof length, length));
  std::vector<uint64_t> in_sizes, out_sizes;
  while (message.Next()) {
    if (message.field == 6) file.op_name = message.text;
    if (message.field != 3 && message.field != 4) continue;
    const bool out = message.field == 3;
    uint64_t size = 0;
    (out ? file.outputs : file.inputs).push_back(ReadDumpedTensor(message.text, out ? 6 : 5, &size));
    (out ? out_sizes : in_sizes).push_back(size);
  }
  size_t at = sizeof length + length;
  for (auto [tensors, sizes] : {std::pair{&file.inputs, &in_sizes}, std::pair{&file.outputs, &out_sizes}}) {
    for (size_t i = 0; i < tensors->size(); ++i) {
      (*tensors)[i].values.resize((*sizes)[i] / sizeof(float));
      std::memcpy((*tensors)[i].values.data(), bytes.data() + at, (*sizes)[i]);
      at += (*sizes)[i];
    }
  }
  if (at != bytes.size()) file.op_name = "the file has another length than its description says";
  return file;
}

// A folder for one test, and the files that are in it, in the order of their paths.
class DumpFolder {
 public:
  DumpFolder() {
    const char* const parent = std::getenv("TMPDIR");
    std::string text = std::string(parent != nullptr ? parent : "/tmp") + "/millpond_dump_XXXXXX";
    path_ = mkdtemp(text.data());
  }
  ~DumpFolder() { std::filesystem::remove_all(path_); }
  DumpFolder(const DumpFolder&) = delete;
  DumpFolder& operator=(const DumpFolder&) = delete;

  const std::string& path() const { return path_; }
  // Writes {"dump": {"dump_path": <this folder>, <more>}}, and tells where.
  std::string Config(const std::string& more) const {
    const std::string file = path_ + ".json";
    std::ofstream(file) << R"({"dump": {"dump_path": ")" << path_ << "\", " << more << "}}";
    return file;
  }
  std::vector<DumpFile> Files() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<DumpFile> files;
    for (const auto& path : paths) {
      files.push_back(ReadDumpFile(path));
      const std::string folder = path.parent_path().string().substr(path_.size() + 1);
      files.back().folder = folder.substr(folder.find('/') + 1);
      const std::string name = path.filename().string();
      files.back().name = name.substr(0, name.find('.', name.find('.') + 1));
    }
    return files;
  }

 private:
  std::string path_;
};

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_DUMP_FILES_H_
