// SPDX-License-Identifier: Apache-2.0
// Models of other frameworks are refused by name, and the graph stays as it was.
#include <gtest/gtest.h>

#include "parser/caffe_parser.h"
#include "parser/tensorflow_parser.h"
#include "tests/ge/recent_message.h"

namespace {

using Params = std::map<ge::AscendString, ge::AscendString>;

void ExpectRefused(ge::graphStatus status, const char* function) {
  EXPECT_EQ(status, ge::GRAPH_FAILED);
  const std::string message = RecentMessage();
  EXPECT_NE(message.find(function), std::string::npos) << message;
  EXPECT_NE(message.find("ONNX"), std::string::npos) << message;
  EXPECT_NE(message.find("model.pb"), std::string::npos) << message;
}

TEST(OtherFrameworks, ModelsAreRefusedByNameWithWhatToDoInstead) {
  ge::Graph graph("kept");
  ExpectRefused(ge::aclgrphParseTensorFlow("model.pb", graph), "aclgrphParseTensorFlow");
  ExpectRefused(ge::aclgrphParseTensorFlow("model.pb", Params{}, graph), "aclgrphParseTensorFlow");
  ExpectRefused(ge::aclgrphParseCaffe("model.pb", "weights", graph), "aclgrphParseCaffe");
  ExpectRefused(ge::aclgrphParseCaffe("model.pb", "weights", Params{}, graph), "aclgrphParseCaffe");
  ge::AscendString name;
  EXPECT_EQ(graph.GetName(name), ge::GRAPH_SUCCESS);
  EXPECT_STREQ(name.GetString(), "kept");
}

TEST(OtherFrameworks, APathThatIsNullIsToldAsSuch) {
  ge::Graph graph("kept");
  EXPECT_EQ(ge::aclgrphParseTensorFlow(nullptr, graph), ge::GRAPH_FAILED);
  EXPECT_NE(RecentMessage().find("null"), std::string::npos);
}

}  // namespace
