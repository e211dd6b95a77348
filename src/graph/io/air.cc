// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/air.h"

#include <unistd.h>

#include <cstdlib>

#include "src/graph/io/files.h"
#include "src/graph/io/ge_ir.h"

namespace millpond::io {

namespace {

// Adds the folder to a bare name; others are unchanged.
std::string InWorkFolder(const std::string& file_name) {
  if (file_name.find('/') != std::string_view::npos) return file_name;
  const char* folder = std::getenv("ASCEND_WORK_PATH");
  if (folder == nullptr || *folder == '\0') return file_name;
  return std::string(folder) + '/' + file_name;
}

}  // namespace

Status SaveAir(const ir::Graph& graph, const std::string& file_name) {
  MP_REQUIRE(!file_name.empty() && file_name.back() != '/',
             "graph \"%s\" was to be saved to \"%s\", which names no file", graph.name.c_str(), file_name.c_str());
  std::string bytes;
  MP_RETURN_IF_ERROR(WriteModel(graph, &bytes));
  return WriteFile(InWorkFolder(file_name), bytes, files::Survives::kPowerLoss);
}

Status LoadAir(const std::string& file_name, ir::GraphPtr* out) {
  MP_REQUIRE(!file_name.empty(), "a graph was to be loaded from a file without a name");
  const bool is_here = access(file_name.c_str(), F_OK) == 0;
  FileBytes file;
  MP_RETURN_IF_ERROR(ReadFile(is_here ? file_name : InWorkFolder(file_name), &file));
  Status status = ReadModel(file.bytes, file.keep, out);
  if (status.ok()) return status;
  return std::move(status).Prefixed(Format("\"%s\"", file_name.c_str()));
}

}  // namespace millpond::io
