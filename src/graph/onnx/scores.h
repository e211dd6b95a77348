// SPDX-License-Identifier: Apache-2.0
// Scores and labels, as the models of domain ai.onnx.ml end in them.
#ifndef MILLPOND_SRC_GRAPH_ONNX_SCORES_H_
#define MILLPOND_SRC_GRAPH_ONNX_SCORES_H_

#include <string>
#include <vector>

#include "src/graph/onnx/context.h"

namespace millpond::onnx {

// The node's input, as rows of features in double; refuses other than one or two dimensions.
Val Features(Context& c);
// A list of floats, or the tensor under the name with _as_tensor behind.
std::vector<double> RealsOrTensor(Context& c, const std::string& name);
// float32 scores [N, classes], transformed.
Val Transformed(Context& c, const Val& scores, const std::string& how);
// [N]: of each row the label at the place of its greatest score.
Val LabelOfGreatest(Context& c, const Val& scores, const Ints& labels);
// The class labels, which must be numbers; empty after refusing.
Ints LabelsOf(Context& c, const char* integers);
Val ReshapedConst(Builder& b, const std::vector<double>& values, const Ints& dims);

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_ONNX_SCORES_H_
