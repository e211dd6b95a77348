// SPDX-License-Identifier: Apache-2.0
// Text in graphs: tensors written into a template, and printed. Text travels as bytes that end with a zero.
#include <charconv>
#include <cstdio>
#include <cstring>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

void AppendNumber(const Tensor& number, std::string* out) {
  char text[64];
  if (at::isFloatingType(number.scalar_type())) {
    const auto written = number.scalar_type() == at::kDouble
                             ? std::to_chars(text, text + sizeof text, number.item<double>())
                             : std::to_chars(text, text + sizeof text, number.item<float>());
    out->append(text, written.ptr);
  } else if (number.scalar_type() == at::kBool) {
    out->append(number.item<bool>() ? "True" : "False");
  } else if (at::isComplexType(number.scalar_type())) {
    const auto value = number.item<c10::complex<double>>();
    std::snprintf(text, sizeof text, "(%g%+gj)", value.real(), value.imag());
    out->append(text);
  } else {
    const auto written = std::to_chars(text, text + sizeof text, number.item<int64_t>());
    out->append(text, written.ptr);
  }
}

// [[1 2 ... 8 9]
//  [3 4 ... 6 7]]: of a dimension with more than twice `most`, that many at either end. most -1: all.
void AppendTensor(const Tensor& tensor, int64_t most, int64_t depth, std::string* out) {
  if (tensor.dim() == 0) return AppendNumber(tensor, out);
  const int64_t size = tensor.size(0);
  const bool cut = most >= 0 && size > 2 * most;
  const std::string between = tensor.dim() == 1 ? std::string(" ")
                                                : std::string(static_cast<size_t>(tensor.dim() - 1), '\n') +
                                                      std::string(static_cast<size_t>(depth + 1), ' ');
  out->push_back('[');
  for (int64_t i = 0; i < size; ++i) {
    if (i != 0) out->append(between);
    if (cut && i == most) {
      out->append("...");
      i = size - most - 1;
      continue;
    }
    AppendTensor(tensor[i], most, depth + 1, out);
  }
  out->push_back(']');
}

}  // namespace

MP_KERNEL(GeStringFormat, TensorList x, string_view format, string_view placeholder, int64_t most, Tensor& y) {
  std::string text;
  size_t at = 0;
  for (const Tensor& tensor : x) {
    const size_t next = placeholder.empty() ? string_view::npos : format.find(placeholder, at);
    TORCH_CHECK(next != string_view::npos, "the template has fewer places for tensors than the ", x.size(), " given");
    text.append(format.substr(at, next - at));
    AppendTensor(tensor, most, 0, &text);
    at = next + placeholder.size();
  }
  text.append(format.substr(at));
  TORCH_CHECK(y.is_contiguous() && y.element_size() == 1, "text goes to contiguous bytes; the output has type ",
              y.scalar_type());
  const auto room = static_cast<size_t>(y.numel());
  TORCH_CHECK(text.size() < room, "the text has ", text.size(), " bytes; there is room for ", room);
  std::memcpy(y.data_ptr(), text.data(), text.size());
  std::memset(static_cast<char*>(y.data_ptr()) + text.size(), 0, room - text.size());
}

MP_KERNEL(GePrint, const Tensor& x, string_view stream) {
  TORCH_CHECK(stream == "stderr" || stream == "stdout", "output_stream is '", std::string(stream),
              "'; stderr and stdout are supported");
  std::string text;
  if (x.scalar_type() == at::kByte && x.is_contiguous()) {
    const auto* bytes = static_cast<const char*>(x.data_ptr());
    text.assign(bytes, strnlen(bytes, static_cast<size_t>(x.numel())));
  } else {
    AppendTensor(x, 3, 0, &text);
  }
  text.push_back('\n');
  std::FILE* out = stream == "stdout" ? stdout : stderr;
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

}  // namespace millpond::kernels
