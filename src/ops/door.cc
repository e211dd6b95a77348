// SPDX-License-Identifier: Apache-2.0
#include "src/ops/door.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "src/base/format.h"
#include "src/base/half.h"

namespace millpond {
namespace {

// Where the door's operand `name` lies among those given: [first, first + count). A dynamic operand takes what the
// others leave; an operand beyond the end is absent.
struct Slice {
  size_t first = 0;
  size_t count = 0;
};

std::optional<Slice> Locate(std::span<const DoorOperand> operands, std::string_view name, size_t given,
                            std::span<const uint32_t> counts) {
  const size_t spread = EvenShare(operands, given);
  size_t place = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const DoorOperand& operand = operands[i];
    const size_t even = operand.dynamic ? spread : 1;
    const size_t count = counts.empty() ? even : (i < counts.size() ? counts[i] : 0);
    if (operand.name == name) {
      return Slice{place, place + count <= given ? count : 0};
    }
    place += count;
  }
  return std::nullopt;
}

class Builder {
 public:
  Builder(const OpRow& row, const DoorBinding& binding, const DoorArguments& given, OpCall* call,
          std::vector<UnknownArgument>* unknown)
      : row_(row), binding_(binding), given_(given), call_(call), unknown_(unknown) {}

  Status Build() {
    call_->Begin(&row_);
    for (size_t place = 0; place < row_.args.size(); ++place) {
      MP_RETURN_IF_ERROR(Add(row_.args[place], binding_.args[place]));
    }
    MP_RETURN_IF_ERROR(CheckReferences());
    return CheckUnused();
  }

 private:
  // An output that has an input's name is that input, changed in place: it cannot be other memory.
  Status CheckReferences() {
    for (const DoorOperand& operand : binding_.outputs) {
      const auto input = Find(operand.name, /*output=*/false);
      const auto output = Find(operand.name, /*output=*/true);
      if (!input || !output || IsWritten(operand.name)) continue;
      for (size_t i = 0; i < std::min(input->count, output->count); ++i) {
        MP_REQUIRE(given_.inputs[input->first + i].view.data == given_.outputs[output->first + i].view.data,
                   "%s: output '%s' must be the memory of the input of that name, which changes in place",
                   binding_.type, std::string(operand.name).c_str());
      }
    }
    return Ok();
  }

  // Whether the row writes that output by itself.
  bool IsWritten(std::string_view output) const {
    for (size_t place = 0; place < row_.args.size(); ++place) {
      if (row_.args[place].flow == ArgFlow::kOut && output == binding_.args[place].name) return true;
    }
    return false;
  }

  // What the client gives and the row would not see must not matter.
  Status CheckUnused() {
    for (const DoorArg& attribute : binding_.unused) {
      const auto given = given_.attributes.find(std::string_view(attribute.name));
      if (given == given_.attributes.end() || IsDefault(given->second, attribute.constant)) continue;
      return Unsupported(Format("%s: attribute '%s' is supported only with its default (%s)", binding_.type,
                                attribute.name, attribute.constant));
    }
    for (const DoorOperand& operand : binding_.inputs) {
      const bool used = std::any_of(binding_.args.begin(), binding_.args.end(),
                                    [&](const DoorArg& arg) { return operand.name == arg.name; });
      if (used) continue;
      const auto slice = Find(operand.name, /*output=*/false);
      for (size_t i = 0; slice && i < slice->count; ++i) {
        // An empty tensor stands for none where a list must have a member.
        const TensorView& view = given_.inputs[slice->first + i].view;
        MP_CHECK(view.dtype == DType::kUndefined || view.elements() == 0, kUnsupported,
                 "%s: input '%s' is not supported yet", binding_.type, std::string(operand.name).c_str());
      }
    }
    return Ok();
  }

  static bool IsDefault(const AttrValue& value, std::string_view text) {
    if (const auto* flag = std::get_if<bool>(&value)) {
      // torch_npu gives some string literals to the setter for bool: true then stands for a string that is not known.
      const bool lost_string = *flag && !text.empty() && text.front() == '"';
      return lost_string || text == (*flag ? "true" : "false");
    }
    if (const auto* string = std::get_if<std::string>(&value)) {
      return text.size() >= 2 && text.substr(1, text.size() - 2) == *string;
    }
    const auto* type = std::get_if<DType>(&value);
    const auto real = type != nullptr ? std::optional<double>(static_cast<int>(*type)) : Real(value);
    if (real.has_value()) {
      double wanted = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), wanted);
      // GE keeps floats: 0.1 written as a double is another number than the one that comes.
      return parsed.ec == std::errc() && static_cast<float>(wanted) == static_cast<float>(*real);
    }
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      return text.size() >= 2 && text.front() == '{' && Integers(text) == *list;
    }
    return false;
  }

  Status Add(const ArgSpec& spec, const DoorArg& source) {
    const std::string_view name = source.name;
    if (name.empty()) return AddConstant(spec, source.constant);
    if (name.front() == '@') return AddTypeOf(name.substr(1));
    const bool output = spec.flow == ArgFlow::kOut;
    const auto& tensors = output ? given_.outputs : given_.inputs;
    if (const auto slice = Find(name, output)) {
      return AddOperand(spec, name, {tensors.data() + slice->first, slice->count});
    }
    const auto attribute = given_.attributes.find(name);
    if (attribute != given_.attributes.end()) {
      const auto* text = std::get_if<std::string>(&attribute->second);
      if (text != nullptr && *source.choices != '\0') return AddChoice(spec, source, *text);
      return AddAttribute(spec, name, attribute->second);
    }
    MP_REQUIRE(*source.constant != '\0', "%s: attribute '%s' is missing", binding_.type, source.name);
    if (*source.choices != '\0') return AddChoice(spec, source, source.constant);
    return AddConstant(spec, source.constant);
  }

  // "none:0 mean:1": the number after the value's own name.
  Status AddChoice(const ArgSpec& spec, const DoorArg& source, std::string_view value) {
    for (std::string_view rest = source.choices; !rest.empty();) {
      const std::string_view entry = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
      const size_t colon = entry.rfind(':');
      if (entry.substr(0, colon) == value) return AddConstant(spec, entry.substr(colon + 1));
    }
    return InvalidArgument(Format("%s: attribute '%s' is '%s'; it must be one of: %s", binding_.type, source.name,
                                  std::string(value).c_str(), source.choices));
  }

  std::optional<Slice> Find(std::string_view name, bool output) const {
    return output ? Locate(binding_.outputs, name, given_.outputs.size(), given_.output_counts)
                  : Locate(binding_.inputs, name, given_.inputs.size(), given_.input_counts);
  }

  Status AddTypeOf(std::string_view operand) {
    for (const bool output : {true, false}) {
      const auto& tensors = output ? given_.outputs : given_.inputs;
      const auto slice = Find(operand, output);
      if (!slice || slice->count == 0) continue;
      call_->AddInt(static_cast<int64_t>(tensors[slice->first].view.dtype));
      return Ok();
    }
    return InvalidArgument(Format("%s: operand '%s' is missing", binding_.type, std::string(operand).c_str()));
  }

  Status AddOperand(const ArgSpec& spec, std::string_view name, std::span<const DoorTensor> tensors) {
    const bool absent = tensors.empty() || (tensors.size() == 1 && tensors[0].view.dtype == DType::kUndefined);
    if (spec.kind == ArgKind::kTensorList && !(absent && spec.optional)) {
      call_->BeginViews();
      for (const DoorTensor& tensor : tensors) call_->AppendView(tensor.view);
      return Ok();
    }
    if (absent) {
      MP_REQUIRE(spec.optional, "%s: operand '%s' is missing", binding_.type, std::string(name).c_str());
      call_->AddAbsent();
      return Ok();
    }
    MP_CHECK(tensors.size() == 1, kUnsupported, "%s: operand '%s' has %zu members; one is supported", binding_.type,
             std::string(name).c_str(), tensors.size());
    if (spec.kind == ArgKind::kTensor) {
      call_->AddView(tensors[0].view);
      return Ok();
    }
    return AddValues(spec, name, tensors[0]);
  }

  // The row wants numbers and the door gives them in a tensor.
  Status AddValues(const ArgSpec& spec, std::string_view name, const DoorTensor& tensor) {
    const std::string text(name);
    const auto count = static_cast<size_t>(tensor.view.elements());
    if (tensor.values == nullptr && count != 0 && unknown_ != nullptr) {
      unknown_->push_back(
          {.place = static_cast<uint8_t>(call_->size()), .input = static_cast<size_t>(&tensor - given_.inputs.data())});
      call_->AddAbsent();
      return Ok();
    }
    MP_REQUIRE(tensor.values != nullptr || count == 0,
               "%s: the values of input '%s' must be known when it is launched; give it as a constant on the host",
               binding_.type, text.c_str());
    if (spec.kind != ArgKind::kInts && spec.kind != ArgKind::kInt) return AddNumbers(spec, text, tensor, count);
    std::vector<int64_t> integers(count);
    for (size_t i = 0; i < count; ++i) {
      if (tensor.view.dtype == DType::kInt64) {
        std::memcpy(&integers[i], static_cast<const std::byte*>(tensor.values) + i * sizeof(int64_t), sizeof(int64_t));
      } else if (tensor.view.dtype == DType::kInt32) {
        int32_t value;
        std::memcpy(&value, static_cast<const std::byte*>(tensor.values) + i * sizeof value, sizeof value);
        integers[i] = value;
      } else {
        return InvalidArgument(Format("%s: input '%s' has type %s; INT32 or INT64 is needed", binding_.type,
                                      text.c_str(), DTypeName(tensor.view.dtype)));
      }
    }
    if (spec.kind == ArgKind::kInts) {
      call_->AddInts(integers);
      return Ok();
    }
    MP_REQUIRE(spec.kind == ArgKind::kInt && count == 1, "%s: input '%s' cannot become argument '%s' of %s",
               binding_.type, text.c_str(), spec.name, row_.name);
    call_->AddInt(integers[0]);
    return Ok();
  }

  Status AddNumbers(const ArgSpec& spec, const std::string& text, const DoorTensor& tensor, size_t count) {
    const bool list = spec.kind == ArgKind::kScalarList || spec.kind == ArgKind::kFloats;
    MP_REQUIRE(list || spec.kind == ArgKind::kScalar || spec.kind == ArgKind::kDouble || spec.kind == ArgKind::kBool,
               "%s: input '%s' cannot become argument '%s' of %s", binding_.type, text.c_str(), spec.name, row_.name);
    std::vector<ScalarValue> numbers(count);
    for (size_t i = 0; i < count; ++i) {
      const auto number = NumberIn(tensor, i);
      MP_REQUIRE(number.has_value(), "%s: input '%s' has type %s, which is not one of numbers", binding_.type,
                 text.c_str(), DTypeName(tensor.view.dtype));
      numbers[i] = *number;
    }
    MP_REQUIRE(list || count == 1, "%s: input '%s' (%zu elements of type %s) must be one number", binding_.type,
               text.c_str(), count, DTypeName(tensor.view.dtype));
    const auto real = [](const ScalarValue& number) {
      return number.dtype == DType::kDouble ? number.real : static_cast<double>(number.integer);
    };
    if (spec.kind == ArgKind::kDouble) {
      call_->AddReal(real(numbers[0]));
    } else if (spec.kind == ArgKind::kBool) {
      call_->AddInt(real(numbers[0]) != 0 ? 1 : 0);
    } else if (spec.kind == ArgKind::kFloats) {
      std::vector<float> floats(count);
      std::transform(numbers.begin(), numbers.end(), floats.begin(),
                     [&](const ScalarValue& number) { return static_cast<float>(real(number)); });
      call_->AddFloats(floats);
    } else {
      call_->AddScalars(numbers);
    }
    return Ok();
  }

  // Element i: a double for the floating-point types, else an integer.
  static std::optional<ScalarValue> NumberIn(const DoorTensor& tensor, size_t i) {
    const auto read = [&](auto value) {
      std::memcpy(&value, static_cast<const std::byte*>(tensor.values) + i * sizeof value, sizeof value);
      return value;
    };
    const auto real = [](double value) {
      ScalarValue number;
      number.dtype = DType::kDouble;
      number.real = value;
      return number;
    };
    const auto integer = [](int64_t value, DType type) {
      ScalarValue number;
      number.dtype = type;
      number.integer = value;
      return number;
    };
    switch (tensor.view.dtype) {
      case DType::kFloat:
        return real(read(float{}));
      case DType::kDouble:
        return real(read(double{}));
      case DType::kHalf:
        return real(FloatFromHalf(read(uint16_t{})));
      case DType::kBfloat16:
        return real(FloatFromBfloat16(read(uint16_t{})));
      case DType::kInt8:
        return integer(read(int8_t{}), DType::kInt64);
      case DType::kUint8:
        return integer(read(uint8_t{}), DType::kInt64);
      case DType::kInt16:
        return integer(read(int16_t{}), DType::kInt64);
      case DType::kInt32:
        return integer(read(int32_t{}), DType::kInt64);
      case DType::kUint64:
      case DType::kInt64:
        return integer(read(int64_t{}), DType::kInt64);
      case DType::kBool:
        return integer(read(uint8_t{}) != 0 ? 1 : 0, DType::kBool);
      default:
        return std::nullopt;
    }
  }

  Status AddConstant(const ArgSpec& spec, std::string_view text) {
    if (spec.kind == ArgKind::kString) {
      return AddAttribute(spec, "", AttrValue(text == "\"\"" ? std::string() : std::string(text)));
    }
    if (text == "none") {
      MP_REQUIRE(spec.optional, "%s: argument '%s' of %s cannot be left out", binding_.type, spec.name, row_.name);
      call_->AddAbsent();
      return Ok();
    }
    if (text == "true" || text == "false") return AddAttribute(spec, "", AttrValue(text == "true"));
    if (!text.empty() && text.front() == '[') return AddAttribute(spec, "", AttrValue(Integers(text)));
    double real = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
    MP_CHECK(error == std::errc() && end == text.data() + text.size(), kInternal, "%s: constant '%s' is not a number",
             binding_.type, std::string(text).c_str());
    if (text.find_first_of(".eE") == std::string_view::npos) {
      return AddAttribute(spec, "", AttrValue(static_cast<int64_t>(real)));
    }
    return AddAttribute(spec, "", AttrValue(real));
  }

  static std::vector<int64_t> Integers(std::string_view text) {
    std::vector<int64_t> values;
    const char* at = text.data() + 1;
    const char* end = text.data() + text.size() - 1;
    while (at < end) {
      int64_t value = 0;
      const auto parsed = std::from_chars(at, end, value);
      if (parsed.ec != std::errc()) break;
      values.push_back(value);
      at = parsed.ptr;
      while (at < end && (*at == ' ' || *at == ',')) ++at;
    }
    return values;
  }

  static std::optional<double> Real(const AttrValue& value) {
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
    return std::nullopt;
  }
  static std::optional<int64_t> Integer(const AttrValue& value) {
    if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
    if (const auto* type = std::get_if<DType>(&value)) return static_cast<int64_t>(*type);
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    if (list != nullptr && list->size() == 1) return list->front();
    return std::nullopt;
  }

  // False when the value is not a list of T.
  template <class T>
  bool AddFloatsFrom(const AttrValue& value) {
    const auto* values = std::get_if<std::vector<T>>(&value);
    if (values == nullptr) return false;
    const std::vector<float> floats(values->begin(), values->end());
    call_->AddFloats(floats);
    return true;
  }

  Status AddAttribute(const ArgSpec& spec, std::string_view name, const AttrValue& value) {
    switch (spec.kind) {
      case ArgKind::kInt:
      case ArgKind::kBool:
      case ArgKind::kDType:
        if (const auto integer = Integer(value)) {
          call_->AddInt(*integer);
          return Ok();
        }
        break;
      case ArgKind::kDouble:
        if (const auto real = Real(value)) {
          call_->AddReal(*real);
          return Ok();
        }
        break;
      case ArgKind::kScalar: {
        ScalarValue scalar;
        if (const auto* real = std::get_if<double>(&value)) {
          scalar.dtype = DType::kDouble;
          scalar.real = *real;
        } else if (const auto integer = Integer(value)) {
          scalar.dtype = std::holds_alternative<bool>(value) ? DType::kBool : DType::kInt64;
          scalar.integer = *integer;
        } else {
          break;
        }
        call_->AddScalars({&scalar, 1});
        return Ok();
      }
      case ArgKind::kInts:
        if (const auto* values = std::get_if<std::vector<int64_t>>(&value)) {
          call_->AddInts(*values);
          return Ok();
        }
        if (const auto* lists = std::get_if<std::vector<std::vector<int64_t>>>(&value)) {
          std::vector<int64_t> all;
          for (const auto& list : *lists) all.insert(all.end(), list.begin(), list.end());
          call_->AddInts(all);
          return Ok();
        }
        if (const auto integer = Integer(value)) {
          call_->AddInts({&*integer, 1});
          return Ok();
        }
        break;
      case ArgKind::kBools:
        if (const auto* values = std::get_if<std::vector<bool>>(&value)) {
          const std::vector<uint8_t> bytes(values->begin(), values->end());
          call_->AddBools(bytes);
          return Ok();
        }
        if (const auto* values = std::get_if<std::vector<int64_t>>(&value)) {
          call_->AddInts(*values);  // kept as bools are
          return Ok();
        }
        break;
      case ArgKind::kFloats:
        if (AddFloatsFrom<double>(value) || AddFloatsFrom<int64_t>(value)) return Ok();
        break;
      case ArgKind::kString:
        if (const auto* text = std::get_if<std::string>(&value)) {
          call_->AddText(*text);
          return Ok();
        }
        break;
      default:
        break;
    }
    return InvalidArgument(Format("%s: attribute '%s' is of another kind than argument '%s' of %s", binding_.type,
                                  std::string(name).c_str(), spec.name, row_.name));
  }

  const OpRow& row_;
  const DoorBinding& binding_;
  const DoorArguments& given_;
  OpCall* call_;
  std::vector<UnknownArgument>* unknown_;  // null: not knowing is an error
};

}  // namespace

Status CallFromDoor(const OpRow& row, const DoorBinding& binding, const DoorArguments& given, OpCall* call) {
  return Builder(row, binding, given, call, nullptr).Build();
}

Status CallFromDoor(const OpRow& row, const DoorBinding& binding, const DoorArguments& given, OpCall* call,
                    std::vector<UnknownArgument>* out_unknown) {
  return Builder(row, binding, given, call, out_unknown).Build();
}

std::vector<size_t> ValueInputs(const OpRow& row, const DoorBinding& binding, const DoorArguments& given) {
  std::vector<size_t> places;
  for (size_t place = 0; place < row.args.size(); ++place) {
    const ArgSpec& spec = row.args[place];
    if (spec.kind == ArgKind::kTensor || spec.kind == ArgKind::kTensorList) continue;
    const auto slice = Locate(binding.inputs, binding.args[place].name, given.inputs.size(), given.input_counts);
    if (!slice || slice->count == 0 || given.inputs[slice->first].view.dtype == DType::kUndefined) continue;
    places.push_back(slice->first);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

size_t EvenShare(std::span<const DoorOperand> operands, size_t given) {
  const auto dynamic = static_cast<size_t>(
      std::count_if(operands.begin(), operands.end(), [](const DoorOperand& operand) { return operand.dynamic; }));
  if (dynamic == 0) return 0;
  const size_t fixed = operands.size() - dynamic;
  for (size_t left_out = 0; left_out <= fixed; ++left_out) {
    if (left_out != 0 && operands[operands.size() - left_out].dynamic) break;
    const size_t others = fixed - left_out;
    if (given >= others && (given - others) % dynamic == 0) return (given - others) / dynamic;
  }
  return given < fixed ? 0 : (given - fixed) / dynamic;
}

}  // namespace millpond
