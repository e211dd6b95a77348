// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/gemm/fused.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstring>

// Exported by libtorch_cpu for code that its own compiler makes (which packs constants just so), in no installed
// header.
namespace at::native {
Tensor mkldnn_tensor_from_data_ptr(void* data, IntArrayRef dims, ScalarType dtype, Device device,
                                   const uint8_t* opaque_metadata, int64_t opaque_metadata_size);
}  // namespace at::native

namespace millpond::kernels {
namespace {

struct Head {
  char magic[8];
  int64_t metadata_bytes;
  int64_t data_offset;
  int64_t data_bytes;
};
constexpr char kMagic[8] = {'m', 'p', 'o', 'n', 'e', 'd', 'n', 'n'};
constexpr int64_t kAlignment = 64;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Tensor Metadata(const Tensor& mkldnn) {
  static const auto call = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("mkldnn::_get_mkldnn_serialized_md", "")
                               .typed<Tensor(const Tensor&)>();
  return call.call(mkldnn).contiguous();
}
int64_t DataBytes(const Tensor& mkldnn) {
  static const auto call =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_nbytes", "").typed<int64_t(const Tensor&)>();
  return call.call(mkldnn);
}
const void* Data(const Tensor& mkldnn) {
  static const auto call =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::data_ptr", "").typed<int64_t(const Tensor&)>();
  return reinterpret_cast<const void*>(call.call(mkldnn));
}

Head HeadFor(const Tensor& mkldnn, const Tensor& metadata) {
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.metadata_bytes = static_cast<int64_t>(metadata.nbytes());
  head.data_offset = Aligned(static_cast<int64_t>(sizeof(Head)) + head.metadata_bytes);
  head.data_bytes = DataBytes(mkldnn);
  return head;
}

}  // namespace

PostOp::PostOp(string_view activation) : attr(activation) {
  if (activation == "gelu") algorithm = "none";
  if (activation == "gelu_tanh") {
    attr = "gelu";
    algorithm = "tanh";
  }
}

void Activate(Tensor& value, string_view activation) {
  if (activation == "none") return;
  if (activation == "relu") {
    value.relu_();
  } else if (activation == "sigmoid") {
    value.sigmoid_();
  } else if (activation == "tanh") {
    value.tanh_();
  } else if (activation == "hardswish") {
    at::hardswish_(value);
  } else if (activation == "swish") {
    at::silu_(value);
  } else if (activation == "gelu") {
    at::gelu_(value);
  } else if (activation == "gelu_tanh") {
    at::gelu_(value, "tanh");
  } else {
    TORCH_CHECK(false, "'", activation, "' is no activation of a fused kernel");
  }
}

int64_t PackedBytes(const Tensor& mkldnn) {
  const Head head = HeadFor(mkldnn, Metadata(mkldnn));
  return head.data_offset + head.data_bytes;
}

void Pack(const Tensor& mkldnn, Tensor& out) {
  const Tensor metadata = Metadata(mkldnn);
  const Head head = HeadFor(mkldnn, metadata);
  TORCH_CHECK(out.is_contiguous() && static_cast<int64_t>(out.nbytes()) == head.data_offset + head.data_bytes,
              "a packed constant of ", head.data_offset + head.data_bytes, " bytes does not go into ", out.nbytes());
  auto* to = static_cast<std::byte*>(out.data_ptr());
  std::memset(to, 0, static_cast<size_t>(head.data_offset));
  std::memcpy(to, &head, sizeof head);
  std::memcpy(to + sizeof head, metadata.const_data_ptr(), static_cast<size_t>(head.metadata_bytes));
  std::memcpy(to + head.data_offset, Data(mkldnn), static_cast<size_t>(head.data_bytes));
}

Tensor Unpack(const Tensor& packed, IntArrayRef dims) {
  const auto* from = static_cast<const std::byte*>(packed.const_data_ptr());
  const auto bytes = static_cast<int64_t>(packed.nbytes());
  Head head{};
  TORCH_CHECK(bytes >= static_cast<int64_t>(sizeof head), "a packed constant has only ", bytes, " bytes");
  std::memcpy(&head, from, sizeof head);
  TORCH_CHECK(std::memcmp(head.magic, kMagic, sizeof kMagic) == 0 && head.metadata_bytes > 0 &&
                  head.metadata_bytes <= bytes && head.data_offset >= static_cast<int64_t>(sizeof head) &&
                  head.data_offset <= bytes && head.data_bytes == bytes - head.data_offset,
              "a packed constant is damaged");
  return at::native::mkldnn_tensor_from_data_ptr(const_cast<std::byte*>(from) + head.data_offset, dims, at::kFloat,
                                                 at::kCPU, reinterpret_cast<const uint8_t*>(from + sizeof head),
                                                 head.metadata_bytes);
}

}  // namespace millpond::kernels
