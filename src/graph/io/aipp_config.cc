// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/aipp_config.h"

#include <charconv>
#include <cmath>
#include <map>
#include <type_traits>
#include <utility>

#include "src/base/half.h"

namespace millpond::io {

namespace {

constexpr double kMaxHalf = 65504;
constexpr double kMaxSide = 4096;

// Words, numbers, quoted texts and single marks; comments go to the end of their line.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  // Empty at the end.
  std::string_view Next() {
    SkipSpace();
    if (rest_.empty()) return {};
    size_t size = 1;
    if (const char quote = rest_[0]; quote == '"' || quote == '\'') {
      const size_t end = rest_.find(quote, 1);
      size = end == std::string_view::npos ? rest_.size() : end + 1;
    } else if (kMarks.find(quote) == std::string_view::npos) {
      size = std::min(rest_.find_first_of("{}:,;#\"' \t\r\n"), rest_.size());
    }
    const std::string_view token = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return token;
  }
  // Takes the next token if it is this mark.
  bool Take(char mark) {
    SkipSpace();
    if (rest_.empty() || rest_[0] != mark) return false;
    rest_.remove_prefix(1);
    return true;
  }
  int line() const { return line_; }

 private:
  static constexpr std::string_view kMarks = "{}:,;";

  void SkipSpace() {
    bool comment = false;
    size_t at = 0;
    for (; at < rest_.size(); ++at) {
      const char c = rest_[at];
      if (c == '\n') {
        ++line_;
        comment = false;
      } else if (c == '#') {
        comment = true;
      } else if (!comment && c != ' ' && c != '\t' && c != '\r') {
        break;
      }
    }
    rest_.remove_prefix(at);
  }

  std::string_view rest_;
  int line_ = 1;
};

// The parameters of one group. What has been asked for is gone, so that what is left is unknown.
class Parameters {
 public:
  Status Read(Scanner* scanner) {
    for (;;) {
      if (scanner->Take('}')) return Ok();
      const std::string name(scanner->Next());
      MP_REQUIRE(!name.empty(), "line %d: the group has no end; a \"}\" is missing", scanner->line());
      MP_REQUIRE(scanner->Take(':'), "line %d: after \"%s\" a \":\" and a value are missing", scanner->line(),
                 name.c_str());
      std::string_view value = scanner->Next();
      if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'')) value = value.substr(1, value.size() - 2);
      MP_REQUIRE(values_.emplace(name, value).second, "line %d: %s is there twice", scanner->line(), name.c_str());
      while (scanner->Take(',') || scanner->Take(';')) continue;
    }
  }

  bool Has(const std::string& name) const { return values_.contains(name); }

  // Leaves *out alone when the parameter is not there; so do the next two.
  template <class T>
  Status Number(const std::string& name, double low, double high, T* out) {
    const auto found = values_.extract(name);
    if (found.empty()) return Ok();
    const std::string& text = found.mapped();
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = !std::is_integral_v<T> || value == std::floor(value);
    MP_REQUIRE(error == std::errc() && end == text.data() + text.size() && whole && value >= low && value <= high,
               "%s is \"%s\"; it must be a %s from %g to %g", name.c_str(), text.c_str(),
               std::is_integral_v<T> ? "whole number" : "number", low, high);
    *out = static_cast<T>(value);
    return Ok();
  }
  Status Half(const std::string& name, double low, uint16_t* out) {
    double value = FloatFromHalf(*out);
    MP_RETURN_IF_ERROR(Number(name, low, low < 0 ? kMaxHalf : 255, &value));
    *out = HalfFromFloat(static_cast<float>(value));
    return Ok();
  }
  Status Flag(const std::string& name, int8_t* out) {
    const auto found = values_.extract(name);
    if (found.empty()) return Ok();
    const std::string& text = found.mapped();
    MP_REQUIRE(text == "true" || text == "false" || text == "1" || text == "0",
               "%s is \"%s\"; it must be true or false", name.c_str(), text.c_str());
    *out = text == "true" || text == "1" ? 1 : 0;
    return Ok();
  }
  std::string Text(const std::string& name) {
    auto found = values_.extract(name);
    return found.empty() ? std::string() : std::move(found.mapped());
  }

  // What the page reserves: fails when it is asked for.
  Status Reserved(const std::string& name, double quiet) {
    double value = quiet;
    if (int8_t flag = 0; values_.contains(name) && Flag(name, &flag).ok()) {
      value = flag;
    } else {
      MP_RETURN_IF_ERROR(Number(name, -kMaxHalf, kMaxHalf, &value));
    }
    MP_CHECK(value == quiet, kUnsupported,
             "%s is set; CANN's page reserves it, and there is nothing behind it: leave it out", name.c_str());
    return Ok();
  }

  Status NothingLeft() const {
    MP_REQUIRE(values_.empty(), "there is no parameter \"%s\"", values_.begin()->first.c_str());
    return Ok();
  }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

Status ReadFormat(Parameters* from, AippConfig* out) {
  const std::string name = from->Text("input_format");
  constexpr std::pair<std::string_view, uint8_t> kFormats[] = {{"YUV420SP_U8", aipp::kYuv420},
                                                               {"XRGB8888_U8", aipp::kXrgb},
                                                               {"RGB888_U8", aipp::kRgb},
                                                               {"YUV400_U8", aipp::kGray}};
  for (const auto& [text, number] : kFormats) {
    if (name == text) out->header.format = number;
  }
  if (out->header.format != 0 || (name.empty() && out->dynamic)) return Ok();
  MP_REQUIRE(!name.empty(), "input_format is missing; static AIPP needs it");
  return Unsupported(Format(
      "input_format is \"%s\"; YUV420SP_U8, XRGB8888_U8, RGB888_U8 and YUV400_U8 are the formats that AIPP takes",
      name.c_str()));
}

Status ReadSizes(Parameters* from, AippConfig* out) {
  aipp::Header& header = out->header;
  aipp::Record& record = out->record;
  MP_RETURN_IF_ERROR(from->Number("src_image_size_w", 0, kMaxSide, &header.width));
  MP_RETURN_IF_ERROR(from->Number("src_image_size_h", 0, kMaxSide, &header.height));
  MP_RETURN_IF_ERROR(from->Flag("crop", &record.crop));
  MP_RETURN_IF_ERROR(from->Number("load_start_pos_w", 0, kMaxSide - 1, &record.left));
  MP_RETURN_IF_ERROR(from->Number("load_start_pos_h", 0, kMaxSide - 1, &record.top));
  MP_RETURN_IF_ERROR(from->Number("crop_size_w", 0, kMaxSide, &record.part_width));
  MP_RETURN_IF_ERROR(from->Number("crop_size_h", 0, kMaxSide, &record.part_height));
  MP_RETURN_IF_ERROR(from->Flag("padding", &record.pad));
  constexpr double kMaxPadding = 32;
  MP_RETURN_IF_ERROR(from->Number("left_padding_size", 0, kMaxPadding, &record.pad_left));
  MP_RETURN_IF_ERROR(from->Number("right_padding_size", 0, kMaxPadding, &record.pad_right));
  MP_RETURN_IF_ERROR(from->Number("top_padding_size", 0, kMaxPadding, &record.pad_top));
  MP_RETURN_IF_ERROR(from->Number("bottom_padding_size", 0, kMaxPadding, &record.pad_bottom));
  return from->Number("padding_value", -kMaxHalf, kMaxHalf, &out->padding);
}

// The page's own numbers turn YUV into BGR: of no use for a picture that is RGB already.
Status ReadMatrix(Parameters* from, aipp::Header* out) {
  constexpr int16_t kYuvToBgr[3][3] = {{298, 516, 0}, {298, -100, -208}, {298, 0, 409}};
  constexpr uint8_t kBias[] = {16, 128, 128};
  MP_RETURN_IF_ERROR(from->Flag("csc_switch", &out->convert));
  const bool is_rgb = out->format == aipp::kRgb || out->format == aipp::kXrgb;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      const std::string name = Format("matrix_r%dc%d", row, column);
      MP_REQUIRE(out->convert == 0 || !is_rgb || from->Has(name),
                 "csc_switch is on for an RGB picture, and %s is missing: its default is that of YUV to BGR",
                 name.c_str());
      out->matrix[row][column] = kYuvToBgr[row][column];
      MP_RETURN_IF_ERROR(from->Number(name, -32677, 32676, &out->matrix[row][column]));
    }
    out->bias_in[row] = out->bias_out[row] = kBias[row];
    MP_RETURN_IF_ERROR(from->Number(Format("input_bias_%d", row), 0, 255, &out->bias_in[row]));
    MP_RETURN_IF_ERROR(from->Number(Format("output_bias_%d", row), 0, 255, &out->bias_out[row]));
  }
  MP_RETURN_IF_ERROR(from->Flag("rbuv_swap_switch", &out->swap_rb_uv));
  return from->Flag("ax_swap_switch", &out->swap_ax);
}

Status ReadChannels(Parameters* from, aipp::Record* out) {
  for (int channel = 0; channel < 4; ++channel) {
    MP_RETURN_IF_ERROR(from->Number(Format("mean_chn_%d", channel), 0, 255, &out->mean[channel]));
    MP_RETURN_IF_ERROR(from->Half(Format("min_chn_%d", channel), 0, &out->min[channel]));
    MP_RETURN_IF_ERROR(from->Half(Format("var_reci_chn_%d", channel), -kMaxHalf, &out->factor[channel]));
  }
  return Ok();
}

Status ReadReserved(Parameters* from) {
  for (const char* name : {"resize", "support_rotation", "rotation_angle", "single_line_mode", "cpadding_value"}) {
    MP_RETURN_IF_ERROR(from->Reserved(name, 0));
  }
  // Without `resize` these say nothing.
  int32_t unused = 0;
  MP_RETURN_IF_ERROR(from->Number("resize_output_w", 0, kMaxSide, &unused));
  MP_RETURN_IF_ERROR(from->Number("resize_output_h", 0, kMaxSide, &unused));
  return from->Reserved("raw_rgbir_to_f16_n", 8);
}

Status ReadGroup(Parameters* from, AippConfig* out) {
  const std::string mode = from->Text("aipp_mode");
  MP_REQUIRE(mode == "static" || mode == "dynamic", "aipp_mode is \"%s\"; it must be static or dynamic", mode.c_str());
  out->dynamic = mode == "dynamic";
  MP_RETURN_IF_ERROR(from->Number("related_input_rank", 0, 1e6, &out->input));
  out->input_name = from->Text("related_input_name");
  MP_RETURN_IF_ERROR(from->Number("max_src_image_size", 0, 0x1p40, &out->max_bytes));
  MP_REQUIRE(!out->dynamic || out->max_bytes > 0, "max_src_image_size is missing; dynamic AIPP needs it");
  MP_RETURN_IF_ERROR(ReadReserved(from));
  MP_RETURN_IF_ERROR(ReadFormat(from, out));
  MP_RETURN_IF_ERROR(ReadSizes(from, out));
  MP_RETURN_IF_ERROR(ReadMatrix(from, &out->header));
  MP_RETURN_IF_ERROR(ReadChannels(from, &out->record));
  return from->NothingLeft();
}

}  // namespace

Status ParseAippConfig(std::string_view text, std::vector<AippConfig>* out) {
  Scanner scanner(text);
  for (std::string_view word = scanner.Next(); !word.empty(); word = scanner.Next()) {
    MP_REQUIRE(word == "aipp_op", "line %d: \"%s\" is not known; the file has groups aipp_op { name: value ... }",
               scanner.line(), std::string(word).c_str());
    scanner.Take(':');
    MP_REQUIRE(scanner.Take('{'), "line %d: after aipp_op a \"{\" is missing", scanner.line());
    Parameters parameters;
    MP_RETURN_IF_ERROR(parameters.Read(&scanner));
    MP_RETURN_IF_ERROR(ReadGroup(&parameters, &out->emplace_back()));
    MP_REQUIRE(out->back().dynamic == out->front().dynamic,
               "some groups are static and some dynamic; a model has AIPP of one kind");
  }
  MP_REQUIRE(!out->empty(), "it has no group aipp_op { name: value ... }");
  return Ok();
}

}  // namespace millpond::io
