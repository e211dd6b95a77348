// SPDX-License-Identifier: Apache-2.0
#include "src/api/acl/init_config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "src/api/acl/message.h"
#include "src/base/format.h"
#include "src/base/log.h"

namespace millpond::acl {

namespace {

using nlohmann::json;

constexpr uintmax_t kMostBytes = 10 * 1024 * 1024;
constexpr int kMostDepth = 10;  // documented, for braces and for brackets

Status ReadFile(const char* path, std::string* out_text) {
  std::error_code error;
  MP_CHECK(std::filesystem::is_regular_file(path, error), kInvalidFile, "the configuration file '%s' does not exist",
           path);
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  MP_CHECK(!error && bytes <= kMostBytes, kInvalidFile, "the configuration file '%s' has %ju bytes; at most %ju", path,
           bytes, kMostBytes);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  MP_CHECK(file.good(), kInvalidFile, "the configuration file '%s' cannot be read", path);
  *out_text = std::move(text).str();
  return Ok();
}

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
  MP_CHECK(deepest <= kMostDepth, kParseFile, "the configuration file '%s' nests %d levels deep; at most %d", path,
           deepest, kMostDepth);
  return Ok();
}

// Numbers may be written as numbers or as decimal strings ("0").
std::optional<int64_t> Number(const json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_string()) return ParseInt(value.get_ref<const std::string&>());
  return std::nullopt;
}

std::string Text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Status ParseDump(const json& root) {
  const auto found = root.find("dump");
  if (found == root.end()) return Ok();
  MP_CHECK(found->is_object(), kParseFile, "\"dump\" should be an object");
  for (const char* key : {"dump_list", "dump_kernel_data", "dump_stats"}) {
    MP_CHECK(!found->contains(key), kUnsupported,
             "the configuration asks for \"%s\": operator data is not dumped by this release; remove it, or run with a "
             "trace (millpond run --trace FILE)",
             key);
  }
  MP_CHECK(Text(*found, "dump_debug") != "on" && Text(*found, "dump_op_switch") != "on", kUnsupported,
           "the configuration turns dumping on; operator data is not dumped by this release: remove it");
  const std::string scene = Text(*found, "dump_scene");
  MP_CHECK(scene != "watcher", kUnsupported,
           "the configuration asks for the dump scene \"watcher\", which this release does not have");
  static constexpr const char* kScenes[] = {"", "lite_exception", "aic_err_brief_dump", "aic_err_norm_dump",
                                            "aic_err_detail_dump"};
  MP_REQUIRE(std::find(std::begin(kScenes), std::end(kScenes), scene) != std::end(kScenes),
             "\"dump_scene\" is \"%s\"; known: lite_exception, aic_err_brief_dump, aic_err_norm_dump, "
             "aic_err_detail_dump",
             scene.c_str());
  if (!scene.empty()) {
    // Frameworks ship this in their default file. It acts only when an AI Core faults, and there is none to fault.
    log::Write(log::Level::kInfo, log::kAscendCl, "dump_scene " + scene + ": no AI Core, so there is nothing to dump");
  }
  return Ok();
}

Status ParseProfiler(const json& root) {
  const auto found = root.find("profiler");
  if (found == root.end()) return Ok();
  MP_CHECK(found->is_object(), kParseFile, "\"profiler\" should be an object");
  MP_CHECK(Text(*found, "switch") != "on", kUnsupported,
           "the configuration turns the profiler on, which this release does not have; use a trace instead "
           "(millpond run --trace FILE)");
  return Ok();
}

Status ParseDefaultDevice(const json& root, InitConfig* config) {
  const auto found = root.find("defaultDevice");
  if (found == root.end()) return Ok();
  MP_CHECK(found->is_object(), kParseFile, "\"defaultDevice\" should be an object");
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
      MP_CHECK(parent->is_object(), kParseFile, "\"%s\" should be an object", row.parent);
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

}  // namespace

Status ReadInitConfig(const char* path, InitConfig* out_config) {
  InitConfig config;
  if (path != nullptr && *path != 0) {
    MP_RETURN_IF_ERROR(ReadFile(path, &config.text));
    MP_RETURN_IF_ERROR(CheckDepth(path, config.text));
    const json root = json::parse(config.text, nullptr, /*allow_exceptions=*/false);
    MP_CHECK(root.is_object(), kParseFile, "the configuration file '%s' is not a JSON object; \"{}\" asks for nothing",
             path);
    const std::string where = Format("the configuration file '%s'", path);
    Status status = ParseDump(root);
    if (status.ok()) status = ParseProfiler(root);
    if (status.ok()) status = ParseDefaultDevice(root, &config);
    if (status.ok()) status = ParseLimits(root, &config);
    if (status.ok()) status = ParseMessageMode(root, &config);
    if (!status.ok()) return std::move(status).Prefixed(where);
  }
  *out_config = std::move(config);
  return Ok();
}

}  // namespace millpond::acl
