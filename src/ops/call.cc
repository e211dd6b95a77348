// SPDX-License-Identifier: Apache-2.0
#include "src/ops/call.h"

#include "src/base/recycler.h"

namespace millpond {
namespace {

Recycler<OpCall>& Calls() {
  static auto* calls = new Recycler<OpCall>;  // never destroyed: calls end in static destructors too
  return *calls;
}

}  // namespace

void OpCallRecycler::operator()(OpCall* call) const { Calls().Put(call); }

OpCallPtr NewOpCall() { return OpCallPtr(Calls().Take()); }

OpCallPtr CloneOpCall(const OpCall& call) {
  OpCallPtr copy = NewOpCall();
  *copy = call;
  return copy;
}

Status OpCall::CheckShapes() const {
  for (const ShapeRule& rule : row_->shapes) {
    if (!has(rule.output)) continue;
    Shape expected;
    MP_RETURN_IF_ERROR(rule.infer({.call = *this, .from = rule.from}, &expected));
    const TensorView& output = view(rule.output);
    MP_REQUIRE(output.rank == expected.rank && std::equal(output.dims, output.dims + output.rank, expected.dims),
               "%s: %s has shape %s, but its inputs give %s; make the output that large", row_->name,
               row_->args[rule.output].name, ShapeText(output.shape()).c_str(), ShapeText(expected.span()).c_str());
  }
  return Ok();
}

}  // namespace millpond
