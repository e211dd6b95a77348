// SPDX-License-Identifier: Apache-2.0
#include "tools/atc/flags.h"

#include <algorithm>

#include "src/base/cann_options.h"

namespace atc {

namespace cann = millpond::cann;

namespace {

// The options of a build that the flags become; the others are read by atc itself, or do nothing.
struct BuildKey {
  std::string_view flag;
  const char* key;
};
constexpr BuildKey kBuildKeys[] = {
    {"input_shape", "input_shape"},
    {"input_shape_range", "input_shape_range"},
    {"input_format", "input_format"},
    {"dynamic_batch_size", "ge.dynamicBatchSize"},
    {"dynamic_image_size", "ge.dynamicImageSize"},
    {"dynamic_dims", "ge.dynamicDims"},
    {"out_nodes", "ge.outputNodeName"},
    {"input_fp16_nodes", "ge.INPUT_NODES_SET_FP16"},
    {"output_type", "ge.outputDatatype"},
    {"insert_op_conf", "ge.insertOpFile"},
    {"precision_mode", "ge.exec.precision_mode"},
    {"precision_mode_v2", "ge.exec.precision_mode_v2"},
    {"disable_reuse_memory", "ge.exec.disableReuseMemory"},
    {"oo_constant_folding", "ge.oo.constantFolding"},
    {"oo_dead_code_elimination", "ge.oo.deadCodeElimination"},
    {"oo_level", "ge.oo.level"},
};

std::string Unknown(const std::string& name) {
  const std::string nearest(cann::Nearest(cann::Door::kAtc, name));
  std::string text = "there is no option --" + name;
  if (!nearest.empty()) text += "; did you mean --" + nearest + "?";
  return text + " (atc --help lists them)";
}

std::string NoValue(const std::string& name) { return "--" + name + " has no value; write --" + name + "=VALUE"; }

// Empty when the option may have this value.
std::string WhatIsWrong(const cann::Option& option, const std::string& name, const std::string& value) {
  if (!cann::WrongValue(option, value).empty()) {
    return "--" + name + "=" + value + " is not possible; it takes " + std::string(option.values);
  }
  if (value.empty()) return NoValue(name);
  if (const char* const reason = cann::Refusal(option, value); reason != nullptr) {
    return "--" + name + "=" + value + " is not supported: " + reason;
  }
  return {};
}

// Rows of that treatment, as a paragraph of names.
std::string Names(cann::Treatment treatment) {
  std::string text = " ";
  size_t column = 1;
  for (const cann::Option& option : cann::Options(cann::Door::kAtc)) {
    if (option.treatment != treatment || !option.quiet.empty()) continue;
    if (column + option.key.size() + 3 > 110) {
      text += "\n ";
      column = 1;
    }
    text += " --" + std::string(option.key);
    column += option.key.size() + 3;
  }
  return text + "\n";
}

}  // namespace

const char* BuildKeyOf(std::string_view flag) {
  for (const BuildKey& row : kBuildKeys) {
    if (row.flag == flag) return row.key;
  }
  return nullptr;
}

std::string Parse(int count, char** arguments, Values* out) {
  for (int i = 0; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "-h" || argument == "--h") {
      (*out)["help"] = "1";
      continue;
    }
    if (!argument.starts_with("--") || argument.size() == 2) {
      return "\"" + std::string(argument) + "\" is not an option; options are written --name=value";
    }
    const size_t equals = argument.find('=');
    const std::string name(argument.substr(2, equals == std::string_view::npos ? equals : equals - 2));
    const cann::Option* const option = cann::Find(cann::Door::kAtc, name);
    if (option == nullptr) return Unknown(name);
    std::string value;
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (name == "help") {
      value = "1";
    } else if (i + 1 < count && !std::string_view(arguments[i + 1]).starts_with("--")) {
      value = arguments[++i];
    } else {
      return NoValue(name);
    }
    std::string wrong = WhatIsWrong(*option, name, value);
    if (!wrong.empty()) return wrong;
    if (!out->emplace(name, value).second) return "--" + name + " is there twice";
  }
  return {};
}

std::string HelpText() {
  std::string text = "Usage: atc --model=FILE --framework=5 --output=FILE --soc_version=NAME [options]\n\n";
  for (const cann::Option& option : cann::Options(cann::Door::kAtc)) {
    const bool partly =
        option.treatment == cann::Treatment::kRefused && option.quiet.find('|') != std::string_view::npos;
    if (option.treatment != cann::Treatment::kHonoured && !partly) continue;
    std::string name = "  --" + std::string(option.key);
    name.resize(std::max<size_t>(name.size() + 2, 24), ' ');
    text += name + std::string(option.reason) + "\n";
    if (!option.values.empty() && option.values.size() < 60) {
      text += std::string(24, ' ') + "one of " + std::string(partly ? option.quiet : option.values) + "\n";
    }
  }
  text += "\nAccepted without effect, because they steer an NPU's compiler:\n" + Names(cann::Treatment::kHarmless);
  return text + "\nRefused, with the reason:\n" + Names(cann::Treatment::kRefused);
}

}  // namespace atc
