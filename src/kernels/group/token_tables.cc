// SPDX-License-Identifier: Apache-2.0
// Attention and experts on ranks of their own. A rank of either side writes into the windows of the other side's
// (HcclCommExchangeMem), which does nothing for it; the schedulers there look into the tables (pages
// "aclnnAttentionToFFN" and "aclnnFFNToAttention").
//
// In an FFN rank's window: for each attention rank and micro batch a message (1 until the FFN rank has taken it, the
// layer, the expert of each token and choice); then, 512 bytes aligned, the tokens' rows. In an attention rank's: for
// each micro batch, token and choice 1 when its result is there; then, aligned as well, the results.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "src/kernels/group/packed_rows.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/group.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kPlain = 0, kDynamic = 2;  // quantMode
constexpr int64_t kHead = 2;                 // words of a message before its experts
constexpr int64_t kScaleRoom = 128;          // bytes behind a quantised row, the first of which are its scale
constexpr int64_t kWord = sizeof(int32_t);

int64_t RoundedUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// The bytes of a table of the client's shape.
int64_t TableBytes(const char* name, IntArrayRef shape, size_t dims, int64_t element) {
  TORCH_CHECK(shape.size() == dims, name, " has ", shape.size(), " numbers; ", dims, " are needed");
  constexpr int64_t kMaxBytes = int64_t{1} << 48;
  int64_t bytes = element;
  for (const int64_t size : shape) {
    TORCH_CHECK(size > 0 && size <= kMaxBytes / bytes, name, " is ", shape,
                "; its sizes must be above 0, and what they make small enough");
    bytes *= size;
  }
  return bytes;
}

// Two tables in a window: words, and behind them rows.
struct Tables {
  int64_t rows = 0;   // where they begin
  int64_t bytes = 0;  // both
};
Tables TablesOf(int64_t info_bytes, int64_t data_bytes) {
  const int64_t rows = RoundedUp(info_bytes, 512);
  return {rows, rows + data_bytes};
}

std::byte* WindowOf(const Group& group, string_view name, int64_t rank, int64_t bytes) {
  const GroupWindow window = group.Window(name, rank);
  TORCH_CHECK(window.address != nullptr, "rank ", rank, rank == group.rank(name) ? ", this one," : "",
              " of the group '", std::string(name),
              "' has no window for this one: register memory (HcclCommRegister) and exchange it with the other side's "
              "ranks (HcclCommExchangeMem; in torch_npu _window_register_and_exchange); ranks of other hosts cannot");
  TORCH_CHECK(static_cast<int64_t>(window.bytes) >= bytes, "the tables need ", bytes, " bytes; the window of rank ",
              rank, " has ", window.bytes);
  TORCH_CHECK(reinterpret_cast<uintptr_t>(window.address) % kWord == 0, "the window of rank ", rank,
              " is not aligned to ", kWord, " bytes");
  return window.address;
}

// The other side's, each looked up once.
class Windows {
 public:
  Windows(const Group& group, string_view name, int64_t bytes) : group_(group), name_(name), bytes_(bytes) {}
  std::byte* Of(int64_t rank) {
    std::byte*& window = known_[rank];
    if (window == nullptr) window = WindowOf(group_, name_, rank, bytes_);
    return window;
  }

 private:
  const Group& group_;
  const string_view name_;
  const int64_t bytes_;
  std::map<int64_t, std::byte*> known_;
};

void CheckWorld(const Group& group, string_view name, int64_t told) {
  TORCH_CHECK(told >= 2 && told <= 768, "worldSize is ", told, "; it must be 2 to 768");
  group.CheckRanks(name, told);
}

// Whoever sees the flag sees what was written before.
void Set(std::byte* flag) { __atomic_store_n(reinterpret_cast<int32_t*>(flag), 1, __ATOMIC_RELEASE); }
void PutWord(std::byte* at, int64_t value) {
  const auto word = static_cast<int32_t>(value);
  std::memcpy(at, &word, sizeof(word));
}
void PutRow(std::byte* at, const Tensor& row) { std::memcpy(at, row.const_data_ptr(), row.nbytes()); }

int64_t Only(const Tensor& tensor, const char* name) {
  const std::vector<int64_t> values = HostList(tensor);
  TORCH_CHECK(values.size() == 1, name, " has ", values.size(), " elements; it must have one, as on the device");
  return values[0];
}
void CheckBelow(const char* name, int64_t value, int64_t bound) {
  TORCH_CHECK(value >= 0 && value < bound, name, " has ", value, "; it must be 0 to ", bound - 1);
}

// What a call's shapes and numbers say.
struct ToFfn {
  int64_t tokens, width, routed, choices, layers, experts;
  int64_t attention_ranks, batches, first_ffn, end_ffn;
  int64_t row_bytes;      // from row to row
  int64_t message_words;  // from message to message
  Tables there;

  int64_t Message(int64_t session, int64_t batch) const { return (session * batches + batch) * message_words * kWord; }
  int64_t Row(int64_t session, int64_t batch, int64_t place) const {
    return there.rows + ((session * batches + batch) * tokens * choices + place) * row_bytes;
  }
};

void CheckTokens(const Tensor& x, const Tensor& expert_ids, const Tensor& ranks_of, const OptTensor& scales,
                 const OptTensor& mask, int64_t moe, int64_t quant_mode) {
  TORCH_CHECK(x.dim() == 3 && x.size(0) == 1, "x has shape ", x.sizes(),
              "; (1, tokens, width) is supported, as on the device");
  TORCH_CHECK(expert_ids.dim() == 3 && expert_ids.size(0) == 1 && expert_ids.size(1) == x.size(1),
              "expertIds has shape ", expert_ids.sizes(), " and x ", x.sizes());
  TORCH_CHECK(moe > 0 && moe <= 1024, "moeExpertNum is ", moe, "; it must be 1 to 1024");
  TORCH_CHECK(expert_ids.size(2) > 0 && expert_ids.size(2) <= moe, "each token has ", expert_ids.size(2), " of ", moe,
              " experts");
  TORCH_CHECK(ranks_of.dim() == 3 && ranks_of.size(0) > 0 && ranks_of.size(1) >= moe && ranks_of.size(2) >= 3,
              "expertRankTable has shape ", ranks_of.sizes(), "; (layers, at least ", moe,
              " experts, at least 3 numbers) is needed");
  TORCH_CHECK(quant_mode == kPlain || quant_mode == kDynamic, "quantMode is ", quant_mode,
              "; 0 (none) and 2 (int8, a scale for each row) are supported, as on the device");
  if (Given(scales).has_value()) {
    TORCH_CHECK(quant_mode == kDynamic, "scales are given, and nothing is quantised (quantMode 0); pass NULL");
    TORCH_CHECK(scales->dim() == 3 && scales->size(0) == ranks_of.size(0) && scales->size(1) == ranks_of.size(1) &&
                    scales->size(2) == x.size(2),
                "scales has shape ", scales->sizes(), "; one row of ", x.size(2),
                " for each expert of expertRankTable ", ranks_of.sizes(), " is needed");
  }
  TORCH_CHECK(!Given(mask).has_value() || (mask->dim() == 2 && mask->numel() == x.size(1)), "activeMask has shape ",
              mask->sizes(), "; x has ", x.sizes());
}

ToFfn ToFfnOf(const Group& group, string_view name, const Tensor& x, const Tensor& expert_ids, const Tensor& ranks_of,
              IntArrayRef info, IntArrayRef data, IntArrayRef attention_info, int64_t moe, int64_t quant_mode,
              int64_t first_ffn) {
  const int64_t element = quant_mode == kDynamic ? 1 : x.element_size();
  const Tables there =
      TablesOf(TableBytes("ffnTokenInfoTableShape", info, 3, kWord), TableBytes("ffnTokenDataShape", data, 5, element));
  TableBytes("attnTokenInfoTableShape", attention_info, 3, kWord);
  const int64_t tokens = x.size(1), choices = expert_ids.size(2) + ranks_of.size(1) - moe;
  const int64_t ranks = group.ranks(name);
  const bool fit = info[0] == data[0] && info[1] == data[1] && info[2] == kHead + tokens * choices &&
                   data[2] == tokens && data[3] == choices && attention_info[0] == info[1] &&
                   attention_info[1] == tokens && attention_info[2] == choices;
  TORCH_CHECK(fit, "ffnTokenInfoTableShape ", info, ", ffnTokenDataShape ", data, " and attnTokenInfoTableShape ",
              attention_info, " do not fit ", tokens, " tokens with ", choices, " experts each, shared ones counted");
  const int64_t needed = quant_mode == kDynamic ? x.size(2) + kScaleRoom : x.size(2);
  TORCH_CHECK(data[4] >= needed, "ffnTokenDataShape has rows of ", data[4], "; ", needed, " are needed",
              quant_mode == kDynamic ? ", of which 128 bytes are the scale's" : "");
  TORCH_CHECK(data[0] < ranks, "ffnTokenDataShape has ", data[0], " attention ranks; the group has ", ranks,
              " ranks, some of which are FFN ranks");
  TORCH_CHECK(first_ffn >= 0 && first_ffn <= data[0], "ffnStartRankId is ", first_ffn, "; ", ranks - data[0], " of ",
              ranks, " ranks are FFN ranks, the first of which can be 0 to ", data[0]);
  return {tokens,
          x.size(2),
          expert_ids.size(2),
          choices,
          ranks_of.size(0),
          ranks_of.size(1),
          data[0],
          data[1],
          first_ffn,
          first_ffn + ranks - data[0],
          data[4] * element,
          info[2],
          there};
}

// Where a token goes for one of its experts.
struct Choice {
  int64_t rank;
  int64_t expert;  // as that rank counts
  int64_t row;     // of the tables by expert
};
struct Message {
  int64_t session, batch, layer;
  int64_t active;              // tokens that take part
  std::vector<Choice> places;  // of these, by token and choice
};

int64_t ActiveTokens(const OptTensor& mask, int64_t tokens) {
  if (!Given(mask).has_value()) return tokens;
  const std::vector<int64_t> bits = HostList(*mask);
  const auto end = std::find(bits.begin(), bits.end(), 0);
  TORCH_CHECK(std::all_of(end, bits.end(), [](int64_t bit) { return bit == 0; }),
              "activeMask has true behind false; the tokens that take part come first");
  return end - bits.begin();
}

Message MessageOf(const ToFfn& to, const Tensor& session, const Tensor& batch, const Tensor& layer,
                  const Tensor& expert_ids, const Tensor& ranks_of, const OptTensor& mask, int64_t moe) {
  Message message{Only(session, "sessionId"),
                  Only(batch, "microBatchId"),
                  Only(layer, "layerId"),
                  ActiveTokens(mask, to.tokens),
                  {}};
  CheckBelow("sessionId", message.session, to.attention_ranks);
  CheckBelow("microBatchId", message.batch, to.batches);
  CheckBelow("layerId", message.layer, to.layers);
  const std::vector<int64_t> ids = HostList(expert_ids);
  const std::vector<int64_t> table = HostList(ranks_of.select(0, message.layer));
  const int64_t length = ranks_of.size(2);
  for (int64_t place = 0; place < message.active * to.choices; ++place) {
    const int64_t token = place / to.choices, choice = place % to.choices;
    int64_t expert = moe + choice - to.routed;
    if (choice < to.routed) {
      expert = ids[token * to.routed + choice];
      CheckBelow("expertIds", expert, moe);
    }
    const int64_t* const entry = &table[expert * length];
    TORCH_CHECK(entry[0] > 0 && entry[0] <= (length - 1) / 2, "expertRankTable: expert ", expert, " of layer ",
                message.layer, " has ", entry[0], " places; there is room for 1 to ", (length - 1) / 2);
    const int64_t* const found = entry + 1 + 2 * (message.session % entry[0]);
    TORCH_CHECK(found[0] >= to.first_ffn && found[0] < to.end_ffn, "expertRankTable: expert ", expert, " of layer ",
                message.layer, " is on rank ", found[0], "; the FFN ranks are ", to.first_ffn, " to ", to.end_ffn - 1);
    message.places.push_back({found[0], found[1], message.layer * to.experts + expert});
  }
  return message;
}

// The FFN ranks that are told of the message: all, or those that have a token of it.
std::set<int64_t> ToldOf(const ToFfn& to, const Message& message, bool all) {
  std::set<int64_t> told;
  for (const Choice& choice : message.places) told.insert(choice.rank);
  for (int64_t rank = to.first_ffn; all && rank < to.end_ffn; ++rank) told.insert(rank);
  return told;
}

// A token's row as each of its experts gets it.
PackedRows RowsOf(const Tensor& row, const Message& message, int64_t first, int64_t choices, const OptTensor& scales) {
  const Tensor value = row.to(at::kFloat).unsqueeze(0);
  if (!Given(scales).has_value()) return Pack(value, at::kChar, Grain::kRow);
  std::vector<int64_t> rows;
  for (int64_t i = first; i < first + choices; ++i) rows.push_back(message.places[i].row);
  return Pack(value * scales->reshape({-1, row.numel()}).index_select(0, at::tensor(rows, at::kLong)), at::kChar,
              Grain::kRow);
}

void SendTokens(Windows* windows, const ToFfn& to, const Message& message, const Tensor& x, const OptTensor& scales,
                bool quantised) {
  const Tensor rows = x.squeeze(0).contiguous();
  PackedRows packed;
  for (size_t place = 0; place < message.places.size(); ++place) {
    const Choice& choice = message.places[place];
    const int64_t token = static_cast<int64_t>(place) / to.choices, nth = static_cast<int64_t>(place) % to.choices;
    std::byte* const window = windows->Of(choice.rank);
    std::byte* const into = window + to.Row(message.session, message.batch, static_cast<int64_t>(place));
    if (!quantised) {
      PutRow(into, rows[token]);
    } else {
      if (nth == 0) packed = RowsOf(rows[token], message, static_cast<int64_t>(place), to.choices, scales);
      const int64_t which = packed.rows.size(0) == 1 ? 0 : nth;
      PutRow(into, packed.rows[which]);
      PutRow(into + RoundedUp(to.width, 32), packed.scales[which]);
    }
    PutWord(window + to.Message(message.session, message.batch) + (kHead + static_cast<int64_t>(place)) * kWord,
            choice.expert);
  }
}

}  // namespace

// A message that the FFN rank has not taken yet is waited for; nobody else writes there.
MP_GROUP_KERNEL(AttentionToFfn, const Tensor& x, const Tensor& session, const Tensor& batch, const Tensor& layer,
                const Tensor& expert_ids, const Tensor& ranks_of, const OptTensor& scales, const OptTensor& mask,
                string_view name, int64_t world, IntArrayRef info, IntArrayRef data, IntArrayRef attention_info,
                int64_t moe, int64_t quant_mode, int64_t sync_flag, int64_t first_ffn) {
  CheckWorld(group, name, world);
  TORCH_CHECK(sync_flag == 0 || sync_flag == 1, "syncFlag is ", sync_flag,
              "; 0 (all FFN ranks are told) and 1 (those that get tokens) are known");
  CheckTokens(x, expert_ids, ranks_of, scales, mask, moe, quant_mode);
  const ToFfn to =
      ToFfnOf(group, name, x, expert_ids, ranks_of, info, data, attention_info, moe, quant_mode, first_ffn);
  const int64_t self = group.rank(name), own_words = info[1] * to.tokens * to.choices;
  TORCH_CHECK(self < to.first_ffn || self >= to.end_ffn, "rank ", self, ", this one, is an FFN rank (", to.first_ffn,
              " to ", to.end_ffn - 1, "); attention ranks send tokens");
  Windows windows(group, name, to.there.bytes);
  for (int64_t rank = to.first_ffn; rank < to.end_ffn; ++rank) windows.Of(rank);
  std::byte* const own = Given(mask).has_value() ? WindowOf(group, name, self, own_words * kWord) : nullptr;
  if (group.checking()) return;
  const Message message = MessageOf(to, session, batch, layer, expert_ids, ranks_of, mask, moe);
  const std::set<int64_t> told = ToldOf(to, message, sync_flag == 0);
  const auto head = [&](int64_t rank) { return windows.Of(rank) + to.Message(message.session, message.batch); };
  if (group.step() == 0) {
    std::vector<GroupFlag> flags;
    for (const int64_t rank : told) flags.push_back({rank, reinterpret_cast<const int32_t*>(head(rank))});
    return group.AwaitClear(name, std::move(flags));
  }
  SendTokens(&windows, to, message, x, scales, quant_mode == kDynamic);
  for (const int64_t rank : told) {
    PutWord(head(rank) + kWord, message.layer);
    Set(head(rank));
  }
  // Nothing comes back for tokens that do not take part: whoever collects finds them done.
  for (int64_t place = message.active * to.choices; place < to.tokens * to.choices; ++place) {
    Set(own + (message.batch * to.tokens * to.choices + place) * kWord);
  }
}

MP_GROUP_KERNEL(FfnToAttention, const Tensor& x, const Tensor& sessions, const Tensor& batches, const Tensor& token_ids,
                const Tensor& offsets, const Tensor& count, const OptTensor& rank_table, string_view name,
                int64_t world, IntArrayRef info, IntArrayRef data) {
  CheckWorld(group, name, world);
  TORCH_CHECK(x.dim() == 2, "x has shape ", x.sizes(), "; (rows, width) is needed");
  const Tables there = TablesOf(TableBytes("tokenInfoTableShape", info, 3, kWord),
                                TableBytes("tokenDataShape", data, 4, x.element_size()));
  TORCH_CHECK(info == data.slice(0, 3), "tokenInfoTableShape ", info, " and tokenDataShape ", data,
              " do not fit together");
  TORCH_CHECK(data[3] >= x.size(1), "tokenDataShape has rows of ", data[3], "; x has ", x.size(1));
  const std::pair<const char*, const Tensor&> lists[] = {
      {"sessionIds", sessions}, {"microBatchIds", batches}, {"tokenIds", token_ids}, {"expertOffsets", offsets}};
  for (const auto& [list, tensor] : lists) {
    TORCH_CHECK(tensor.numel() == x.size(0), list, " has ", tensor.numel(), " elements; x has ", x.size(0), " rows");
  }
  if (group.checking()) {
    int64_t given = 0;
    for (int64_t rank = 0; rank < world; ++rank) {
      given += rank != group.rank(name) && group.Window(name, rank).address != nullptr ? 1 : 0;
    }
    if (given == 0) WindowOf(group, name, group.rank(name) == 0 ? 1 : 0, there.bytes);  // says what is missing
    return;
  }
  const int64_t rows = Only(count, "actualTokenNum");
  TORCH_CHECK(rows >= 0 && rows <= x.size(0), "actualTokenNum is ", rows, "; x has ", x.size(0), " rows");
  const std::vector<int64_t> of[] = {HostList(sessions), HostList(batches), HostList(token_ids), HostList(offsets)};
  const std::vector<int64_t> table = Given(rank_table).has_value() ? HostList(*rank_table) : std::vector<int64_t>();
  Windows windows(group, name, there.bytes);
  std::vector<std::pair<std::byte*, int64_t>> places;  // window, and place in its tables
  for (int64_t row = 0; row < rows; ++row) {
    int64_t rank = of[0][row];
    if (Given(rank_table).has_value()) {
      CheckBelow("sessionIds", rank, static_cast<int64_t>(table.size()));
      rank = table[rank];
    }
    CheckBelow(Given(rank_table).has_value() ? "attnRankTable" : "sessionIds", rank, world);
    TORCH_CHECK(rank != group.rank(name), "row ", row, " would go to rank ", rank,
                ", this one; results go to attention ranks");
    for (int list = 1; list < 4; ++list) CheckBelow(lists[list].first, of[list][row], info[list - 1]);
    places.emplace_back(windows.Of(rank), (of[1][row] * info[1] + of[2][row]) * info[2] + of[3][row]);
  }
  const Tensor values = x.contiguous();
  for (int64_t row = 0; row < rows; ++row) {
    const auto& [window, place] = places[row];
    PutRow(window + there.rows + place * data[3] * x.element_size(), values[row]);
    Set(window + place * kWord);
  }
}

}  // namespace millpond::kernels
