// SPDX-License-Identifier: Apache-2.0
#include "src/base/json.h"

#include <utility>

#include "src/base/enum_name.h"
#include "src/base/format.h"
#include "src/device/capture/graph_task.h"
#include "src/device/device.h"

namespace millpond::capture {

namespace {

// In the order of TaskKind and of trace::Mode.
constexpr const char* kKinds[] = {"kernel",        "copy",        "set",         "event_record",  "event_wait",
                                  "event_reset",   "value_write", "value_wait",  "notify_record", "notify_wait",
                                  "host_function", "callback",    "conditional", "other"};
constexpr const char* kModes[] = {"read", "write", "read_write"};

std::string List(const std::vector<uint32_t>& numbers) {
  std::string out = "[";
  for (const uint32_t number : numbers) out += Format("%s%u", out.size() > 1 ? "," : "", number);
  return out + "]";
}

std::string Accesses(const TaskSlot& slot) {
  std::string out = "[";
  for (const trace::Access& access : slot.evidence.accesses()) {
    const std::string rows =
        access.rows > 1 ? Format(",\"rows\":%u,\"pitch\":%zu", access.rows, access.pitch) : std::string();
    out += Format("%s{\"address\":\"%p\",\"bytes\":%zu%s,\"mode\":\"%s\"}", out.size() > 1 ? "," : "", access.address,
                  access.bytes, rows.c_str(), EnumName(kModes, access.mode));
  }
  return out + "]";
}

// Records and waits are named after their event: torch_npu pairs them by what follows the last underscore.
std::string NameOf(const Node& info) {
  if (info.event == nullptr) return info.name;
  const auto event = reinterpret_cast<uintptr_t>(info.event);
  switch (info.kind) {
    case TaskKind::kEventRecord:
      return Format("EVENT_RECORD_%zx", event);
    case TaskKind::kEventWait:
      return Format("EVENT_WAIT_%zx", event);
    case TaskKind::kEventReset:
      return Format("EVENT_RESET_%zx", event);
    default:
      return info.name;
  }
}

std::string NodeJson(const Graph& graph, uint32_t node, const TaskSlot* slot, bool verbose) {
  const Node& info = graph.nodes()[node];
  const Lane& lane = graph.lanes()[graph.shape().lane_of[node]];
  std::string args =
      Format("\"model_id\":%u,\"stream_id\":%d,\"task_id\":%u,\"task_type\":\"%s\",\"after\":%s", graph.id(),
             lane.stream_id, node, EnumName(kKinds, info.kind), List(graph.shape().after[node]).c_str());
  if (info.event != nullptr) {
    args += Format(",\"event\":\"%p\",\"external\":%s", info.event, info.external ? "true" : "false");
  }
  if (info.disabled) args += ",\"disabled\":true";
  if (verbose && slot != nullptr) args += ",\"accesses\":" + Accesses(*slot);
  return Format("{\"name\":%s,\"ph\":\"X\",\"pid\":%u,\"tid\":\"stream%d\",\"ts\":%u,\"dur\":1,\"args\":{%s}}",
                JsonQuoted(NameOf(info)).c_str(), graph.id(), lane.stream_id, node, args.c_str());
}

}  // namespace

// A list of events and nothing around it, each with a duration, and none on a stream but tasks: torch_npu's
// NPUGraph.debug_dump goes on from it, and draws the arrows. Here an order is said by "after".
std::string ToJson(const Graph& graph, const std::string& name, bool verbose) {
  const std::string shown = name.empty() ? Format("model %u", graph.id()) : name;
  std::string out = Format(
      "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,\"ts\":0,\"dur\":0,\"args\":{\"name\":%s,\"device_id\":%d,"
      "\"tasks\":%zu,\"streams\":%zu}}",
      graph.id(), JsonQuoted(shown).c_str(), graph.device()->id(), graph.nodes().size(), graph.lanes().size());
  for (uint32_t node = 0; node < graph.nodes().size(); ++node) {
    out += ",\n" + NodeJson(graph, node, graph.slot_or_null(node), verbose);
  }
  return out + "\n]\n";
}

std::string ToText(const Graph& graph, const std::string& name) {
  std::string out = Format("model %u%s%s on device %d: %zu tasks on %zu streams\n", graph.id(), name.empty() ? "" : " ",
                           name.c_str(), graph.device()->id(), graph.nodes().size(), graph.lanes().size());
  for (uint32_t node = 0; node < graph.nodes().size(); ++node) {
    const Node& info = graph.nodes()[node];
    out += Format("  task %u stream %d %s (%s)", node, graph.lanes()[graph.shape().lane_of[node]].stream_id, info.name,
                  EnumName(kKinds, info.kind));
    if (!graph.shape().after[node].empty()) out += " after " + List(graph.shape().after[node]);
    out += info.disabled ? " disabled\n" : "\n";
  }
  return out;
}

}  // namespace millpond::capture
