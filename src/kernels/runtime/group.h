// SPDX-License-Identifier: Apache-2.0
// How a kernel is written that works with other ranks:
//
//   MP_GROUP_KERNEL(SumOfProducts, const Tensor& a, const Tensor& b, string_view name, Tensor& out) {
//     switch (group.step()) {
//       case 0:
//         TORCH_CHECK(a.size(1) == b.size(0), "...");
//         if (!group.checking()) Write(out, at::matmul(a, b));
//         return group.AllReduce(name, out, "sum");
//     }
//   }
//
// It is called once for each step. `group` is there besides its parameters; asking it for an operation ends a step, and
// the next begins when the operation is over on this rank. What must live until then is put into group.kept(i).
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_GROUP_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_GROUP_H_

#include <string>
#include <vector>

#include "src/kernels/runtime/group_kernel.h"
#include "src/kernels/runtime/kernel.h"
#include "src/ops/group_steps.h"

namespace millpond::kernels {

class Group {
 public:
  explicit Group(GroupSteps* steps) : steps_(*steps) {}

  size_t step() const { return steps_.step; }
  // Only the arguments count: step 0 refuses them, those that a later step would refuse too, and asks for its
  // operation. Nothing is computed, and no output is written.
  bool checking() const { return steps_.checking; }
  // The same tensor without gaps; while checking, without its values.
  Tensor Packed(const Tensor& tensor) const {
    return tensor.is_contiguous() || !checking() ? tensor.contiguous() : at::empty(tensor.sizes(), tensor.options());
  }
  int64_t ranks(string_view name) const { return Member(name).ranks; }
  int64_t rank(string_view name) const { return Member(name).rank; }
  // Refuses a number of ranks that the caller gives and that is not the group's. 0: not given.
  void CheckRanks(string_view name, int64_t told) const;
  // Tensors that stay from step to step.
  Tensor& kept(size_t i);

  // Each asks for one operation. Tensors are contiguous, and live until the next step: arguments of the kernel, or
  // kept.
  void AllReduce(string_view name, const Tensor& tensor, string_view reduction) {
    Whole(GroupRequest::What::kAllReduce, name, tensor, tensor, reduction);
  }
  void Reduce(string_view name, const Tensor& from, const Tensor& to, string_view reduction, int64_t root) {
    Whole(GroupRequest::What::kReduce, name, from, to, reduction).root = root;
  }
  void Broadcast(string_view name, const Tensor& tensor, int64_t root) {
    Whole(GroupRequest::What::kBroadcast, name, tensor, tensor, "").root = root;
  }
  // Both ends must have the tag.
  void Send(string_view name, const Tensor& tensor, int64_t peer, int64_t tag) {
    Message(GroupRequest::What::kSend, name, tensor, peer, tag);
  }
  void Receive(string_view name, const Tensor& tensor, int64_t peer, int64_t tag) {
    Message(GroupRequest::What::kReceive, name, tensor, peer, tag);
  }
  // What a rank has given to this one by HcclCommExchangeMem, or this rank's own; null where there is nothing.
  GroupWindow Window(string_view name, int64_t rank) const;
  // Until other ranks have cleared the flags, each in the window of its rank.
  void AwaitClear(string_view name, std::vector<GroupFlag> flags) {
    Ask(GroupRequest::What::kAwaitClear, name, at::kInt).flags = std::move(flags);
  }
  void Barrier(string_view name) { Ask(GroupRequest::What::kBarrier, name, at::kByte); }
  // `to` has all ranks' parts, one after the other.
  void AllGather(string_view name, const Tensor& from, const Tensor& to);
  void ReduceScatter(string_view name, const Tensor& from, const Tensor& to, string_view reduction);
  void AlltoAll(string_view name, const Tensor& from, const Tensor& to);
  // Counts and places are in elements, one for each rank.
  struct Parts {
    std::vector<int64_t> counts;
    std::vector<int64_t> places;
  };
  // One part after the other.
  static Parts InOrder(std::vector<int64_t> counts);
  void AlltoAllV(string_view name, const Tensor& from, const Parts& send, const Tensor& to, const Parts& receive);
  void AllGatherV(string_view name, const Tensor& from, const Tensor& to, const Parts& receive);
  void ReduceScatterV(string_view name, const Tensor& from, const Parts& send, const Tensor& to, string_view reduction);

 private:
  const GroupSteps::Member& Member(string_view name) const;
  GroupRequest& Ask(GroupRequest::What what, string_view name, ScalarType type);
  GroupRequest& Whole(GroupRequest::What what, string_view name, const Tensor& from, const Tensor& to,
                      string_view reduction);
  void Message(GroupRequest::What what, string_view name, const Tensor& tensor, int64_t peer, int64_t tag) {
    GroupRequest& request = Whole(what, name, tensor, tensor, "");
    request.root = peer;
    request.tag = tag;
  }
  GroupRequest& Between(GroupRequest::What what, string_view name, const Tensor& from, const Tensor& to);

  GroupSteps& steps_;
};

// As RunGuarded, for one step.
Status RunStep(OpCall& call, GroupSteps& steps, void (*body)(Frame& frame, Group& group));

template <auto kFunction>
struct BindGroup;

template <class... P, void (*kFunction)(Group&, P...)>
struct BindGroup<kFunction> {
  static constexpr char kSignature[] = {internal::Parameter<P>::kLetter..., '\0'};
  static Status Run(OpCall& call, GroupSteps& steps) {
    return RunStep(call, steps,
                   [](Frame& frame, Group& group) { Call(frame, group, std::index_sequence_for<P...>()); });
  }

 private:
  template <size_t... I>
  static void Call(Frame& frame, Group& group, std::index_sequence<I...>) {
    kFunction(group, internal::Parameter<P>::From(frame, I)...);
  }
};

}  // namespace millpond::kernels

#define MP_GROUP_KERNEL(name, ...)                                                      \
  static void name(::millpond::kernels::Group& group, __VA_ARGS__);                     \
  static const ::millpond::kernels::GroupKernel mp_kernel_##name{                       \
      {#name, ::millpond::kernels::BindGroup<&name>::kSignature, nullptr},              \
      &::millpond::kernels::BindGroup<&name>::Run};                                     \
  static const ::millpond::kernels::Registered mp_registered_##name{&mp_kernel_##name}; \
  static void name(::millpond::kernels::Group& group, __VA_ARGS__)

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_GROUP_H_
