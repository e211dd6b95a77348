// SPDX-License-Identifier: Apache-2.0
#include "src/api/acl/rt/device/init_config.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "src/api/common/message.h"
#include "src/base/cann_options.h"
#include "src/base/files.h"
#include "src/base/format.h"
#include "src/base/log.h"

namespace millpond::acl {

namespace {

using nlohmann::json;

constexpr uint64_t kMaxBytes = 10 * 1024 * 1024;
constexpr int kMaxDepth = 10;  // documented, for braces and for brackets

// Braces and brackets are counted in the text, as documented, but not inside strings.
Status CheckDepth(const char* path, const std::string& text) {
  int braces = 0, brackets = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      braces += (c == '{') - (c == '}');
      brackets += (c == '[') - (c == ']');
      deepest = std::max({deepest, braces, brackets});
    }
  }
  MP_CHECK(deepest <= kMaxDepth, kParseFile, "the configuration file '%s' nests %d levels deep; at most %d", path,
           deepest, kMaxDepth);
  return Ok();
}

// Numbers may be written as numbers or as decimal strings ("0").
std::optional<int64_t> Number(const json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_string()) return ParseInt(value.get_ref<const std::string&>());
  return std::nullopt;
}

// One key of the file, "group.key" within a group, as the table of options has it. What is unknown is logged once.
Status CheckKey(const std::string& key, const json& value) {
  const cann::Option* const option = cann::Find(cann::Door::kInit, key);
  if (option != nullptr) return cann::Accept(*option, value.is_string() ? value.get<std::string>() : value.dump());
  if (std::string line; cann::FirstTimeUnknown(cann::Door::kInit, key, &line)) {
    log::Write(log::Level::kWarning, log::kAscendCl, line);
  }
  return Ok();
}

Status CheckKeys(const json& root) {
  for (const auto& [name, value] : root.items()) {
    const bool group = name == "dump" || name == "profiler" || name == "defaultDevice" || name == "StackSize";
    if (!group) {
      MP_RETURN_IF_ERROR(CheckKey(name, value));
      continue;
    }
    MP_CHECK(value.is_object(), kParseFile, "\"%s\" should be an object", name.c_str());
    for (const auto& [inner, inner_value] : value.items()) {
      MP_RETURN_IF_ERROR(CheckKey(Format("%s.%s", name.c_str(), inner.c_str()), inner_value));
    }
  }
  return Ok();
}

Status ParseDefaultDevice(const json& root, InitConfig* config) {
  const auto found = root.find("defaultDevice");
  if (found == root.end()) return Ok();
  const auto value = found->find("default_device");
  if (value == found->end()) return Ok();
  const auto number = Number(*value);
  MP_REQUIRE(number && *number >= 0 && *number <= INT32_MAX, "\"default_device\" is %s; expected a device id from 0",
             value->dump().c_str());
  config->default_device = static_cast<int32_t>(*number);
  return Ok();
}

Status ParseLimits(const json& root, InitConfig* config) {
  struct Row {
    const char* parent;  // null: the key is at the top
    const char* key;
    aclrtDeviceLimit limit;
  };
  static constexpr Row kRows[] = {
      {"StackSize", "aicore_stack_size", ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE},
      {"StackSize", "simt_stack_size", ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE},
      {"StackSize", "simt_divergence_stack_size", ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE},
      {nullptr, "simt_printf_fifo_size", ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE},
      {nullptr, "simd_printf_fifo_size_per_core", ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE},
  };
  for (const Row& row : kRows) {
    const json* object = &root;
    if (row.parent != nullptr) {
      const auto parent = root.find(row.parent);
      if (parent == root.end()) continue;
      object = &*parent;
    }
    const auto value = object->find(row.key);
    if (value == object->end()) continue;
    const auto number = Number(*value);
    MP_REQUIRE(number && *number >= 0, "\"%s\" is %s; expected a size in bytes", row.key, value->dump().c_str());
    config->limits.emplace_back(row.limit, static_cast<size_t>(*number));
  }
  return Ok();
}

Status ParseMessageMode(const json& root, InitConfig* config) {
  const auto found = root.find("err_msg_mode");
  if (found == root.end()) return Ok();
  const auto mode = Number(*found);
  MP_REQUIRE(mode && (*mode == 0 || *mode == 1), "\"err_msg_mode\" is %s; expected \"0\" (thread) or \"1\" (process)",
             found->dump().c_str());
  config->process_messages = *mode == 1;
  return Ok();
}

// A string, one of `known` ('|' between them), or the first of them.
Status ParseWord(const json& object, const char* key, std::initializer_list<const char*> known, std::string* out) {
  *out = object.value(key, json(*known.begin())).is_string() ? object.value(key, *known.begin()) : "";
  const auto same = [&](const char* word) { return *out == word; };
  MP_REQUIRE(std::any_of(known.begin(), known.end(), same), "\"%s\" is %s; expected \"%s\" or the like", key,
             object[key].dump().c_str(), *known.begin());
  return Ok();
}

Status ParseDumpedModel(const json& entry, dump::Settings* settings) {
  MP_REQUIRE(entry.is_object(), "\"dump_list\" has %s among its models; expected an object", entry.dump().c_str());
  const json name = entry.value("model_name", json());
  const json layers = entry.value("layer", json::array());
  if (name.is_null() && layers.empty()) return Ok();  // {}: operators alone, as the page has it
  MP_REQUIRE(name.is_string(), "\"model_name\" is %s; expected the name of a model", name.dump().c_str());
  MP_REQUIRE(layers.is_array(), "\"layer\" is %s; expected names of operators", layers.dump().c_str());
  std::set<std::string>& wanted = settings->models[name.get<std::string>()];
  for (const json& layer : layers) {
    MP_REQUIRE(layer.is_string(), "\"layer\" has %s; expected the name of an operator", layer.dump().c_str());
    wanted.insert(layer.get<std::string>());
  }
  return Ok();
}

void TellThatNothingIsDumped() {
  static std::once_flag said;
  std::call_once(said, [] {
    log::Write(log::Level::kWarning, log::kAscendCl,
               "\"dump\" has a path or a list and turns nothing on: that takes models by name in its \"dump_list\", or "
               "\"dump_op_switch\": \"on\" (said once)");
  });
}

Status ParseDump(const json& root, InitConfig* config) {
  const auto found = root.find("dump");
  if (found == root.end()) return Ok();
  dump::Settings settings;
  std::string mode;
  std::string alone;
  MP_RETURN_IF_ERROR(ParseWord(*found, "dump_mode", {"output", "input", "all"}, &mode));
  MP_RETURN_IF_ERROR(ParseWord(*found, "dump_op_switch", {"off", "on"}, &alone));
  settings.inputs = mode != "output";
  settings.outputs = mode != "input";
  settings.operators = alone == "on";
  const json models = found->value("dump_list", json::array());
  MP_REQUIRE(models.is_array(), "\"dump_list\" is %s; expected a list of models", models.dump().c_str());
  for (const json& model : models) MP_RETURN_IF_ERROR(ParseDumpedModel(model, &settings));
  if (!settings.operators && settings.models.empty()) {
    if (found->contains("dump_list") || found->contains("dump_path")) TellThatNothingIsDumped();
    return Ok();
  }
  const json path = found->value("dump_path", json());
  MP_REQUIRE(path.is_string() && !path.get_ref<const std::string&>().empty(),
             "\"dump_path\" is %s; expected the folder that the files go to", path.dump().c_str());
  settings.path = path.get<std::string>();
  config->dump = std::move(settings);
  return Ok();
}

}  // namespace

Status ReadInitConfig(const char* path, InitConfig* out_config) {
  InitConfig config;
  if (path != nullptr && *path != 0) {
    MP_RETURN_IF_ERROR(files::Read(path, "the configuration file", kMaxBytes, &config.text));
    MP_RETURN_IF_ERROR(CheckDepth(path, config.text));
    const json root = json::parse(config.text, nullptr, /*allow_exceptions=*/false);
    MP_CHECK(root.is_object(), kParseFile, "the configuration file '%s' is not a JSON object; \"{}\" asks for nothing",
             path);
    const std::string where = Format("the configuration file '%s'", path);
    Status status = CheckKeys(root);
    if (status.ok()) status = ParseDefaultDevice(root, &config);
    if (status.ok()) status = ParseLimits(root, &config);
    if (status.ok()) status = ParseMessageMode(root, &config);
    if (status.ok()) status = ParseDump(root, &config);
    if (!status.ok()) return std::move(status).Prefixed(where);
  }
  *out_config = std::move(config);
  return Ok();
}

}  // namespace millpond::acl
