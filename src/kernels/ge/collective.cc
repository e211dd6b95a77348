// SPDX-License-Identifier: Apache-2.0
// Collectives of a graph. They work in groups of one rank: what it reduces or gathers is its own.
#include "src/base/group_ranks.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// The attribute may say how many ranks there are, and the group's communicator knows.
void CheckRanks(int64_t ranks, string_view group) {
  TORCH_CHECK(ranks <= 1, "the group has ", ranks, " ranks; collectives of graphs work within one rank only");
  const int64_t known = RanksOfGroup({group.data(), group.size()});
  TORCH_CHECK(known != kUnknownGroup, "no communicator of this process has the group's name '", group,
              "', and there are others with several ranks; pass what HcclGetCommName gives");
  TORCH_CHECK(known <= 1, "the group '", group, "' has ", known,
              " ranks; collectives of graphs work within one rank only: call Hccl* between graphs instead");
}

// The one rank's entry of a list of counts or displacements.
int64_t Own(IntArrayRef list, const char* name) {
  TORCH_CHECK(list.size() == 1, name, " has ", list.size(),
              " entries, one for each rank; collectives of graphs work within one rank only");
  return list[0];
}
int64_t Own(OptIntArrayRef list, const char* name, int64_t otherwise) {
  return list.has_value() && !list->empty() ? Own(*list, name) : otherwise;
}

Tensor Turned(const Tensor& matrix, bool turn) { return turn ? matrix.transpose(-1, -2) : matrix; }

Tensor Matmul(const Tensor& x1, const Tensor& x2, const OptTensor& bias, bool turn1, bool turn2) {
  TORCH_CHECK(at::isFloatingType(x1.scalar_type()), "x1 has type ", x1.scalar_type(),
              "; products of quantised matrices with a collective are not supported");
  const Tensor product = at::matmul(Turned(x1, turn1), Turned(x2, turn2));
  return bias.has_value() && bias->numel() != 0 ? product.add(*bias) : product;
}

}  // namespace

MP_KERNEL(GeCollectiveCopy, const Tensor& x, int64_t ranks, string_view group, Tensor& y) {
  CheckRanks(ranks, group);
  StartFrom(x, y);
}
MP_KERNEL(GeCollectiveCopies, TensorList x, int64_t root, string_view group, OutList y) {
  CheckRanks(1, group);
  TORCH_CHECK(root == 0, "root_rank is ", root, "; the only rank of the group is 0");
  TORCH_CHECK(x.size() == y.size(), "there are ", x.size(), " inputs and ", y.size(), " outputs");
  for (size_t i = 0; i < x.size(); ++i) StartFrom(x[i], y[i]);
}
MP_KERNEL(GeCollectiveParts, const Tensor& x, OptIntArrayRef send_counts, OptIntArrayRef send_displacements,
          IntArrayRef recv_counts, OptIntArrayRef recv_displacements, string_view group, Tensor& y) {
  CheckRanks(1, group);
  const int64_t count = Own(recv_counts, "recv_counts");
  TORCH_CHECK(Own(send_counts, "send_counts", count) == count, "the rank sends itself ",
              Own(send_counts, "send_counts", count), " elements and receives ", count);
  const int64_t from = Own(send_displacements, "send_displacements", 0);
  const int64_t to = Own(recv_displacements, "recv_displacements", 0);
  const Tensor source = x.reshape({-1});
  TORCH_CHECK(from >= 0 && to >= 0 && count >= 0 && from + count <= source.numel() && to + count <= y.numel(),
              "elements ", from, " to ", from + count, " of ", source.numel(), " go to place ", to, " of ", y.numel());
  y.view({-1}).narrow(0, to, count).copy_(source.narrow(0, from, count));
}

MP_KERNEL(GeMatmulCollective, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x3,
          bool turn1, bool turn2, int64_t ranks, string_view group, Tensor& y) {
  CheckRanks(ranks, group);
  const Tensor product = Matmul(x1, x2, bias, turn1, turn2);
  Write(y, x3.has_value() && x3->numel() != 0 ? product.add(*x3) : product);
}
MP_KERNEL(GeCollectiveMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, bool turn1, bool turn2,
          int64_t ranks, string_view group, bool gathered, Tensor& y, Tensor& gather_out) {
  CheckRanks(ranks, group);
  Write(y, Matmul(x1, x2, bias, turn1, turn2));
  if (gathered) StartFrom(x1, gather_out);
}

// Of matrices that are not quantised: then there is no largest value to tell.
MP_KERNEL(GeMatmulScattered, const Tensor& x1, const Tensor& x2, const OptTensor& bias, bool turn1, bool turn2,
          int64_t ranks, string_view group, Tensor& y) {
  CheckRanks(ranks, group);
  Write(y, Matmul(x1, x2, bias, turn1, turn2));
}
MP_KERNEL(GeGatheredMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, bool turn1, bool turn2,
          int64_t ranks, string_view group, bool gathered, Tensor& y, Tensor& gather_out) {
  CheckRanks(ranks, group);
  Write(y, Matmul(x1, x2, bias, turn1, turn2));
  if (gathered) StartFrom(x1, gather_out);
}

MP_KERNEL(GeBarrier, int64_t ranks, string_view group) { CheckRanks(ranks, group); }
// A prefetch into L2, of which the CPU needs none.
MP_KERNEL(GePrefetch) {}

}  // namespace millpond::kernels
