// SPDX-License-Identifier: Apache-2.0
#include "src/comm/rank_table.h"

#include <nlohmann/json.hpp>
#include <set>

#include "src/base/files.h"

namespace millpond::comm {

namespace {

using nlohmann::json;

constexpr uint64_t kMaxBytes = 64 * 1024 * 1024;

const json* Member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found != object.end() ? &*found : nullptr;
}

const json* List(const json& object, const char* key) {
  const json* list = Member(object, key);
  return list != nullptr && list->is_array() ? list : nullptr;
}

// The devices of every server in `servers`, each under `key`.
Status CountDevices(const char* path, const json& servers, const char* key, size_t* ranks, std::set<std::string>* ids) {
  for (const json& server : servers) {
    const json* devices = List(server, key);
    MP_CHECK(devices != nullptr, kParseFile, "[EI0017] a server in the rank table '%s' has no list \"%s\"", path, key);
    *ranks += devices->size();
    const json* id = Member(server, "server_id");
    ids->insert(id != nullptr ? id->dump() : std::to_string(ids->size()));
  }
  return Ok();
}

}  // namespace

Status ReadRankTable(const char* path, RankTable* out_table) {
  MP_RETURN_IF_ERROR(files::Read(path, "the rank table", kMaxBytes, &out_table->text));
  const json root = json::parse(out_table->text, nullptr, /*allow_exceptions=*/false);
  MP_CHECK(root.is_object(), kParseFile, "[EI0004] the rank table '%s' is not a JSON object", path);
  if (const json* status = Member(root, "status"); status != nullptr) {
    MP_CHECK(*status == "completed", kParseFile,
             "[EI0014] the rank table '%s' has \"status\" %s; it is \"completed\" when all ranks are listed", path,
             status->dump().c_str());
  }
  size_t ranks = 0;
  std::set<std::string> servers;
  if (const json* list = List(root, "rank_list")) {
    ranks = list->size();
  } else if (const json* listed = List(root, "server_list")) {
    MP_RETURN_IF_ERROR(CountDevices(path, *listed, "device", &ranks, &servers));
  } else if (const json* groups = List(root, "group_list")) {
    for (const json& group : *groups) {
      const json* instances = List(group, "instance_list");
      MP_CHECK(instances != nullptr, kParseFile, "[EI0017] a group in the rank table '%s' has no \"instance_list\"",
               path);
      MP_RETURN_IF_ERROR(CountDevices(path, *instances, "devices", &ranks, &servers));
    }
  } else {
    return {Code::kParseFile,
            Format("[EI0017] the rank table '%s' has neither \"server_list\", \"rank_list\" nor \"group_list\"", path)};
  }
  MP_CHECK(ranks > 0 && ranks <= UINT32_MAX, kParseFile, "[EI0014] the rank table '%s' names no rank", path);
  out_table->ranks = static_cast<uint32_t>(ranks);
  out_table->servers = servers.empty() ? 1 : static_cast<uint32_t>(servers.size());
  return Ok();
}

}  // namespace millpond::comm
