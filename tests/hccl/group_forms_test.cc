// SPDX-License-Identifier: Apache-2.0
// Every version of the operators that take a group's name: a row says what each argument is given, and what the result
// must be. They are looked up by name and called with words, as torch_npu calls them.
#include <dlfcn.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>

#include "aclnn/aclnn_base.h"
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

// --- Calls by words -------------------------------------------------------------------------------------------------

template <size_t>
using Word = uint64_t;
template <size_t... I>
int CallWith(void* function, const uint64_t* words, std::index_sequence<I...>) {
  return reinterpret_cast<int (*)(Word<I>...)>(function)(words[I]...);
}
template <size_t N>
int Call(void* function, const std::vector<uint64_t>& words) {
  if constexpr (N == 0) {
    return -1;
  } else {
    if (words.size() == N) return CallWith(function, words.data(), std::make_index_sequence<N>());
    return Call<N - 1>(function, words);
  }
}
constexpr size_t kMaxWords = 48;

// The arguments by name.
class Names {
 public:
  explicit Names(Rank& rank) : r(rank) {
    EXPECT_EQ(HcclGetCommName(r.comm, group_.data()), 0) << acl_test::RecentMessage();
    Set("group", group_.data());
    Set("ranks", r.ranks);
    Set("rank", r.rank);
  }
  ~Names() {
    for (aclTensor* tensor : tensors_) RANK_OK(r, aclDestroyTensor(tensor));
    for (aclIntArray* array : arrays_) RANK_OK(r, aclDestroyIntArray(array));
  }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  void Set(const std::string& name, const void* value) { words_[name] = reinterpret_cast<uintptr_t>(value); }
  void Set(const std::string& name, uint64_t value) { words_[name] = value; }
  void Tensor(const std::string& name, const void* data, const std::vector<int64_t>& shape,
              aclDataType type = ACL_FLOAT) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    tensors_.push_back(aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                                       shape.size(), const_cast<void*>(data)));
    Set(name, tensors_.back());
  }
  void Ints(const std::string& name, const std::vector<int64_t>& values) {
    arrays_.push_back(aclCreateIntArray(values.data(), values.size()));
    Set(name, arrays_.back());
  }

  // "aclnnMatmulAllReduceV2 x1 x2 - - group 'sum 0 1 out": words, numbers, - for NULL, ' before a text. False when the
  // kernels are stand-ins, as in the sanitizers' builds.
  bool Run(const std::string& row) {
    const bool begun = Begin(row, &executor_);
    if (!begun) return said_.find("has no kernel in this release") == std::string::npos;
    RANK_OK(r, (reinterpret_cast<int (*)(void*, uint64_t, aclOpExecutor*, aclrtStream)>(second_)(nullptr, 0, executor_,
                                                                                                 r.stream)));
    r.Sync();
    return true;
  }
  // What the first phase says, which must refuse.
  std::string Refused(const std::string& row) {
    expects_ = false;
    return Begin(row, &executor_) ? "nothing" : said_;
  }

 private:
  bool Begin(const std::string& row, aclOpExecutor** out_executor) {
    std::stringstream stream(row);
    std::string name;
    stream >> name;
    std::vector<uint64_t> words;
    std::vector<std::unique_ptr<std::string>> texts;
    for (std::string token; stream >> token;) {
      if (token == "-") {
        words.push_back(0);
      } else if (token[0] == '\'') {
        texts.push_back(std::make_unique<std::string>(token.substr(1)));
        words.push_back(reinterpret_cast<uintptr_t>(texts.back()->c_str()));
      } else if (isdigit(token[0]) != 0) {
        words.push_back(std::stoull(token));
      } else {
        if (!words_.contains(token)) r.Complain(row + ": there is no '" + token + "'");
        words.push_back(words_[token]);
      }
    }
    uint64_t workspace = 0;
    words.push_back(reinterpret_cast<uintptr_t>(&workspace));
    words.push_back(reinterpret_cast<uintptr_t>(out_executor));
    void* const first = dlsym(RTLD_DEFAULT, (name + "GetWorkspaceSize").c_str());
    second_ = dlsym(RTLD_DEFAULT, name.c_str());
    said_ = name + " is not exported";
    if (first != nullptr && second_ != nullptr) {
      acl_test::RecentMessage();
      if (Call<kMaxWords>(first, words) == 0) return true;
      said_ = acl_test::RecentMessage();
    }
    if (expects_ && said_.find("has no kernel in this release") == std::string::npos) r.Complain(row + ": " + said_);
    return false;
  }

  Rank& r;
  std::array<char, 128> group_{};
  std::map<std::string, uint64_t> words_;
  std::vector<aclTensor*> tensors_;
  std::vector<aclIntArray*> arrays_;
  std::string said_;
  void* second_ = nullptr;
  aclOpExecutor* executor_ = nullptr;
  bool expects_ = true;
};

// --- Matrices of small whole numbers, so that every sum is exact
// -------------------------------------------------------

using Matrix = std::vector<float>;
Matrix Of(uint32_t seed, size_t count) {
  Matrix values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((seed * 5 + i * 3) % 7) - 2;
  return values;
}
Matrix Times(const Matrix& a, const Matrix& b, size_t inner, size_t columns) {
  Matrix product(a.size() / inner * columns, 0);
  for (size_t i = 0; i < product.size(); ++i) {
    for (size_t k = 0; k < inner; ++k) product[i] += a[i / columns * inner + k] * b[k * columns + i % columns];
  }
  return product;
}
void AddTo(Matrix& sum, const Matrix& part) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

constexpr size_t kRows = 4, kInner = 3, kColumns = 2;

RANK_BODY(AllReduceForms) {
  const Values<float> x1(Of(r.rank, kRows * kInner)), x2(Of(r.rank + 1, kInner * kColumns)),
      x3(Of(r.rank + 2, kRows * kColumns));
  Matrix sum(kRows * kColumns, 0), more = sum;
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    AddTo(sum, Times(Of(rank, kRows * kInner), Of(rank + 1, kInner * kColumns), kInner, kColumns));
    AddTo(more, Of(rank + 2, kRows * kColumns));
  }
  AddTo(more, sum);
  for (const auto& [row, expected] : std::initializer_list<std::pair<const char*, const Matrix&>>{
           {"aclnnMatmulAllReduce x1 x2 - group 'sum 0 1 out", sum},
           {"aclnnMatmulAllReduceV2 x1 x2 - - group 'sum 0 1 out", sum},
           {"aclnnMatmulAllReduceV2 x1 x2 - x3 group 'sum 0 1 out", more},
           {"aclnnMatmulAllReduceV3 x1 x2 - x3 group 'sum 'aicpu 0 1 out", more}}) {
    Names names(r);
    const Values<float> out(Matrix(kRows * kColumns, -9));
    names.Tensor("x1", x1.get(), {kRows, kInner});
    names.Tensor("x2", x2.get(), {kInner, kColumns});
    names.Tensor("x3", x3.get(), {kRows, kColumns});
    names.Tensor("out", out.get(), {kRows, kColumns});
    if (!names.Run(row)) return;
    Expect(r, row, out.Read(), expected);
  }
}

RANK_BODY(QuantForms) {
  const auto bytes = [](const Matrix& m) { return std::vector<int8_t>(m.begin(), m.end()); };
  const Values<int8_t> x1(bytes(Of(r.rank, kRows * kInner))), x2(bytes(Of(r.rank + 1, kInner * kColumns)));
  const Values<float> scale(Matrix(kColumns, 2)), rows(Matrix(kRows, 0.5F));
  Matrix sum(kRows * kColumns, 0);
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    AddTo(sum, Times(Of(rank, kRows * kInner), Of(rank + 1, kInner * kColumns), kInner, kColumns));
  }
  Matrix twice = sum;
  AddTo(twice, sum);
  for (const auto& [row, expected] : std::initializer_list<std::pair<const char*, const Matrix&>>{
           {"aclnnQuantMatmulAllReduce x1 x2 - - scale group 'sum 0 1 out", twice},
           {"aclnnQuantMatmulAllReduceV2 x1 x2 - - scale rows group 'sum 0 1 out", sum},
           {"aclnnQuantMatmulAllReduceV3 x1 x2 - - scale rows - - group 'sum 0 1 out", sum},
           {"aclnnQuantMatmulAllReduceV4 x1 x2 - - rows scale - - group 'sum 0 1 0 0 out", sum},
           {"aclnnQuantMatmulAllReduceV5 x1 x2 - - rows scale - - group 'sum 'aicpu 0 1 0 0 out", sum}}) {
    Names names(r);
    const Values<float> out(Matrix(kRows * kColumns, -9));
    names.Tensor("x1", x1.get(), {kRows, kInner}, ACL_INT8);
    names.Tensor("x2", x2.get(), {kInner, kColumns}, ACL_INT8);
    names.Tensor("scale", scale.get(), {kColumns});
    names.Tensor("rows", rows.get(), {kRows});
    names.Tensor("out", out.get(), {kRows, kColumns});
    if (!names.Run(row)) return;
    Expect(r, row, out.Read(), expected);
  }
}

RANK_BODY(GatherForms) {
  const size_t rows = kRows * r.ranks;
  const Values<float> part(Of(r.rank, kRows * kInner)), whole(Of(r.rank, rows * kInner)),
      weight(Of(9, kInner * kColumns));
  Matrix everybody, sum(rows * kColumns, 0);
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    for (const float value : Of(rank, kRows * kInner)) everybody.push_back(value);
    AddTo(sum, Times(Of(rank, rows * kInner), Of(9, kInner * kColumns), kInner, kColumns));
  }
  const auto first = sum.begin() + static_cast<ptrdiff_t>(r.rank * kRows * kColumns);
  const auto run = [&](const char* row, const Values<float>& out, const Matrix& expected) {
    Names names(r);
    const Values<float> gathered(Matrix(rows * kInner, -9));
    names.Tensor("part", part.get(), {kRows, kInner});
    names.Tensor("whole", whole.get(), {static_cast<int64_t>(rows), kInner});
    names.Tensor("weight", weight.get(), {kInner, kColumns});
    names.Tensor("all", out.get(), {static_cast<int64_t>(rows), kColumns});
    names.Tensor("mine", out.get(), {kRows, kColumns});
    names.Tensor("gathered", gathered.get(), {static_cast<int64_t>(rows), kInner});
    if (names.Run(row)) Expect(r, row, out.Read(), expected);
  };
  const Matrix product = Times(everybody, Of(9, kInner * kColumns), kInner, kColumns);
  for (const char* row : {"aclnnAllGatherMatmul part weight - group 0 0 1 all gathered",
                          "aclnnAllGatherMatmulV2 part weight - - - - 0 group 0 0 1 0 'aicpu all gathered -"}) {
    run(row, Values<float>(Matrix(rows * kColumns, -9)), product);
  }
  for (const char* row : {"aclnnMatmulReduceScatter whole weight - group 'sum 0 1 mine",
                          "aclnnMatmulReduceScatterV2 whole weight - - - - 0 group 'sum 0 1 0 'aicpu mine -"}) {
    run(row, Values<float>(Matrix(kRows * kColumns, -9)), Matrix(first, first + kRows * kColumns));
  }
}

// Rows go to ranks and come back as columns, or the other way.
RANK_BODY(ExchangeForms) {
  const size_t n = r.ranks, rows = 2 * n, columns = 3 * n;
  const Values<float> x(Of(r.rank, rows * kInner)), wide(Of(9, kInner * n * kColumns)), broad(Of(8, kInner * columns));
  Matrix laid(2 * kInner * n), back(rows * n * 3);
  for (size_t from = 0; from < n; ++from) {
    const Matrix theirs = Of(static_cast<uint32_t>(from), rows * kInner);
    for (size_t i = 0; i < 2; ++i) {
      for (size_t k = 0; k < kInner; ++k)
        laid[i * kInner * n + from * kInner + k] = theirs[(r.rank * 2 + i) * kInner + k];
    }
    const Matrix product = Times(theirs, Of(8, kInner * columns), kInner, columns);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t k = 0; k < 3; ++k) back[(from * rows + i) * 3 + k] = product[i * columns + r.rank * 3 + k];
    }
  }
  const auto run = [&](const char* row, const std::vector<int64_t>& shape, const Matrix& expected) {
    Names names(r);
    const Values<float> out(Matrix(expected.size(), -9));
    names.Tensor("x", x.get(), {static_cast<int64_t>(rows), kInner});
    names.Tensor("wide", wide.get(), {static_cast<int64_t>(kInner * n), kColumns});
    names.Tensor("broad", broad.get(), {kInner, static_cast<int64_t>(columns)});
    names.Tensor("out", out.get(), shape);
    if (names.Run(row)) Expect(r, row, out.Read(), expected);
  };
  const Matrix product = Times(laid, Of(9, kInner * n * kColumns), kInner * n, kColumns);
  for (const char* row :
       {"aclnnAlltoAllMatmul x wide - - group 0 0 out -", "aclnnAlltoAllMatmulV2 x wide - - group 'aicpu 0 0 out -"}) {
    run(row, {2, kColumns}, product);
  }
  for (const char* row :
       {"aclnnMatmulAlltoAll x broad - - group 0 0 out", "aclnnMatmulAlltoAllV2 x broad - - group 'aicpu 0 0 out"}) {
    run(row, {static_cast<int64_t>(rows * n), 3}, back);
  }
}

RANK_BODY(BarrierForms) {
  const Values<float> x(Of(0, 4));
  for (const char* row : {"aclnnDistributeBarrier x group ranks", "aclnnDistributeBarrierV2 x - - group ranks"}) {
    Names names(r);
    names.Tensor("x", x.get(), {4});
    if (!names.Run(row)) return;
  }
}

// Every rank has two experts, and sends one row to each expert of each rank. Rows are (rank, place), weights 1 and 2.
RANK_BODY(ExpertForms) {
  const size_t n = r.ranks, rows = 2 * n;
  Matrix tokens(rows * 2), weights = {1, 0, 0, 1, 2, 0, 0, 2}, expected(rows * 2), sent(rows * 2);
  for (size_t i = 0; i < rows; ++i) {
    tokens[i * 2] = static_cast<float>(r.rank);
    tokens[i * 2 + 1] = static_cast<float>(i);
  }
  for (size_t expert = 0; expert < 2; ++expert) {
    for (size_t from = 0; from < n; ++from) {
      const auto weight = static_cast<float>(expert + 1);
      const size_t at = (expert * n + from) * 2;
      expected[at] = weight * static_cast<float>(from);
      expected[at + 1] = weight * static_cast<float>(r.rank * 2 + expert);
    }
  }
  // Back: row (expert, from) of this rank goes to `from`.
  for (size_t from = 0; from < n; ++from) {
    for (size_t expert = 0; expert < 2; ++expert) {
      const auto weight = static_cast<float>(expert + 1);
      sent[(from * 2 + expert) * 2] = weight * static_cast<float>(from);
      sent[(from * 2 + expert) * 2 + 1] = weight * static_cast<float>(expert * n + r.rank);
    }
  }
  const Values<float> x(tokens), weight(weights);
  const auto run = [&](const char* row, const Matrix& wanted) {
    Names names(r);
    const Values<float> out(Matrix(rows * 2, -9));
    names.Tensor("x", x.get(), {static_cast<int64_t>(rows), 2});
    names.Tensor("weight", weight.get(), {2, 2, 2});
    names.Tensor("out", out.get(), {static_cast<int64_t>(rows), 2});
    names.Ints("ones", std::vector<int64_t>(rows, 1));
    if (names.Run(row)) Expect(r, row, out.Read(), wanted);
  };
  for (const char* row :
       {"aclnnAlltoAllvGroupedMatMul x weight - - - - group ranks ones ones 0 0 0 out - -",
        "aclnnAlltoAllvGroupedMatMulV2 x weight - - - - group 'aicpu ranks ones ones 0 0 0 out - -"}) {
    run(row, expected);
  }
  for (const char* row : {"aclnnGroupedMatMulAlltoAllv x weight - - - - group ranks ones ones 0 0 out -",
                          "aclnnGroupedMatMulAlltoAllvV2 x weight - - - - group 'aicpu ranks ones ones 0 0 out -"}) {
    run(row, sent);
  }
}

// The same with 8-bit floats: small whole numbers are exact in e4m3, scales are 1 (exponent 127) and 2 (128).
uint8_t Eight(float value) {
  if (value == 0) return 0;
  const int exponent = std::ilogb(value);
  const int part = static_cast<int>(std::ldexp(value, 3 - exponent)) - 8;
  return static_cast<uint8_t>((exponent + 7) << 3 | part);
}
RANK_BODY(QuantExpertForms) {
  const size_t n = r.ranks, rows = 2 * n, width = 64;
  std::vector<uint8_t> tokens(rows * width, 0), weights(2 * width * 2, 0), row_scales(rows * 2, 128),
      weight_scales(2 * 2 * 2, 127);
  for (size_t i = 0; i < rows; ++i) {
    tokens[i * width] = Eight(static_cast<float>(r.rank));
    tokens[i * width + 33] = Eight(static_cast<float>(i));
  }
  for (size_t expert = 0; expert < 2; ++expert) {
    weights[(expert * width + 0) * 2 + 0] = Eight(static_cast<float>(expert + 1));
    weights[(expert * width + 33) * 2 + 1] = Eight(static_cast<float>(expert + 1));
  }
  const Values<uint8_t> x(tokens), weight(weights), scale(row_scales), weight_scale(weight_scales);
  const auto run = [&](const char* row, const std::function<float(size_t expert, size_t from, size_t column)>& value,
                       bool by_expert) {
    Names names(r);
    const Values<float> out(Matrix(rows * 2, -9));
    names.Tensor("x", x.get(), {static_cast<int64_t>(rows), static_cast<int64_t>(width)}, ACL_FLOAT8_E4M3FN);
    names.Tensor("weight", weight.get(), {2, static_cast<int64_t>(width), 2}, ACL_FLOAT8_E4M3FN);
    names.Tensor("xs", scale.get(), {static_cast<int64_t>(rows), 1, 2}, ACL_FLOAT8_E8M0);
    names.Tensor("ws", weight_scale.get(), {2, 1, 2, 2}, ACL_FLOAT8_E8M0);
    names.Tensor("out", out.get(), {static_cast<int64_t>(rows), 2});
    names.Ints("ones", std::vector<int64_t>(rows, 1));
    if (!names.Run(row)) return;
    Matrix expected(rows * 2);
    for (size_t expert = 0; expert < 2; ++expert) {
      for (size_t from = 0; from < n; ++from) {
        const size_t at = by_expert ? expert * n + from : from * 2 + expert;
        for (size_t column = 0; column < 2; ++column) expected[at * 2 + column] = 2 * value(expert, from, column);
      }
    }
    Expect(r, row, out.Read(), expected);
  };
  const auto came = [&](size_t expert, size_t from, size_t column) {
    return static_cast<float>(expert + 1) * static_cast<float>(column == 0 ? from : r.rank * 2 + expert);
  };
  const auto sent = [&](size_t expert, size_t from, size_t column) {
    return static_cast<float>(expert + 1) * static_cast<float>(column == 0 ? from : expert * n + r.rank);
  };
  run("aclnnAlltoAllvQuantGroupedMatMul x weight xs ws - - - - - - 6 6 0 0 group ranks ones ones 0 0 0 0 out - -", came,
      true);
  run("aclnnAlltoAllvQuantGroupedMatMulV2 x weight xs ws - - - - - - 6 6 0 0 group 'aicpu ranks ones ones 0 0 0 0 out "
      "- -",
      came, true);
  run("aclnnQuantGroupedMatMulAlltoAllv x weight xs ws - - - - - - - 6 6 0 0 0 0 0 group ranks ones ones 0 0 out -",
      sent, false);
  run("aclnnQuantGroupedMatMulAlltoAllvV2 x weight xs ws - - - - - - - 6 6 0 0 0 0 0 group 'aicpu ranks ones ones 0 0 "
      "out -",
      sent, false);
}

// Four ranks are two times two: pairs of neighbours have the experts, ranks of one parity the columns.
RANK_BODY(TwoGroups) {
  if (r.ranks != 4) return;
  const uint32_t e = r.rank % 2, t = r.rank / 2;
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  uint32_t ep_ranks[] = {t * 2, t * 2 + 1}, tp_ranks[] = {e, e + 2};
  HcclComm ep = nullptr, tp = nullptr;
  RANK_OK(r, HcclCreateSubCommConfig(&r.comm, 2, ep_ranks, 10 + t, e, &config, &ep));
  RANK_OK(r, HcclCreateSubCommConfig(&r.comm, 2, tp_ranks, 20 + e, t, &config, &tp));
  char ep_name[128] = {}, tp_name[128] = {};
  RANK_OK(r, HcclGetCommName(ep, ep_name));
  RANK_OK(r, HcclGetCommName(tp, tp_name));
  // x of a rank: (2 experts, 2 tokens, 1 column of 2). The token says whose it is.
  const auto token = [](uint32_t who_e, uint32_t who_t, size_t expert, size_t c) {
    return static_cast<float>(who_e * 8 + who_t * 4 + expert * 2 + c);
  };
  Matrix x(4), weight = {1, 10}, gathered(8), product(4);
  for (size_t expert = 0; expert < 2; ++expert) {
    for (size_t c = 0; c < 2; ++c) x[expert * 2 + c] = token(e, t, expert, c);
  }
  for (uint32_t from = 0; from < 2; ++from) {
    for (size_t c = 0; c < 2; ++c) {
      for (uint32_t column = 0; column < 2; ++column) gathered[(from * 2 + c) * 2 + column] = token(from, column, e, c);
      product[from * 2 + c] = token(from, 0, e, c) + 10 * token(from, 1, e, c);
    }
  }
  const Values<float> tx(x), tw(weight), y1(Matrix(4, -9)), y2(Matrix(8, -9));
  Names names(r);
  names.Set("ep", ep_name);
  names.Set("tp", tp_name);
  names.Tensor("x", tx.get(), {2, 2, 1});
  names.Tensor("w", tw.get(), {1, 2, 1});
  names.Tensor("y1", y1.get(), {1, 4, 1});
  names.Tensor("y2", y2.get(), {1, 4, 2});
  if (names.Run("aclnnAlltoAllAllGatherBatchMatMul x w - ep tp 2 2 0 0 y1 y2 -")) {
    Expect(r, "what was gathered", y2.Read(), gathered);
    Expect(r, "the products", y1.Read(), product);
  }
  // And back: (1 expert, 2 ranks x 2 tokens, 1) times (1, 1, 2 columns), summed over the columns' ranks.
  Matrix rows(4), two = {1, 2}, back(4);
  for (size_t i = 0; i < 4; ++i) rows[i] = token(e, t, i / 2, i % 2);
  for (size_t from = 0; from < 2; ++from) {
    for (size_t c = 0; c < 2; ++c) {
      const float sum = token(static_cast<uint32_t>(from), 0, e, c) + token(static_cast<uint32_t>(from), 1, e, c);
      back[from * 2 + c] = sum * (t == 0 ? 1.0F : 2.0F);
    }
  }
  const Values<float> trows(rows), ttwo(two), y(Matrix(4, -9));
  names.Tensor("rows", trows.get(), {1, 4, 1});
  names.Tensor("two", ttwo.get(), {1, 1, 2});
  names.Tensor("y", y.get(), {2, 2, 1});
  if (names.Run("aclnnBatchMatMulReduceScatterAlltoAll rows two - ep tp 2 2 0 y")) Expect(r, "back", y.Read(), back);
  RANK_OK(r, HcclCommDestroy(ep));
  RANK_OK(r, HcclCommDestroy(tp));
}

// What cannot work is refused in the first phase, by name.
RANK_BODY(RefusedForms) {
  const Values<float> block(Of(0, 64));
  for (const auto& [row, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"aclnnAttentionToFFN t t t t t t - - group ranks ints ints ints 8 0 0 0", "MoeDistributeDispatch"},
           {"aclnnFFNToAttention t t t t t t - group ranks ints ints", "MoeDistributeCombine"},
           {"aclnnAlltoAllvQuantGroupedMatMul t t t t - - - - - - 1 1 0 0 group ranks ints ints 0 0 0 0 t - -",
            "mx"}}) {
    Names names(r);
    names.Tensor("t", block.get(), {8});
    names.Ints("ints", {1, 1, 1});
    const std::string said = names.Refused(row);
    if (said.find(text) == std::string::npos) r.Complain(std::string(row) + ": '" + text + "' is not in: " + said);
  }
}

MP_ROLE(rank) { return BeRank(); }

class GroupForms : public ::testing::TestWithParam<std::string> {};
TEST_P(GroupForms, AsThreads) {
  EXPECT_EQ(RunThreads(2, Bodies().at(GetParam())), "");
  EXPECT_EQ(RunThreads(4, Bodies().at(GetParam())), "");
}
INSTANTIATE_TEST_SUITE_P(Each, GroupForms,
                         ::testing::Values("AllReduceForms", "QuantForms", "GatherForms", "ExchangeForms",
                                           "BarrierForms", "ExpertForms", "QuantExpertForms", "TwoGroups",
                                           "RefusedForms"),
                         [](const auto& info) { return info.param; });

}  // namespace

MP_TEST_MAIN()
