// SPDX-License-Identifier: Apache-2.0
// The gated delta rule, a linear attention whose state is a matrix for each head: it fades, then learns to answer the
// key with the value, then is asked with the query. Token by token, all heads at once.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

struct DeltaInputs {
  Tensor query, key, value, beta;  // [T, Nv, Dk], [T, Nv, Dk], [T, Nv, Dv], [T, Nv]; float
  Tensor fade;                     // [T, Nv, 1, 1] or [T, Nv, 1, Dk]; undefined: none
};

DeltaInputs Prepare(const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& beta,
                    const OptTensor& g, const OptTensor& gk, double scale) {
  TORCH_CHECK(query.dim() == 3 && value.dim() == 3 && key.sizes() == query.sizes() && query.size(1) > 0 &&
                  value.size(1) % query.size(1) == 0,
              "query ", query.sizes(), ", key ", key.sizes(), " and value ", value.sizes(),
              " must be [T, Nk, Dk], [T, Nk, Dk] and [T, Nv, Dv], with Nv a multiple of Nk");
  const int64_t group = value.size(1) / query.size(1);
  DeltaInputs inputs;
  inputs.query = query.to(at::kFloat).repeat_interleave(group, 1) * scale;
  inputs.key = key.to(at::kFloat).repeat_interleave(group, 1);
  inputs.value = value.to(at::kFloat);
  inputs.beta = beta ? beta->to(at::kFloat) : at::ones({value.size(0), value.size(1)}, at::kFloat);
  if (g) inputs.fade = g->to(at::kFloat).exp().unsqueeze(-1).unsqueeze(-1);
  if (gk) {
    const Tensor each = gk->to(at::kFloat).exp().unsqueeze(-2);
    inputs.fade = inputs.fade.defined() ? inputs.fade * each : each;
  }
  return inputs;
}

// Moves `state` [Nv, Dv, Dk] on by token t and returns its answer [Nv, Dv].
Tensor Step(const DeltaInputs& inputs, int64_t t, Tensor* state) {
  if (inputs.fade.defined()) *state = *state * inputs.fade[t];
  const Tensor key = inputs.key[t].unsqueeze(-1);  // [Nv, Dk, 1]
  const Tensor error = inputs.value[t].unsqueeze(-1) - at::bmm(*state, key);
  *state = *state + at::bmm(error * inputs.beta[t].unsqueeze(-1).unsqueeze(-1), key.transpose(1, 2));
  return at::bmm(*state, inputs.query[t].unsqueeze(-1)).squeeze(-1);
}

int64_t At(const Tensor& list, int64_t i) { return list[i].item<int64_t>(); }

}  // namespace

MP_KERNEL(aclnnChunkGatedDeltaRule, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& beta,
          const Tensor& initial, const Tensor& lengths, const OptTensor& g, double scale, Tensor& out,
          Tensor& final_state) {
  const DeltaInputs inputs = Prepare(query, key, value, beta, g, OptTensor(), scale);
  const Tensor counts = Long(lengths).reshape({-1});
  int64_t t = 0;
  for (int64_t batch = 0; batch < counts.numel(); ++batch) {
    Tensor state = initial[batch].to(at::kFloat);
    for (const int64_t end = t + At(counts, batch); t < end; ++t) out[t].copy_(Step(inputs, t, &state));
    final_state[batch].copy_(state);
  }
}

// Each token has a place for the state behind it; a sequence goes on from that of its last accepted token.
MP_KERNEL(aclnnRecurrentGatedDeltaRule, const Tensor& query, const Tensor& key, const Tensor& value,
          const OptTensor& beta, Tensor& states, const Tensor& lengths, const Tensor& places, const OptTensor& g,
          const OptTensor& gk, const OptTensor& accepted, double scale, Tensor& out) {
  const DeltaInputs inputs = Prepare(query, key, value, beta, g, gk, scale);
  const Tensor counts = Long(lengths).reshape({-1});
  const Tensor place = Long(places).reshape({-1});
  const Tensor taken = accepted ? Long(*accepted).reshape({-1}) : at::ones_like(counts);
  int64_t t = 0;
  for (int64_t batch = 0; batch < counts.numel(); ++batch) {
    const int64_t end = t + At(counts, batch);
    if (t == end) continue;
    const int64_t from = t + At(taken, batch) - 1;
    TORCH_CHECK(from >= t && from < end, "sequence ", batch, " accepted ", At(taken, batch), " of its ", end - t,
                " tokens");
    Tensor state = states[At(place, from)].to(at::kFloat);
    for (; t < end; ++t) {
      out[t].copy_(Step(inputs, t, &state));
      states[At(place, t)].copy_(state);
    }
  }
}

}  // namespace millpond::kernels
