// SPDX-License-Identifier: Apache-2.0
// Operators that are one kernel of our own each, and optionals that are there.
#include <algorithm>

#include "src/graph/onnx/scores.h"

namespace millpond::onnx {
namespace {

void RoiAlign(Context& c) {
  const std::string mode = c.Text("mode", "avg");
  const std::string corners =
      c.Text("coordinate_transformation_mode", c.opset < 16 ? "output_half_pixel" : "half_pixel");
  if (mode != "avg" && mode != "max") return c.Refuse("mode \"%.40s\" is not known", mode.c_str());
  if (corners != "half_pixel" && corners != "output_half_pixel")
    return c.Refuse("coordinate_transformation_mode \"%.40s\" is not known", corners.c_str());
  c.Out(c.b.Op("MillpondRoiAlign", {c.In(0), c.In(1), c.In(2)},
               {{"mode", mode},
                {"height", c.Int("output_height", 1)},
                {"width", c.Int("output_width", 1)},
                {"samples", c.Int("sampling_ratio", 0)},
                {"scale", c.Real("spatial_scale", 1)},
                {"half", corners == "half_pixel"}}));
}

void DeformConv(Context& c) {
  const Val x = c.In(0);
  if (c.KnownRank(x) != 4) return c.Refuse("its input has not four dimensions");
  c.Ignore("kernel_shape");  // the weight has it
  c.Out(c.b.Op("MillpondDeformConv", {x, c.In(2), c.In(1), c.Maybe(3), c.Maybe(4)},
               {{"strides", c.List("strides", {1, 1})},
                {"pads", c.List("pads", {0, 0, 0, 0})},
                {"dilations", c.List("dilations", {1, 1})},
                {"groups", c.Int("group", 1)},
                {"offset_groups", c.Int("offset_group", 1)}}));
}

void MelWeightMatrix(Context& c) {
  Builder& b = c.b;
  const auto number = [&](size_t place, DType type) { return b.Reshape(b.Cast(c.In(place), type), {}); };
  const DType type = TypeFromOnnx(c.Int("output_datatype", 1));
  c.Out(b.Cast(b.Op("MillpondMelWeights", {number(0, DType::kInt64), number(1, DType::kInt64), number(2, DType::kInt64),
                                           number(3, DType::kFloat), number(4, DType::kFloat)}),
               type));
}

void TfIdfVectorizer(Context& c) {
  Builder& b = c.b;
  if (c.HasAttr("pool_strings")) return c.Refuse("pool_strings: strings are not supported");
  const Ints places = c.List("ngram_indexes");
  const std::string mode = c.Text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") return c.Refuse("mode \"%.40s\" is not known", mode.c_str());
  if (places.empty() || *std::min_element(places.begin(), places.end()) < 0) return c.Refuse("ngram_indexes are wrong");
  const std::vector<float> weights = c.Reals("weights");
  const Val x = c.In(0);
  if (c.KnownRank(x) != 1 && c.KnownRank(x) != 2) return c.Refuse("its input has not one or two dimensions");
  c.Out(b.Op("MillpondTfIdf",
             {x, b.ConstInts(c.List("pool_int64s")), b.ConstInts(c.List("ngram_counts")), b.ConstInts(places),
              b.ConstReals({weights.begin(), weights.end()})},
             {{"width", *std::max_element(places.begin(), places.end()) + 1},
              {"least", c.Int("min_gram_length", 1)},
              {"most", c.Int("max_gram_length", 1)},
              {"skips", c.Int("max_skip_count", 0)},
              {"mode", mode}}));
}

void Dropout(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t seed = c.Int("seed", -1);
  const double ratio = c.Real("ratio", 0.5);
  const Val given = c.Has(1) ? b.Reshape(b.Cast(c.In(1), DType::kFloat), {}) : b.Scalar(DType::kFloat, ratio);
  const std::optional<Ints> training = c.Has(2) ? b.IntsOf(c.In(2)) : Ints{0};
  if (!training || training->size() != 1 || training->at(0) != 0) {
    const Val on = b.Reshape(b.Cast(c.In(2), DType::kInt64), {});
    const Vals out = b.Ops("MillpondDropout", {x, given, on}, {{"seed", seed < 0 ? seed : seed & 0xFFFFFFFF}});
    c.Out(0, out[0]);
    return c.Out(1, out[1]);
  }
  c.Out(0, b.Op("Identity", {x}));
  if (!c.Wants(1)) return;
  // Nothing is dropped. Before opset 10 the mask was of the input's type.
  const Val kept = b.Op("OnesLike", {x});
  c.Out(1, c.opset >= 10 ? b.Cast(kept, DType::kBool) : kept);
}

// Inputs that are optionals are refused, so that what is here is a tensor, or nothing.
void OptionalHasElement(Context& c) { c.Out(c.b.Scalar(DType::kBool, Given(c.Maybe(0)) ? 1 : 0)); }
void OptionalGetElement(Context& c) { c.Out(c.b.Op("Identity", {c.In(0)})); }

constexpr HandlerEntry kKernelHandlers[] = {
    MP_ONNX(DeformConv),         MP_ONNX(Dropout),  MP_ONNX(MelWeightMatrix), MP_ONNX(OptionalGetElement),
    MP_ONNX(OptionalHasElement), MP_ONNX(RoiAlign), MP_ONNX(TfIdfVectorizer),
};

}  // namespace

std::span<const HandlerEntry> KernelHandlers() { return kKernelHandlers; }

}  // namespace millpond::onnx
