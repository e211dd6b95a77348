// SPDX-License-Identifier: Apache-2.0
#include "tools/atc/flags.h"

#include <algorithm>
#include <vector>

namespace atc {

namespace {

constexpr char kPrecision[] =
    "force_fp16|force_fp32|cube_fp16in_fp32out|cube_hif8|mixed_hif8|allow_fp32_to_fp16|allow_mix_precision|"
    "allow_mix_precision_fp16|allow_mix_precision_bf16|allow_fp32_to_bf16|must_keep_origin_dtype";
constexpr char kPrecisionV2[] = "fp16|origin|cube_fp16in_fp32out|mixed_float16|mixed_bfloat16|cube_hif8|mixed_hif8";

constexpr Flag kFlags[] = {
    {"model", nullptr, nullptr, "the file to build from"},
    {"framework", nullptr, "0|1|3|5",
     "what it is: 5 ONNX, 1 AIR (a serialised graph); 0 Caffe and 3 TensorFlow are refused"},
    {"output", nullptr, nullptr, "the file to write, \".om\" is added; with --singleop a folder"},
    {"soc_version", "ge.socVersion", nullptr,
     "the device's name, such as Ascend910B3; recorded, the model runs on any"},
    {"input_shape", "input_shape", nullptr, "\"name:1,3,224,224;other:-1,1~8\": -1 and low~high are open"},
    {"input_shape_range", "input_shape_range", nullptr, "\"name:[1~8,3,-1]\"; older form of the same"},
    {"input_format", "input_format", "ND|NCHW|NHWC|NCDHW|NDHWC", "how images lie"},
    {"dynamic_batch_size", "ge.dynamicBatchSize", nullptr, "\"1,2,4\": sizes for a first dimension of -1"},
    {"dynamic_image_size", "ge.dynamicImageSize", nullptr, "\"224,224;448,448\": heights and widths of -1"},
    {"dynamic_dims", "ge.dynamicDims", nullptr, "\"1,224;8,448\": a number for each -1"},
    {"out_nodes", "ge.outputNodeName", nullptr, "\"node:0;other:1\": these are the outputs"},
    {"input_fp16_nodes", "ge.INPUT_NODES_SET_FP16", nullptr, "\"x;y\": these inputs are fed as float16"},
    {"output_type", "ge.outputDatatype", nullptr, "FP32, FP16, UINT8, INT8 for all outputs; or \"node:0:FP16;...\""},
    {"precision_mode", "ge.exec.precision_mode", kPrecision, "checked; types stay as the model has them"},
    {"precision_mode_v2", "ge.exec.precision_mode_v2", kPrecisionV2, "the same in newer words"},
    {"disable_reuse_memory", "ge.exec.disableReuseMemory", "0|1", "1: every value has memory of its own"},
    {"singleop", nullptr, nullptr, "a JSON file that describes operators, instead of --model"},
    {"mode", nullptr, "0|1|3|5|6|30", "0 build (default), 3 only read the model, 6 tell what an .om holds"},
    {"om", nullptr, nullptr, "the .om that --mode=6 looks at"},
    {"log", nullptr, "debug|info|warning|error|null", "how much is logged to the screen"},
    {"help", nullptr, nullptr, "this text"},
    // Refused: they ask for something that would not be done.
    {"insert_op_conf", "ge.insertOpFile", nullptr, nullptr},
    {"external_weight", "ge.externalWeight", "0|1|2", nullptr},
    {"weight", nullptr, nullptr, nullptr},
    {"json", nullptr, nullptr, nullptr},
    // Without effect here: they steer how an NPU's compiler works.
    {"ac_parallel_enable", nullptr, "0|1", nullptr},
    {"aicore_num", nullptr, nullptr, nullptr},
    {"allow_hf32", nullptr, "true|false", nullptr},
    {"auto_tune_mode", nullptr, nullptr, nullptr},
    {"buffer_optimize", nullptr, "l1_optimize|l2_optimize|off_optimize|l1_and_l2_optimize", nullptr},
    {"check_report", nullptr, nullptr, nullptr},
    {"compress_weight_conf", nullptr, nullptr, nullptr},
    {"compression_optimize_conf", nullptr, nullptr, nullptr},
    {"core_type", nullptr, "AiCore|VectorCore", nullptr},
    {"customize_dtypes", nullptr, nullptr, nullptr},
    {"debug_dir", nullptr, nullptr, nullptr},
    {"deterministic", nullptr, "0|1", nullptr},
    {"display_model_info", nullptr, "0|1", nullptr},
    {"dump_mode", nullptr, "0|1", nullptr},
    {"enable_compress_weight", nullptr, "true|false", nullptr},
    {"enable_scope_fusion_passes", nullptr, nullptr, nullptr},
    {"enable_single_stream", nullptr, "true|false", nullptr},
    {"enable_small_channel", nullptr, "0|1", nullptr},
    {"fusion_switch_file", nullptr, nullptr, nullptr},
    {"host_env_cpu", nullptr, nullptr, nullptr},
    {"host_env_os", nullptr, "linux", nullptr},
    {"input_hint_shape", nullptr, nullptr, nullptr},
    {"is_input_adjust_hw_layout", nullptr, nullptr, nullptr},
    {"is_output_adjust_hw_layout", nullptr, nullptr, nullptr},
    {"jit_compile", nullptr, "0|1|2", nullptr},
    {"keep_dtype", nullptr, nullptr, nullptr},
    {"modify_mixlist", nullptr, nullptr, nullptr},
    {"oo_constant_folding", "ge.oo.constantFolding", "true|false", nullptr},
    {"oo_dead_code_elimination", "ge.oo.deadCodeElimination", "true|false", nullptr},
    {"oo_level", "ge.oo.level", "O0|O1|O2|O3", nullptr},
    {"op_bank_path", nullptr, nullptr, nullptr},
    {"op_compiler_cache_dir", nullptr, nullptr, nullptr},
    {"op_compiler_cache_mode", nullptr, "enable|disable|force", nullptr},
    {"op_debug_config", nullptr, nullptr, nullptr},
    {"op_debug_level", nullptr, "0|1|2|3|4", nullptr},
    {"op_name_map", nullptr, nullptr, nullptr},
    {"op_precision_mode", nullptr, nullptr, nullptr},
    {"op_select_implmode", nullptr, "high_precision|high_performance|high_precision_for_all|high_performance_for_all",
     nullptr},
    {"optypelist_for_implmode", nullptr, nullptr, nullptr},
    {"save_original_model", nullptr, "true|false", nullptr},
    {"sparsity", nullptr, "0|1", nullptr},
    {"tiling_schedule_optimize", nullptr, "0|1", nullptr},
    {"virtual_type", nullptr, "0|1", nullptr},
};

// How far the name is from a known one: for "did you mean".
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

bool Among(std::string_view value, std::string_view values) {
  while (!values.empty()) {
    const size_t end = values.find('|');
    if (values.substr(0, end) == value) return true;
    if (end == values.npos) return false;
    values.remove_prefix(end + 1);
  }
  return false;
}

std::string Unknown(const std::string& name) {
  const Flag* nearest = nullptr;
  size_t least = 3;
  for (const Flag& flag : Flags()) {
    const size_t distance = Distance(name, flag.name);
    if (distance >= least) continue;
    least = distance;
    nearest = &flag;
  }
  std::string text = "there is no option --" + name;
  if (nearest != nullptr) text += std::string("; did you mean --") + nearest->name + "?";
  return text + " (atc --help lists them)";
}

}  // namespace

std::span<const Flag> Flags() { return kFlags; }

const Flag* FindFlag(std::string_view name) {
  for (const Flag& flag : Flags()) {
    if (name == flag.name) return &flag;
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
      return "\"" + std::string(argument) + "\" is no option; options are written --name=value";
    }
    const size_t equals = argument.find('=');
    const std::string name(argument.substr(2, equals == argument.npos ? equals : equals - 2));
    const Flag* const flag = FindFlag(name);
    if (flag == nullptr) return Unknown(name);
    std::string value;
    if (equals != argument.npos) {
      value = argument.substr(equals + 1);
    } else if (name == "help") {
      value = "1";
    } else if (i + 1 < count && !std::string_view(arguments[i + 1]).starts_with("--")) {
      value = arguments[++i];
    } else {
      return "--" + name + " has no value; write --" + name + "=VALUE";
    }
    if (flag->values != nullptr && !Among(value, flag->values)) {
      return "--" + name + "=" + value + " is not possible; it takes " + flag->values;
    }
    if (value.empty()) return "--" + name + " has no value; write --" + name + "=VALUE";
    if (!out->emplace(name, value).second) return "--" + name + " is there twice";
  }
  return {};
}

std::string HelpText() {
  std::string text = "Usage: atc --model=FILE --framework=5 --output=FILE --soc_version=NAME [options]\n\n";
  for (const Flag& flag : Flags()) {
    if (flag.help == nullptr) continue;
    std::string name = std::string("  --") + flag.name;
    name.resize(std::max<size_t>(name.size() + 2, 24), ' ');
    text += name + flag.help + "\n";
    if (flag.values != nullptr && std::string_view(flag.values).size() < 60) {
      text += std::string(24, ' ') + "one of " + flag.values + "\n";
    }
  }
  text += "\nAccepted without effect, because they steer an NPU's compiler:\n ";
  size_t column = 1;
  for (const Flag& flag : Flags()) {
    if (flag.help != nullptr) continue;
    const std::string_view name = flag.name;
    if (name == "insert_op_conf" || name == "external_weight" || name == "weight" || name == "json") {
      continue;
    }
    if (column + name.size() + 3 > 110) {
      text += "\n ";
      column = 1;
    }
    text += " --" + std::string(name);
    column += name.size() + 3;
  }
  return text + "\n";
}

}  // namespace atc
