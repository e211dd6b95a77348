// SPDX-License-Identifier: Apache-2.0
// Collectives of a graph.
#include "src/kernels/runtime/group.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

std::vector<int64_t> List(IntArrayRef list) { return list.vec(); }

// Counts with their places; without these one part follows the other.
Group::Parts Placed(IntArrayRef counts, const OptIntArrayRef& places) {
  if (!places.has_value() || places->empty()) return Group::InOrder(List(counts));
  return {List(counts), List(*places)};
}

int64_t One(IntArrayRef list, const char* name) {
  TORCH_CHECK(list.size() == 1, name, " has ", list.size(), " elements; it must have one");
  return list[0];
}

// The lists of all ranks, which have this rank's own count too: the two must agree.
Group::Parts PartsWithOwn(const Group& group, string_view name, const char* list, IntArrayRef counts,
                          OptIntArrayRef places, const char* own, IntArrayRef own_count) {
  Group::Parts parts = Placed(counts, places);
  const int64_t count = One(own_count, own);
  TORCH_CHECK(static_cast<int64_t>(parts.counts.size()) == group.ranks(name) && parts.counts[group.rank(name)] == count,
              list, " does not have this rank's ", own, " ", count, " at its place ", group.rank(name));
  return parts;
}

}  // namespace

MP_GROUP_KERNEL(GeHcomAllReduce, const Tensor& x, string_view reduction, string_view name, Tensor& y) {
  if (group.step() > 0) return;
  if (!group.checking()) StartFrom(x, y);
  group.AllReduce(name, y, reduction);
}

// On the other ranks the result is what they gave.
MP_GROUP_KERNEL(GeHcomReduce, const Tensor& x, int64_t root, string_view reduction, string_view name, Tensor& y) {
  if (group.step() > 0) return;
  if (!group.checking()) StartFrom(x, y);
  group.Reduce(name, y, y, reduction, root);
}

MP_GROUP_KERNEL(GeHcomBroadcast, TensorList x, int64_t root, string_view name, OutList y) {
  TORCH_CHECK(x.size() == y.size(), "there are ", x.size(), " inputs and ", y.size(), " outputs");
  const size_t i = group.step();
  if (i >= x.size()) return;
  if (!group.checking()) StartFrom(x[i], y[i]);
  group.Broadcast(name, y[i], root);
}

MP_GROUP_KERNEL(GeHcomAllGather, const Tensor& x, int64_t ranks, string_view name, Tensor& y) {
  if (group.step() > 0) return;
  group.CheckRanks(name, ranks);
  group.kept(0) = group.Packed(x);
  group.AllGather(name, group.kept(0), y);
}

// The other ranks' results are zeros.
MP_GROUP_KERNEL(GeHcomGather, const Tensor& x, int64_t ranks, int64_t root, string_view name, Tensor& y) {
  if (group.step() > 0) return;
  group.CheckRanks(name, ranks);
  const int64_t members = group.ranks(name);
  TORCH_CHECK(root >= 0 && root < members, "root_rank is ", root, "; the group has ", members, " ranks");
  if (!group.checking()) y.zero_();
  group.kept(0) = group.Packed(x);
  std::vector<int64_t> gives(members, 0);
  gives[root] = x.numel();
  group.AlltoAllV(name, group.kept(0), Group::InOrder(gives), y,
                  Group::InOrder(std::vector<int64_t>(members, group.rank(name) == root ? x.numel() : 0)));
}

MP_GROUP_KERNEL(GeHcomReduceScatter, const Tensor& x, int64_t ranks, string_view reduction, string_view name,
                Tensor& y) {
  if (group.step() > 0) return;
  group.CheckRanks(name, ranks);
  group.kept(0) = group.Packed(x);
  group.ReduceScatter(name, group.kept(0), y, reduction);
}

MP_GROUP_KERNEL(GeHcomAllToAll, const Tensor& x, string_view name, Tensor& y) {
  if (group.step() > 0) return;
  group.kept(0) = group.Packed(x);
  group.AlltoAll(name, group.kept(0), y);
}

MP_GROUP_KERNEL(GeHcomAllToAllV, const Tensor& x, IntArrayRef send_counts, IntArrayRef send_places,
                IntArrayRef recv_counts, IntArrayRef recv_places, string_view name, Tensor& y) {
  if (group.step() > 0) return;
  group.kept(0) = group.Packed(x);
  group.AlltoAllV(name, group.kept(0), {List(send_counts), List(send_places)}, y,
                  {List(recv_counts), List(recv_places)});
}

MP_GROUP_KERNEL(GeHcomAllToAllVC, const Tensor& x, IntArrayRef matrix, int64_t rank, string_view name, Tensor& y) {
  if (group.step() > 0) return;
  const int64_t ranks = group.ranks(name);
  TORCH_CHECK(static_cast<int64_t>(matrix.size()) == ranks * ranks, "send_count_matrix has ", matrix.size(),
              " counts; the group has ", ranks, " ranks");
  TORCH_CHECK(rank == group.rank(name), "rank is ", rank, "; this is rank ", group.rank(name), " of the group");
  std::vector<int64_t> gives, gets;
  for (int64_t i = 0; i < ranks; ++i) {
    gives.push_back(matrix[rank * ranks + i]);
    gets.push_back(matrix[i * ranks + rank]);
  }
  group.kept(0) = group.Packed(x);
  group.AlltoAllV(name, group.kept(0), Group::InOrder(gives), y, Group::InOrder(gets));
}

MP_GROUP_KERNEL(GeHcomAllGatherV, const Tensor& x, IntArrayRef send_count, IntArrayRef recv_counts,
                OptIntArrayRef recv_places, string_view name, Tensor& y) {
  if (group.step() > 0) return;
  const Group::Parts parts =
      PartsWithOwn(group, name, "recv_counts", recv_counts, recv_places, "send_count", send_count);
  group.kept(0) = group.Packed(x);
  group.AllGatherV(name, group.kept(0), y, parts);
}

MP_GROUP_KERNEL(GeHcomReduceScatterV, const Tensor& x, IntArrayRef recv_count, IntArrayRef send_counts,
                OptIntArrayRef send_places, string_view reduction, string_view name, Tensor& y) {
  if (group.step() > 0) return;
  const Group::Parts parts =
      PartsWithOwn(group, name, "send_counts", send_counts, send_places, "recv_count", recv_count);
  group.kept(0) = group.Packed(x);
  group.ReduceScatterV(name, group.kept(0), parts, y, reduction);
}

MP_GROUP_KERNEL(GeHcomSend, const Tensor& x, int64_t peer, int64_t tag, string_view name) {
  if (group.step() > 0) return;
  group.kept(0) = group.Packed(x);
  group.Send(name, group.kept(0), peer, tag);
}
MP_GROUP_KERNEL(GeHcomReceive, int64_t peer, int64_t tag, string_view name, Tensor& y) {
  if (group.step() == 0) group.Receive(name, y, peer, tag);
}

MP_GROUP_KERNEL(GeBarrier, int64_t ranks, string_view name) {
  if (group.step() > 0) return;
  group.CheckRanks(name, ranks);
  group.Barrier(name);
}
// A prefetch into L2, of which the CPU needs none.
MP_KERNEL(GePrefetch) {}

}  // namespace millpond::kernels
