// SPDX-License-Identifier: Apache-2.0
// Shapes of operators that work with other ranks of a group.
#include <algorithm>
#include <numeric>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {
namespace {

Status NeedRanks(const InferArgs& args, size_t which, int64_t* out) {
  *out = Int(args, which);
  MP_REQUIRE(*out > 0, "%s: %s is %lld; a group has at least one rank", RowName(args), NameOf(args, which),
             static_cast<long long>(*out));
  return Ok();
}

Status NeedParts(const InferArgs& args, int64_t size, int64_t ranks) {
  MP_REQUIRE(size % ranks == 0, "%s: %lld rows or columns cannot be shared evenly by %lld ranks", RowName(args),
             static_cast<long long>(size), static_cast<long long>(ranks));
  return Ok();
}

// x with so many times its rows, then as many parts of them.
Status Rows(const InferArgs& args, int64_t times, int64_t over, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  MP_REQUIRE(!x.empty(), "%s: %s has no dimension", RowName(args), NameOf(args, 0));
  MP_RETURN_IF_ERROR(NeedParts(args, x[0], over));
  MP_RETURN_IF_ERROR(Assign(args, x, out));
  out->dims[0] = Times(x[0], times) / over;
  return Ok();
}

// The matrices' sizes after their flags: m, k, n.
struct Sizes {
  int64_t m = 0, k = 0, inner = 0, n = 0;
};
Status Matrices(const InferArgs& args, Sizes* out) {
  const Dims x1 = ShapeOf(args, 0), x2 = ShapeOf(args, 1);
  MP_REQUIRE(x1.size() == 2 && x2.size() == 2, "%s: %s has %zu dimensions and %s %zu; both need 2", RowName(args),
             NameOf(args, 0), x1.size(), NameOf(args, 1), x2.size());
  const bool turn1 = Int(args, 2) != 0, turn2 = Int(args, 3) != 0;
  *out = {x1[turn1 ? 1 : 0], x1[turn1 ? 0 : 1], x2[turn2 ? 1 : 0], x2[turn2 ? 0 : 1]};
  return Ok();
}

enum class Columns { kOwn, kOfAllRanks };  // of x1, in a row that is multiplied
Status Product(const InferArgs& args, Columns columns, int64_t* out_ranks, Sizes* out) {
  MP_RETURN_IF_ERROR(NeedRanks(args, 4, out_ranks));
  MP_RETURN_IF_ERROR(Matrices(args, out));
  const int64_t times = columns == Columns::kOwn ? 1 : *out_ranks;
  MP_REQUIRE(Times(out->k, times) == out->inner, "%s: rows of %lld elements cannot be multiplied with columns of %lld",
             RowName(args), static_cast<long long>(Times(out->k, times)), static_cast<long long>(out->inner));
  return Ok();
}

Status Matrix(const InferArgs& args, int64_t rows, int64_t columns, Shape* out) {
  const int64_t dims[] = {rows, columns};
  return Assign(args, dims, out);
}

}  // namespace

Status rows_times(const InferArgs& args, Shape* out) {
  int64_t ranks = 0;
  MP_RETURN_IF_ERROR(NeedRanks(args, 1, &ranks));
  return Rows(args, ranks, 1, out);
}
Status rows_over(const InferArgs& args, Shape* out) {
  int64_t ranks = 0;
  MP_RETURN_IF_ERROR(NeedRanks(args, 1, &ranks));
  return Rows(args, 1, ranks, out);
}
Status rows_times_if(const InferArgs& args, Shape* out) {
  return Int(args, 2) != 0 ? rows_times(args, out) : Vector(args, 0, out);
}

Status parts_end(const InferArgs& args, Shape* out) {
  const Dims counts = Ints(args, 0);
  const bool placed = Has(args, 1) && !Ints(args, 1).empty();
  const Dims places = placed ? Ints(args, 1) : Dims();
  MP_REQUIRE(!placed || places.size() == counts.size(),
             "%s: %zu counts and %zu displacements; each rank has one of both", RowName(args), counts.size(),
             places.size());
  int64_t end = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    end = placed ? std::max(end, Plus(places[i], counts[i])) : Plus(end, counts[i]);
  }
  return Vector(args, end, out);
}
Status column_sum(const InferArgs& args, Shape* out) {
  const Dims matrix = Ints(args, 0);
  const int64_t rank = Int(args, 1);
  int64_t ranks = 0, sum = 0;
  while (ranks * ranks < static_cast<int64_t>(matrix.size())) ++ranks;
  MP_REQUIRE(ranks * ranks == static_cast<int64_t>(matrix.size()) && rank >= 0 && rank < ranks,
             "%s: %zu counts for rank %lld; there is one for each pair of ranks", RowName(args), matrix.size(),
             static_cast<long long>(rank));
  for (int64_t i = 0; i < ranks; ++i) sum = Plus(sum, matrix[static_cast<size_t>(i * ranks + rank)]);
  return Vector(args, sum, out);
}

Status matmul_rows_times(const InferArgs& args, Shape* out) {
  int64_t ranks = 0;
  Sizes sizes;
  MP_RETURN_IF_ERROR(Product(args, Columns::kOwn, &ranks, &sizes));
  return Matrix(args, Times(sizes.m, ranks), sizes.n, out);
}
Status RowsOver(const InferArgs& args, Columns columns, Shape* out) {
  int64_t ranks = 0;
  Sizes sizes;
  MP_RETURN_IF_ERROR(Product(args, columns, &ranks, &sizes));
  MP_RETURN_IF_ERROR(NeedParts(args, sizes.m, ranks));
  return Matrix(args, sizes.m / ranks, sizes.n, out);
}
Status matmul_rows_over(const InferArgs& args, Shape* out) { return RowsOver(args, Columns::kOwn, out); }
Status matmul_spread(const InferArgs& args, Shape* out) {
  int64_t ranks = 0;
  Sizes sizes;
  MP_RETURN_IF_ERROR(Product(args, Columns::kOwn, &ranks, &sizes));
  MP_RETURN_IF_ERROR(NeedParts(args, sizes.n, ranks));
  return Matrix(args, Times(sizes.m, ranks), sizes.n / ranks, out);
}
Status gathered_columns_matmul(const InferArgs& args, Shape* out) { return RowsOver(args, Columns::kOfAllRanks, out); }
Status columns_gathered_if(const InferArgs& args, Shape* out) {
  int64_t ranks = 0;
  MP_RETURN_IF_ERROR(NeedRanks(args, 1, &ranks));
  const Dims x = ShapeOf(args, 0);
  if (Int(args, 2) == 0) return Vector(args, 0, out);
  MP_REQUIRE(x.size() == 2, "%s: %s has %zu dimensions; it needs 2", RowName(args), NameOf(args, 0), x.size());
  MP_RETURN_IF_ERROR(NeedParts(args, x[0], ranks));
  return Matrix(args, x[0] / ranks, Times(x[1], ranks), out);
}

namespace {

// How many experts a rank has: one of the shared ones, or its part of the others.
Status ExpertsOf(const InferArgs& args, int64_t ranks, int64_t rank, int64_t experts, int64_t shared_ranks,
                 int64_t* out) {
  MP_REQUIRE(ranks > 0 && rank >= 0 && rank < ranks && shared_ranks >= 0 && shared_ranks < ranks && experts > 0,
             "%s: %lld experts on %lld ranks, of which %lld have shared ones, do not go together (rank %lld)",
             RowName(args), static_cast<long long>(experts), static_cast<long long>(ranks),
             static_cast<long long>(shared_ranks), static_cast<long long>(rank));
  *out = rank < shared_ranks ? 1 : experts / (ranks - shared_ranks);
  return Ok();
}

// The most tokens that may come to this rank (page "aclnnMoeDistributeDispatch").
Status MostTokens(const InferArgs& args, int64_t* out) {
  const Dims x = ShapeOf(args, 0), ids = ShapeOf(args, 1);
  MP_REQUIRE(x.size() == 2 && ids.size() == 2, "%s: %s has %zu dimensions and %s %zu; both need 2", RowName(args),
             NameOf(args, 0), x.size(), NameOf(args, 1), ids.size());
  const int64_t ranks = Int(args, 2), rank = Int(args, 3), shared = Int(args, 5), shared_ranks = Int(args, 6);
  int64_t here = 0;
  MP_RETURN_IF_ERROR(ExpertsOf(args, ranks, rank, Int(args, 4), shared_ranks, &here));
  const int64_t all = Int(args, 7) > 0 ? Int(args, 7) : Times(x[0], ranks);
  *out = rank < shared_ranks ? Times(all, shared) / shared_ranks : Times(all, std::min(here, ids[1]));
  return Ok();
}

}  // namespace

Status moe_tokens(const InferArgs& args, Shape* out) {
  int64_t tokens = 0;
  MP_RETURN_IF_ERROR(MostTokens(args, &tokens));
  return Matrix(args, tokens, ShapeOf(args, 0)[1], out);
}
Status moe_token_list(const InferArgs& args, Shape* out) {
  int64_t tokens = 0;
  MP_RETURN_IF_ERROR(MostTokens(args, &tokens));
  return Vector(args, tokens, out);
}
Status moe_assist(const InferArgs& args, Shape* out) {
  constexpr int64_t kForEach = 128;
  int64_t tokens = 0;
  MP_RETURN_IF_ERROR(MostTokens(args, &tokens));
  return Vector(args, Times(tokens, kForEach), out);
}
Status moe_experts_here(const InferArgs& args, Shape* out) {
  int64_t here = 0;
  MP_RETURN_IF_ERROR(ExpertsOf(args, Int(args, 0), Int(args, 1), Int(args, 2), Int(args, 3), &here));
  return Vector(args, here, out);
}
Status moe_counts_here(const InferArgs& args, Shape* out) {
  int64_t here = 0;
  MP_RETURN_IF_ERROR(ExpertsOf(args, Int(args, 0), Int(args, 1), Int(args, 2), Int(args, 3), &here));
  return Vector(args, Times(here, Int(args, 0)), out);
}
Status moe_copies(const InferArgs& args, Shape* out) { return Vector(args, Elements(ShapeOf(args, 0)), out); }
Status moe_second_group(const InferArgs& args, Shape* out) {
  return Vector(args, std::max<int64_t>(1, Int(args, 0)), out);
}
Status moe_back(const InferArgs& args, Shape* out) {
  const Dims rows = ShapeOf(args, 0), ids = ShapeOf(args, 1);
  MP_REQUIRE(rows.size() == 2 && ids.size() == 2, "%s: %s has %zu dimensions and %s %zu; both need 2", RowName(args),
             NameOf(args, 0), rows.size(), NameOf(args, 1), ids.size());
  return Matrix(args, ids[0], rows[1], out);
}
Status experts_product(const InferArgs& args, Shape* out) {
  const Dims counts = Ints(args, 0), weight = ShapeOf(args, 1);
  MP_REQUIRE(weight.size() == 3, "%s: %s has %zu dimensions; it needs 3", RowName(args), NameOf(args, 1),
             weight.size());
  return Matrix(args, std::accumulate(counts.begin(), counts.end(), int64_t{0}, Plus),
                weight[Int(args, 2) != 0 ? 1 : 2], out);
}
Status matmul_if(const InferArgs& args, Shape* out) {
  if (!Has(args, 0) || !Has(args, 1)) return Vector(args, 0, out);
  const Dims x = ShapeOf(args, 0), y = ShapeOf(args, 1);
  MP_REQUIRE(x.size() == 2 && y.size() == 2, "%s: %s has %zu dimensions and %s %zu; both need 2", RowName(args),
             NameOf(args, 0), x.size(), NameOf(args, 1), y.size());
  return Matrix(args, x[0], y[Int(args, 2) != 0 ? 0 : 1], out);
}
Status counted_rows_if(const InferArgs& args, Shape* out) {
  if (Int(args, 2) == 0) return Vector(args, 0, out);
  const Dims counts = Ints(args, 0), x = ShapeOf(args, 1);
  MP_REQUIRE(x.size() == 2, "%s: %s has %zu dimensions; it needs 2", RowName(args), NameOf(args, 1), x.size());
  return Matrix(args, std::accumulate(counts.begin(), counts.end(), int64_t{0}, Plus), x[1], out);
}
Status moe_type(const InferArgs& args, DType* out) {
  *out = Int(args, 1) == 0 ? ViewOf(args, 0).dtype : DType::kInt8;
  return Ok();
}

}  // namespace millpond::infer
