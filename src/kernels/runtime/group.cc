// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/runtime/group.h"

#include <utility>

#include "src/kernels/runtime/run.h"

namespace millpond::kernels {
namespace {

using What = GroupRequest::What;

DType TypeOf(ScalarType type) {
  switch (type) {
    case at::kChar:
      return DType::kInt8;
    case at::kShort:
      return DType::kInt16;
    case at::kInt:
      return DType::kInt32;
    case at::kLong:
      return DType::kInt64;
    case at::kUInt16:
      return DType::kUint16;
    case at::kUInt32:
      return DType::kUint32;
    case at::kUInt64:
      return DType::kUint64;
    case at::kHalf:
      return DType::kHalf;
    case at::kBFloat16:
      return DType::kBfloat16;
    case at::kFloat:
      return DType::kFloat;
    case at::kDouble:
      return DType::kDouble;
    default:
      return DType::kUint8;  // moved as bytes
  }
}

// What the client calls the place that a kernel touches at `data`: ranks reach each other's blocks by that. Memory of
// the kernel's own has no other address.
void* ClientAddress(void* data) {
  for (const TensorView& view : Frame::Current()->call().all_views()) {
    if (view.dtype == DType::kUndefined || view.extent() == 0) continue;
    auto* const first = static_cast<std::byte*>(Reach(const_cast<void*>(view.first())));
    const auto offset = static_cast<std::byte*>(data) - first;
    if (offset < 0 || static_cast<size_t>(offset) >= view.BytesOf(view.extent())) continue;
    return static_cast<std::byte*>(const_cast<void*>(view.first())) + offset;
  }
  return data;
}

void* AddressOf(const Tensor& tensor) {
  TORCH_CHECK(tensor.is_contiguous(), "a tensor with gaps was given to an operation of a group");
  return tensor.numel() == 0 ? nullptr : ClientAddress(tensor.data_ptr());
}

size_t SizeOf(const Tensor& tensor) { return tensor.numel() * tensor.element_size(); }

std::vector<GroupPart> Equal(int64_t ranks, size_t bytes) {
  std::vector<GroupPart> parts;
  for (int64_t i = 0; i < ranks; ++i) parts.push_back({static_cast<size_t>(i) * bytes, bytes});
  return parts;
}

std::vector<GroupPart> Listed(const char* what, const Group::Parts& parts, int64_t ranks, const Tensor& tensor) {
  TORCH_CHECK(static_cast<int64_t>(parts.counts.size()) == ranks && parts.places.size() == parts.counts.size(), what,
              " has ", parts.counts.size(), " counts and ", parts.places.size(), " places; the group has ", ranks,
              " ranks");
  std::vector<GroupPart> listed;
  for (size_t i = 0; i < parts.counts.size(); ++i) {
    // A model's numbers may be too large to be added.
    const bool counted = parts.counts[i] >= 0 && parts.counts[i] <= tensor.numel();
    TORCH_CHECK(counted && parts.places[i] >= 0 && parts.places[i] <= tensor.numel() - parts.counts[i], what, ": ",
                parts.counts[i], " elements from place ", parts.places[i], " on, for rank ", i,
                ", do not lie within the tensor's ", tensor.numel());
    const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements * tensor.element_size()); };
    listed.push_back({bytes(parts.places[i]), bytes(parts.counts[i])});
  }
  return listed;
}

}  // namespace

Status RunStep(OpCall& call, GroupSteps& steps, void (*body)(Frame& frame, Group& group)) {
  // RunGuarded hands nothing on but the frame.
  struct Running {
    GroupSteps* steps;
    void (*body)(Frame& frame, Group& group);
  };
  static thread_local Running running;
  running = {&steps, body};
  const auto step = [](Frame& frame) {
    Group group(running.steps);
    running.body(frame, group);
  };
  return steps.checking ? RunChecks(call, step) : RunGuarded(call, step, /*once=*/true);
}

const GroupSteps::Member& Group::Member(string_view name) const {
  for (const GroupSteps::Member& member : steps_.members) {
    if (member.group == name) return member;
  }
  TORCH_CHECK(false, "the group has no name; pass the one that HcclGetCommName gives");
}

void Group::CheckRanks(string_view name, int64_t told) const {
  const int64_t known = ranks(name);
  TORCH_CHECK(told <= 0 || told == known, "the group '", std::string(name), "' has ", known, " ranks, and ", told,
              " were told");
}

GroupWindow Group::Window(string_view name, int64_t rank) const {
  const GroupSteps::Member& member = Member(name);
  if (rank < 0 || rank >= member.ranks || !member.window) return {};
  GroupWindow window = member.window(rank);
  if (window.address != nullptr) window.address = static_cast<std::byte*>(Reach(window.address));
  return window;
}

Tensor& Group::kept(size_t i) {
  if (steps_.kept == nullptr) steps_.kept = std::make_shared<std::vector<Tensor>>(8);
  auto& tensors = *static_cast<std::vector<Tensor>*>(steps_.kept.get());
  TORCH_INTERNAL_ASSERT(i < tensors.size());
  return tensors[i];
}

GroupRequest& Group::Ask(What what, string_view name, ScalarType type) {
  GroupRequest& request = steps_.request;
  request = {};
  request.what = what;
  request.group = Member(name).group;
  request.type = TypeOf(type);
  return request;
}

GroupRequest& Group::Between(What what, string_view name, const Tensor& from, const Tensor& to) {
  TORCH_CHECK(from.scalar_type() == to.scalar_type(), "the group is given ", from.scalar_type(), " and wanted as ",
              to.scalar_type());
  GroupRequest& request = Ask(what, name, from.scalar_type());
  request.send = AddressOf(from);
  request.receive = AddressOf(to);
  return request;
}

GroupRequest& Group::Whole(What what, string_view name, const Tensor& from, const Tensor& to, string_view reduction) {
  TORCH_CHECK(from.numel() == to.numel(), "the group is given ", from.numel(), " elements and ", to.numel(),
              " are wanted");
  GroupRequest& request = Between(what, name, from, to);
  request.bytes = SizeOf(from);
  request.reduction = reduction;
  return request;
}

void Group::AllGather(string_view name, const Tensor& from, const Tensor& to) {
  TORCH_CHECK(from.numel() * ranks(name) == to.numel(), "the ", ranks(name), " ranks' parts of ", from.numel(),
              " elements do not fill the output's ", to.numel());
  Between(What::kAllGather, name, from, to).receive_parts = Equal(ranks(name), SizeOf(from));
}

void Group::ReduceScatter(string_view name, const Tensor& from, const Tensor& to, string_view reduction) {
  TORCH_CHECK(to.numel() * ranks(name) == from.numel(), from.numel(), " elements in ", ranks(name),
              " parts do not give the output's ", to.numel());
  GroupRequest& request = Between(What::kReduceScatter, name, from, to);
  request.send_parts = Equal(ranks(name), SizeOf(to));
  request.reduction = reduction;
}

void Group::AlltoAll(string_view name, const Tensor& from, const Tensor& to) {
  TORCH_CHECK(from.numel() == to.numel() && from.numel() % ranks(name) == 0, from.numel(), " elements are given and ",
              to.numel(), " wanted, in ", ranks(name), " equal parts");
  GroupRequest& request = Between(What::kAlltoAll, name, from, to);
  request.send_parts = request.receive_parts = Equal(ranks(name), SizeOf(from) / ranks(name));
}

Group::Parts Group::InOrder(std::vector<int64_t> counts) {
  Parts parts;
  int64_t end = 0;
  for (const int64_t count : counts) {
    parts.places.push_back(end);
    TORCH_CHECK(!__builtin_add_overflow(end, count, &end), "parts of ", count, " elements and more cannot be counted");
  }
  parts.counts = std::move(counts);
  return parts;
}

void Group::AlltoAllV(string_view name, const Tensor& from, const Parts& send, const Tensor& to, const Parts& receive) {
  GroupRequest& request = Between(What::kAlltoAllV, name, from, to);
  request.send_parts = Listed("what is sent", send, ranks(name), from);
  request.receive_parts = Listed("what is received", receive, ranks(name), to);
}

void Group::AllGatherV(string_view name, const Tensor& from, const Tensor& to, const Parts& receive) {
  GroupRequest& request = Between(What::kAllGatherV, name, from, to);
  request.receive_parts = Listed("what is received", receive, ranks(name), to);
  TORCH_CHECK(receive.counts[rank(name)] <= from.numel(), "this rank gives ", receive.counts[rank(name)],
              " elements and has ", from.numel());
}

void Group::ReduceScatterV(string_view name, const Tensor& from, const Parts& send, const Tensor& to,
                           string_view reduction) {
  GroupRequest& request = Between(What::kReduceScatterV, name, from, to);
  request.send_parts = Listed("what is sent", send, ranks(name), from);
  request.reduction = reduction;
  TORCH_CHECK(send.counts[rank(name)] <= to.numel(), "this rank gets ", send.counts[rank(name)],
              " elements, and the output has room for ", to.numel());
}

}  // namespace millpond::kernels
