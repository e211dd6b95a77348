// SPDX-License-Identifier: Apache-2.0
#include "src/comm/rank_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "src/base/files.h"
#include "src/base/format.h"

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

std::string Text(const json& object, const char* key) {
  const json* member = Member(object, key);
  if (member == nullptr) return {};
  return member->is_string() ? member->get<std::string>() : member->dump();
}

bool IsAddress(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

std::optional<uint32_t> RankOf(const json& object) {
  const std::optional<int64_t> parsed = ParseInt(Text(object, "rank_id"));
  if (!parsed || *parsed < 0 || *parsed > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*parsed);
}

// A server's address, for others to reach: what the table says of the host comes before what it says of its cards.
std::string AddressOf(const json& server, const json& device) {
  for (const std::string& text : {Text(server, "host_ip"), Text(server, "server_id"), Text(device, "device_ip")}) {
    if (IsAddress(text)) return text;
  }
  return {};
}

struct Listed {
  size_t ranks = 0;
  std::map<std::string, uint32_t> servers;  // their numbers, by id
  std::map<uint32_t, RankTable::Seat> seats;
};

// The devices of every server in `servers`, each under `key`.
Status ListDevices(const char* path, const json& servers, const char* key, Listed* listed) {
  for (const json& server : servers) {
    const json* devices = List(server, key);
    MP_CHECK(devices != nullptr, kParseFile, "[EI0017] a server in the rank table '%s' has no list \"%s\"", path, key);
    listed->ranks += devices->size();
    const json* id = Member(server, "server_id");
    const auto number = static_cast<uint32_t>(listed->servers.size());
    const auto own = listed->servers.try_emplace(id != nullptr ? id->dump() : std::to_string(number), number).first;
    for (const json& device : *devices) {
      std::optional<uint32_t> rank = RankOf(device);
      if (!rank) rank = RankOf(server);  // the old template
      if (!rank) continue;               // counts where there are several servers
      const int64_t port = ParseInt(Text(device, "host_port")).value_or(0);
      listed->seats[*rank] = {own->second, AddressOf(server, device),
                              port > 0 && port <= UINT16_MAX ? static_cast<uint32_t>(port) : 0};
    }
  }
  return Ok();
}

// Version 2.0 names no servers: its ranks are on this host.
Status ListRanks(const char* path, const json& root, const json& ranks, Listed* listed) {
  listed->ranks = ranks.size();
  const std::string count = Text(root, "rank_count");
  MP_CHECK(count.empty() || ParseInt(count) == static_cast<int64_t>(ranks.size()), kParseFile,
           "[EI0014] the rank table '%s' has \"rank_count\" %s, and its \"rank_list\" has %zu entries", path,
           count.c_str(), ranks.size());
  for (const json& entry : ranks) {
    if (const std::optional<uint32_t> rank = RankOf(entry)) listed->seats[*rank] = {};
  }
  return Ok();
}

// Ranks that are numbered are all there. With several servers they must know where each of them is, and where to meet;
// on one, tables of the old template may leave the numbers out.
Status CheckSeats(const char* path, const Listed& listed) {
  const bool several = listed.servers.size() > 1;
  if (!several && listed.seats.empty()) return Ok();
  for (uint32_t rank = 0; rank < listed.ranks; ++rank) {
    MP_CHECK(listed.seats.contains(rank), kParseFile,
             "[EI0014] the rank table '%s' lists %zu ranks, and none of them has the \"rank_id\" %u; they are numbered "
             "from 0, each once",
             path, listed.ranks, rank);
  }
  MP_CHECK(!several || !listed.seats.at(0).address.empty(), kParseFile,
           "[EI0017] the rank table '%s' has several servers, and no IP address for that of rank 0: give its server a "
           "\"host_ip\", an address as \"server_id\", or its device a \"device_ip\"",
           path);
  return Ok();
}

}  // namespace

Status ReadRankTable(const char* path, RankTable* out_table) {
  std::string text;
  MP_RETURN_IF_ERROR(files::Read(path, "the rank table", kMaxBytes, &text));
  return ParseRankTable(std::move(text), path, out_table);
}

Status ParseRankTable(std::string text, const char* path, RankTable* out_table) {
  out_table->text = std::move(text);
  const json root = json::parse(out_table->text, nullptr, /*allow_exceptions=*/false);
  MP_CHECK(root.is_object(), kParseFile, "[EI0004] the rank table '%s' is not a JSON object", path);
  if (const json* status = Member(root, "status"); status != nullptr) {
    MP_CHECK(*status == "completed", kParseFile,
             "[EI0014] the rank table '%s' has \"status\" %s; it is \"completed\" when all ranks are listed", path,
             status->dump().c_str());
  }
  Listed listed;
  if (const json* list = List(root, "rank_list")) {
    MP_RETURN_IF_ERROR(ListRanks(path, root, *list, &listed));
  } else if (const json* servers = List(root, "server_list")) {
    MP_RETURN_IF_ERROR(ListDevices(path, *servers, "device", &listed));
  } else if (const json* groups = List(root, "group_list")) {
    for (const json& group : *groups) {
      const json* instances = List(group, "instance_list");
      MP_CHECK(instances != nullptr, kParseFile, "[EI0017] a group in the rank table '%s' has no \"instance_list\"",
               path);
      MP_RETURN_IF_ERROR(ListDevices(path, *instances, "devices", &listed));
    }
  } else {
    return {Code::kParseFile,
            Format("[EI0017] the rank table '%s' has neither \"server_list\", \"rank_list\" nor \"group_list\"", path)};
  }
  MP_CHECK(listed.ranks > 0 && listed.ranks <= UINT32_MAX, kParseFile, "[EI0014] the rank table '%s' names no rank",
           path);
  MP_RETURN_IF_ERROR(CheckSeats(path, listed));
  out_table->ranks = static_cast<uint32_t>(listed.ranks);
  out_table->servers = listed.servers.empty() ? 1 : static_cast<uint32_t>(listed.servers.size());
  out_table->seats = std::move(listed.seats);
  return Ok();
}

}  // namespace millpond::comm
