// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/ge_ir_format.h"

#include <algorithm>

#include "src/ops/ge_ops.h"

namespace millpond::io {

namespace {

constexpr int64_t kUndefinedNumber = 28;
constexpr int64_t kMaxNumber = 42;

// ge::DataType's number for each of the file's.
constexpr std::array<int8_t, 42> kNumbers = {28, 0,  1,  2,  4,  6,  7,  3,  9,  8,  10, 12, 11, 13,
                                             14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                                             29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42};

// By number.
constexpr std::array<std::string_view, 55> kFormats = {"NCHW",
                                                       "NHWC",
                                                       "ND",
                                                       "NC1HWC0",
                                                       "FRACTAL_Z",
                                                       "NC1C0HWPAD",
                                                       "NHWC1C0",
                                                       "FSR_NCHW",
                                                       "FRACTAL_DECONV",
                                                       "C1HWNC0",
                                                       "FRACTAL_DECONV_TRANSPOSE",
                                                       "FRACTAL_DECONV_SP_STRIDE_TRANS",
                                                       "NC1HWC0_C04",
                                                       "FRACTAL_Z_C04",
                                                       "CHWN",
                                                       "DECONV_SP_STRIDE8_TRANS",
                                                       "HWCN",
                                                       "NC1KHKWHWC0",
                                                       "BN_WEIGHT",
                                                       "FILTER_HWCK",
                                                       "LOOKUP_LOOKUPS",
                                                       "LOOKUP_KEYS",
                                                       "LOOKUP_VALUE",
                                                       "LOOKUP_OUTPUT",
                                                       "LOOKUP_HITS",
                                                       "C1HWNCoC0",
                                                       "MD",
                                                       "NDHWC",
                                                       "FRACTAL_ZZ",
                                                       "FRACTAL_NZ",
                                                       "NCDHW",
                                                       "DHWCN",
                                                       "NDC1HWC0",
                                                       "FRACTAL_Z_3D",
                                                       "CN",
                                                       "NC",
                                                       "DHWNC",
                                                       "FRACTAL_Z_3D_TRANSPOSE",
                                                       "FRACTAL_ZN_LSTM",
                                                       "FRACTAL_Z_G",
                                                       "RESERVED",
                                                       "ALL",
                                                       "NULL",
                                                       "ND_RNN_BIAS",
                                                       "FRACTAL_ZN_RNN",
                                                       "NYUV",
                                                       "NYUV_A",
                                                       "NCL",
                                                       "FRACTAL_Z_WINO",
                                                       "C1HWC0",
                                                       "FRACTAL_NZ_C0_16",
                                                       "FRACTAL_NZ_C0_32",
                                                       "FRACTAL_NZ_C0_2",
                                                       "FRACTAL_NZ_C0_4",
                                                       "FRACTAL_NZ_C0_8"};

// The operand name at each index when there are `count`, in the definition's order. Empty when the split between two
// dynamic operands is ambiguous.
std::vector<std::string> OperandNames(std::span<const GeOperand> operands, size_t count) {
  const auto is_dynamic = [](const GeOperand& operand) { return operand.presence == GePresence::kDynamic; };
  const auto dynamic = static_cast<size_t>(std::count_if(operands.begin(), operands.end(), is_dynamic));
  const size_t fixed = operands.size() - dynamic;
  if (dynamic > 1 || (dynamic == 1 && count < fixed)) return {};
  std::vector<std::string> names;
  for (const GeOperand& operand : operands) {
    if (!is_dynamic(operand)) {
      names.emplace_back(operand.name);
      continue;
    }
    for (size_t i = 0; i < count - fixed; ++i) names.push_back(std::string(operand.name) + std::to_string(i));
  }
  return names;
}

}  // namespace

DType DTypeFromProto(int64_t number) {
  if (number < 0 || number >= static_cast<int64_t>(kNumbers.size())) return DType::kUndefined;
  return DTypeFromNumber(kNumbers[static_cast<size_t>(number)]);
}

int64_t ProtoFromDType(DType type) {
  const auto found = std::find(kNumbers.begin(), kNumbers.end(), NumberFromDType(type));
  return found == kNumbers.end() ? 0 : found - kNumbers.begin();
}

DType DTypeFromNumber(int64_t number) {
  const bool known = number >= 0 && number <= kMaxNumber && number != kUndefinedNumber;
  return known ? static_cast<DType>(number) : DType::kUndefined;
}

int64_t NumberFromDType(DType type) {
  return type == DType::kUndefined ? kUndefinedNumber : static_cast<int64_t>(type);
}

std::string_view FormatName(int32_t format) {
  const auto place = static_cast<size_t>(PrimaryFormat(format));
  return format >= 0 && place < kFormats.size() ? kFormats[place] : std::string_view();
}

int32_t FormatFromName(std::string_view name) {
  const auto found = std::find(kFormats.begin(), kFormats.end(), name);
  return found == kFormats.end() ? kFormatReserved : static_cast<int32_t>(found - kFormats.begin());
}

void RecoverOperandNames(ir::Node* node) {
  const auto nameless = [](const ir::TensorDesc& desc) { return desc.name.empty(); };
  const bool inputs = std::any_of(node->inputs.begin(), node->inputs.end(),
                                  [&](const ir::Input& input) { return nameless(input.desc); });
  const bool outputs = std::any_of(node->outputs.begin(), node->outputs.end(), nameless);
  const GeOp* definition = inputs || outputs ? FindGeDefinition(node->type) : nullptr;
  if (definition == nullptr) return;
  if (inputs) {
    const std::vector<std::string> names = OperandNames(definition->inputs, node->inputs.size());
    for (size_t i = 0; i < std::min(names.size(), node->inputs.size()); ++i) {
      if (node->inputs[i].desc.name.empty()) node->inputs[i].desc.name = names[i];
    }
  }
  if (outputs) {
    const std::vector<std::string> names = OperandNames(definition->outputs, node->outputs.size());
    for (size_t i = 0; i < std::min(names.size(), node->outputs.size()); ++i) {
      if (node->outputs[i].name.empty()) node->outputs[i].name = names[i];
    }
  }
}

std::vector<std::string> SubgraphOperands(std::string_view type, size_t count) {
  std::vector<std::string> names;
  if (const GeOp* definition = count == 0 ? nullptr : FindGeDefinition(type)) {
    for (const GeSubgraph& subgraph : definition->subgraphs) {
      if (!subgraph.dynamic) {
        names.emplace_back(subgraph.name);
        continue;
      }
      // The dynamic one takes the rest; no definition has two.
      for (size_t i = 0; names.size() < count; ++i) names.push_back(std::string(subgraph.name) + std::to_string(i));
    }
  }
  names.resize(count);
  return names;
}

bool IsDataType(std::string_view type) {
  return type == "Data" || type == "RefData" || type == "AippData" || type == "AnnData";
}

bool IsSourceType(std::string_view type) {
  return IsDataType(type) || type == "Const" || type == "Constant" || type == "ConstPlaceHolder" ||
         type == "Variable" || type == "FileConstant";
}

}  // namespace millpond::io
