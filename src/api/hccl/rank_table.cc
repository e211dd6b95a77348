// SPDX-License-Identifier: Apache-2.0
#include "src/api/hccl/rank_table.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace millpond::hccl {

namespace {

using nlohmann::json;

constexpr uintmax_t kMostBytes = 64 * 1024 * 1024;

const json* Member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found != object.end() ? &*found : nullptr;
}

}  // namespace

Status CountRanks(const char* path, uint32_t* out_ranks) {
  std::error_code error;
  MP_CHECK(std::filesystem::is_regular_file(path, error), kInvalidFile,
           "the rank table '%s' does not exist or is no file", path);
  MP_CHECK(std::filesystem::file_size(path, error) <= kMostBytes && !error, kInvalidFile,
           "the rank table '%s' is larger than %ju bytes", path, kMostBytes);
  std::ifstream file(path, std::ios::binary);
  MP_CHECK(file.good(), kInvalidFile, "the rank table '%s' cannot be read", path);
  const json root = json::parse(file, nullptr, /*allow_exceptions=*/false);
  MP_CHECK(root.is_object(), kParseFile, "the rank table '%s' is not a JSON object", path);

  size_t ranks = 0;
  if (const json* list = Member(root, "rank_list"); list != nullptr && list->is_array()) {
    ranks = list->size();
  } else if (const json* servers = Member(root, "server_list"); servers != nullptr && servers->is_array()) {
    for (const json& server : *servers) {
      const json* devices = Member(server, "device");
      MP_CHECK(devices != nullptr && devices->is_array(), kParseFile,
               "a server in the rank table '%s' has no list \"device\"", path);
      ranks += devices->size();
    }
  } else {
    return Status(Code::kParseFile, Format("the rank table '%s' has neither \"server_list\" nor \"rank_list\"", path));
  }
  MP_CHECK(ranks > 0 && ranks <= UINT32_MAX, kParseFile, "the rank table '%s' names no rank", path);
  *out_ranks = static_cast<uint32_t>(ranks);
  return Ok();
}

}  // namespace millpond::hccl
