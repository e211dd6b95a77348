// SPDX-License-Identifier: Apache-2.0
// Operators that run graphs. If becomes GE's If. Scan, and Loop with a known trip count, are unrolled; other Loops
// become GE's While if they collect nothing.
#include <algorithm>
#include <limits>

#include "src/graph/onnx/scope.h"
#include "src/graph/passes/kinds.h"

namespace millpond::onnx {
namespace {

constexpr int64_t kMaxRounds = 1024;

Status AddBranch(Scope* scope, const Graph& from, const std::string& name, Captures* captures, std::string* out_name,
                 size_t* out_outputs) {
  MP_REQUIRE(from.inputs.empty(), "a branch has inputs");
  ir::GraphPtr graph;
  MP_RETURN_IF_ERROR(scope->importing()->NewSubgraph(name, &graph));
  Scope inner(scope, graph.get(), captures);
  MP_RETURN_IF_ERROR(inner.Translate(from));
  Vals outputs;
  MP_RETURN_IF_ERROR(inner.Outputs(from, &outputs));
  for (const Val& output : outputs) graph->outputs.push_back(output);
  graph->valid = true;
  *out_name = graph->name;
  *out_outputs = outputs.size();
  return Ok();
}

void If(Context& c) {
  Builder& b = c.b;
  Val condition = c.In(0);
  const Graph* then_graph = c.Subgraph("then_branch");
  const Graph* else_graph = c.Subgraph("else_branch");
  if (then_graph == nullptr || else_graph == nullptr) return;
  Scope* scope = c.scope();
  const std::optional<Ints> known = b.IntsOf(condition);
  if (known && known->size() == 1) {
    // Only the taken branch; its nodes replace the If.
    const Graph& taken = known->at(0) != 0 ? *then_graph : *else_graph;
    Scope inner(scope, b.graph(), nullptr);
    inner.SetPrefix(scope->prefix() + c.node().name + "/");
    Status status = inner.Translate(taken);
    Vals outputs;
    if (status.ok()) status = inner.Outputs(taken, &outputs);
    if (!status.ok()) return b.Fail(std::move(status));
    for (size_t i = 0; i < outputs.size(); ++i) c.Out(i, outputs[i]);
    return;
  }
  if (b.RankOf(condition) == 1) condition = b.Reshape(condition, {});
  Captures captures;
  captures.first_place = 1;
  std::string names[2];
  size_t counts[2] = {};
  const std::string base = scope->prefix() + (c.node().name.empty() ? "if" : c.node().name);
  Status status = AddBranch(scope, *then_graph, base + "_then", &captures, &names[0], &counts[0]);
  if (status.ok()) status = AddBranch(scope, *else_graph, base + "_else", &captures, &names[1], &counts[1]);
  if (!status.ok()) return b.Fail(std::move(status));
  if (counts[0] != counts[1]) return c.Refuse("its branches give %zu and %zu outputs", counts[0], counts[1]);
  b.SetName(base);
  const Vals out =
      b.Flow("If", {condition, captures.values}, {{"then_branch", names[0]}, {"else_branch", names[1]}}, counts[0]);
  for (size_t i = 0; i < out.size(); ++i) c.Out(i, out[i]);
}

// One unrolled iteration: `inputs` are the body's inputs.
bool Round(Context& c, const Graph& body, const Vals& inputs, size_t number, Vals* out) {
  Scope inner(c.scope(), c.b.graph(), nullptr);
  inner.SetPrefix(Format("%s%s/%zu/", c.scope()->prefix().c_str(), c.node().name.c_str(), number));
  Status status =
      body.inputs.size() == inputs.size()
          ? Ok()
          : InvalidArgument(Format("its body has %zu inputs, but %zu are given", body.inputs.size(), inputs.size()));
  for (size_t i = 0; i < inputs.size() && status.ok(); ++i) status = inner.Define(body.inputs[i].name, inputs[i]);
  if (status.ok()) status = inner.Translate(body);
  if (status.ok()) status = inner.Outputs(body, out);
  if (!status.ok()) c.b.Fail(std::move(status));
  return c.b.ok();
}

void Scan(Context& c) {
  Builder& b = c.b;
  if (c.opset < 9) return c.Refuse("Scan of opset 8 has a batch, which is not supported");
  const Graph* body = c.Subgraph("body");
  if (body == nullptr) return;
  const auto scanned = static_cast<size_t>(std::max<int64_t>(c.Int("num_scan_inputs", 0), 0));
  if (scanned == 0 || scanned > c.inputs()) return c.Refuse("num_scan_inputs does not fit its inputs");
  const size_t carried = c.inputs() - scanned;
  const size_t made = c.outputs() >= carried ? c.outputs() - carried : 0;
  const Ints in_directions = c.List("scan_input_directions", Ints(scanned, 0));
  const Ints out_directions = c.List("scan_output_directions", Ints(made, 0));
  const Ints in_axes = c.List("scan_input_axes", Ints(scanned, 0));
  const Ints out_axes = c.List("scan_output_axes", Ints(made, 0));
  if (in_directions.size() != scanned || in_axes.size() != scanned || out_directions.size() != made ||
      out_axes.size() != made) {
    return c.Refuse("its axes or directions do not fit its inputs and outputs");
  }
  Vals state;
  for (size_t i = 0; i < carried; ++i) state.push_back(c.In(i));
  int64_t rounds = -1;
  for (size_t i = 0; i < scanned; ++i) {
    const Val x = c.In(carried + i);
    const int64_t rank = c.KnownRank(x);
    if (rank < 0) return;
    const int64_t size = b.DimsOf(x)[static_cast<size_t>(c.Axis(in_axes[i], rank))];
    if (rounds >= 0 && size != rounds) return c.Refuse("its sequences are of different lengths");
    rounds = size;
  }
  if (rounds < 1 || rounds > kMaxRounds) {
    return c.Refuse("its sequences are of length %lld (-1: not known); 1 to %lld iterations can be unrolled",
                    static_cast<long long>(rounds), static_cast<long long>(kMaxRounds));
  }
  std::vector<Vals> collected(made);
  for (int64_t round = 0; round < rounds; ++round) {
    Vals inputs = state;
    for (size_t i = 0; i < scanned; ++i) {
      const int64_t place = in_directions[i] != 0 ? rounds - 1 - round : round;
      inputs.push_back(b.Op("GatherV2", {c.In(carried + i), b.ConstInt(place), b.ConstInt(in_axes[i])}));
    }
    Vals outputs;
    if (!Round(c, *body, inputs, static_cast<size_t>(round), &outputs)) return;
    if (outputs.size() != carried + made)
      return c.Refuse("its body gives %zu outputs for %zu", outputs.size(), carried + made);
    state.assign(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(carried));
    for (size_t i = 0; i < made; ++i) {
      const auto at = out_directions[i] != 0 ? collected[i].begin() : collected[i].end();
      collected[i].insert(at, outputs[carried + i]);
    }
  }
  for (size_t i = 0; i < carried; ++i) c.Out(i, state[i]);
  for (size_t i = 0; i < made; ++i) {
    c.Out(carried + i, b.Op("Pack", {collected[i]}, {{"axis", out_axes[i]}, {"N", rounds}}));
  }
}

// Unrolls while the condition is known to hold.
void UnrolledLoop(Context& c, const Graph& body, int64_t trips, Val condition, Vals state) {
  Builder& b = c.b;
  const size_t carried = state.size();
  const size_t made = c.outputs() >= carried ? c.outputs() - carried : 0;
  std::vector<Vals> collected(made);
  int64_t round = 0;
  for (; round < trips; ++round) {
    if (Given(condition)) {
      const std::optional<Ints> holds = b.IntsOf(condition);
      if (!holds || holds->size() != 1)
        return c.Refuse("its condition is computed from inputs, and it collects values");
      if (holds->at(0) == 0) break;
    }
    if (round >= kMaxRounds)
      return c.Refuse("more than %lld iterations cannot be unrolled", static_cast<long long>(kMaxRounds));
    Vals inputs = {b.ConstInt(round), Given(condition) ? condition : b.Scalar(DType::kBool, 1)};
    inputs.insert(inputs.end(), state.begin(), state.end());
    Vals outputs;
    if (!Round(c, body, inputs, static_cast<size_t>(round), &outputs)) return;
    if (outputs.size() != 1 + carried + made)
      return c.Refuse("its body gives %zu outputs for %zu", outputs.size(), 1 + carried + made);
    condition = outputs[0];
    state.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (size_t i = 0; i < made; ++i) collected[i].push_back(outputs[1 + carried + i]);
  }
  if (round == 0 && made > 0) return c.Refuse("it runs no iteration, and what it collects has no shape");
  for (size_t i = 0; i < carried; ++i) c.Out(i, state[i]);
  for (size_t i = 0; i < made; ++i) c.Out(carried + i, b.Op("Pack", {collected[i]}, {{"axis", 0}, {"N", round}}));
}

struct LoopGraphs {
  std::string condition, body;
  Captures captures;
};

// GE's While carries: the iteration number, the condition, the trip count, the state, and what the body
// captures, unchanged.
Status AddLoopGraphs(Context& c, const Graph& from, const Vals& carried, LoopGraphs* out) {
  Scope* scope = c.scope();
  const std::string base = scope->prefix() + (c.node().name.empty() ? "loop" : c.node().name);
  ir::GraphPtr body;
  MP_RETURN_IF_ERROR(scope->importing()->NewSubgraph(base + "_body", &body));
  out->captures.first_place = static_cast<int64_t>(carried.size());
  Scope inner(scope, body.get(), &out->captures);
  Builder& b = inner.builder();
  Vals data;
  for (size_t i = 0; i < carried.size(); ++i) {
    const ir::TensorDesc& desc = carried[i].node->outputs[static_cast<size_t>(carried[i].index)];
    data.push_back(b.Data(Format("carried%zu", i), static_cast<int64_t>(i), desc));
    data.back().node->attributes[std::string(passes::kParentIndex)].value = static_cast<int64_t>(i);
  }
  MP_REQUIRE(from.inputs.size() + 1 == carried.size(), "its body has %zu inputs, but %zu are given", from.inputs.size(),
             carried.size() - 1);
  MP_RETURN_IF_ERROR(inner.Define(from.inputs[0].name, data[0]));
  MP_RETURN_IF_ERROR(inner.Define(from.inputs[1].name, data[1]));
  for (size_t i = 2; i < from.inputs.size(); ++i) MP_RETURN_IF_ERROR(inner.Define(from.inputs[i].name, data[i + 1]));
  MP_RETURN_IF_ERROR(inner.Translate(from));
  Vals outputs;
  MP_RETURN_IF_ERROR(inner.Outputs(from, &outputs));
  MP_REQUIRE(outputs.size() + 2 == carried.size(), "its body gives %zu outputs for %zu", outputs.size(),
             carried.size() - 2);
  b.SetName("next_round");
  body->outputs.push_back(b.Add(data[0], b.ConstInt(1)));
  body->outputs.push_back(b.RankOf(outputs[0]) == 1 ? b.Reshape(outputs[0], {}) : outputs[0]);
  body->outputs.push_back(data[2]);
  for (size_t i = 1; i < outputs.size(); ++i) body->outputs.push_back(outputs[i]);
  std::map<int64_t, ir::NodePtr> inputs;
  for (const ir::NodePtr& input : body->inputs) inputs.emplace(passes::ParentInput(*input), input);
  for (size_t i = 0; i < out->captures.values.size(); ++i) {
    const auto same = inputs.find(static_cast<int64_t>(carried.size() + i));
    MP_CHECK(same != inputs.end(), kInternal, "capture %zu is missing", i);
    body->outputs.push_back({same->second, 0});
  }
  MP_RETURN_IF_ERROR(b.TakeStatus());
  body->valid = true;
  ir::GraphPtr condition;
  MP_RETURN_IF_ERROR(scope->importing()->NewSubgraph(base + "_cond", &condition));
  Builder test(condition.get(), &scope->importing()->making);
  const auto given = [&](int64_t place) {
    const Val& value = carried[static_cast<size_t>(place)];
    Val made = test.Data(Format("carried%lld", static_cast<long long>(place)), place,
                         value.node->outputs[static_cast<size_t>(value.index)]);
    made.node->attributes[std::string(passes::kParentIndex)].value = place;
    return made;
  };
  const Val round = given(0);
  const Val holds = given(1);
  const Val trips = given(2);
  test.SetName("goes_on");
  condition->outputs.push_back(test.Op("LogicalAnd", {test.Op("Less", {round, trips}), holds}));
  MP_RETURN_IF_ERROR(test.TakeStatus());
  condition->valid = true;
  out->condition = condition->name;
  out->body = body->name;
  return Ok();
}

void Loop(Context& c) {
  Builder& b = c.b;
  const Graph* body = c.Subgraph("body");
  if (body == nullptr) return;
  const auto scalar = [&](const Val& value) { return b.RankOf(value) == 1 ? b.Reshape(value, {}) : value; };
  const Val trips = c.Has(0) ? scalar(c.In(0)) : Val();
  const Val condition = c.Has(1) ? scalar(c.In(1)) : Val();
  Vals state;
  for (size_t i = 2; i < c.inputs(); ++i) state.push_back(c.In(i));
  const std::optional<Ints> known = Given(trips) ? b.IntsOf(trips) : Ints{kMaxRounds + 1};
  const bool known_condition = !Given(condition) || b.IntsOf(condition).has_value();
  const size_t made = body->outputs.size() > state.size() + 1 ? body->outputs.size() - state.size() - 1 : 0;
  if (made > 0 || (known && known_condition && known->at(0) <= 16)) {
    if (!known || !known_condition) return c.Refuse("it collects values, and its trip count is not known");
    return UnrolledLoop(c, *body, known->at(0), condition, std::move(state));
  }
  Vals carried = {b.ConstInt(0), Given(condition) ? condition : b.Scalar(DType::kBool, 1),
                  Given(trips) ? trips : b.ConstInt(std::numeric_limits<int64_t>::max())};
  carried.insert(carried.end(), state.begin(), state.end());
  if (!b.ok()) return;
  LoopGraphs graphs;
  if (Status status = AddLoopGraphs(c, *body, carried, &graphs); !status.ok()) return b.Fail(std::move(status));
  carried.insert(carried.end(), graphs.captures.values.begin(), graphs.captures.values.end());
  b.SetName(c.scope()->prefix() + (c.node().name.empty() ? "loop" : c.node().name));
  const Vals out = b.Flow("While", {carried}, {{"cond", graphs.condition}, {"body", graphs.body}}, carried.size());
  for (size_t i = 0; i < state.size(); ++i) c.Out(i, out[i + 3]);
}

constexpr HandlerEntry kFlowHandlers[] = {MP_ONNX(If), MP_ONNX(Loop), MP_ONNX(Scan)};

}  // namespace

std::span<const HandlerEntry> FlowHandlers() { return kFlowHandlers; }

}  // namespace millpond::onnx
