// SPDX-License-Identifier: Apache-2.0
// A program with the old std::string uses sessions: options, messages and error texts are exchanged in its own ABI.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "ge/ge_api.h"
#include "graph/operator_factory.h"

#if _GLIBCXX_USE_CXX11_ABI
#error "this program is to be compiled with _GLIBCXX_USE_CXX11_ABI=0"
#endif

namespace {

int failures = 0;

void Expect(bool fact, const char* sentence) {
  if (fact) return;
  ++failures;
  std::printf("not so: %s (%s)\n", sentence, ge::GEGetErrorMsg().c_str());
}

ge::Graph Doubled() {
  ge::Operator x = ge::OperatorFactory::CreateOperator("x", "Data");
  const ge::TensorDesc desc(ge::Shape({2}), ge::FORMAT_ND, ge::DT_FLOAT);
  x.SetAttr("index", int64_t{0});
  x.UpdateInputDesc("x", desc);
  x.UpdateOutputDesc("y", desc);
  ge::Operator sum = ge::OperatorFactory::CreateOperator("sum", "Add");
  sum.SetInput("x1", x);
  sum.SetInput("x2", x);
  ge::Graph graph("doubled");
  graph.SetInputs(std::vector<ge::Operator>{x}).SetOutputs(std::vector<ge::Operator>{sum});
  return graph;
}

void SessionsWork() {
  using Texts = std::map<std::string, std::string>;
  Expect(ge::GEInitialize(Texts{{"ge.exec.deviceId", "0"}}) == ge::SUCCESS, "GEInitialize takes strings");
  {
    ge::Session wrong(Texts{{"ge.featureBaseRefreshable", "seven"}});
    const std::string message = ge::GEGetErrorMsg();
    Expect(message.find("ge.featureBaseRefreshable") != std::string::npos, "a message names the option");
    ge::Session session(Texts{{"a name that is longer than any short string may be", "1"}});
    Expect(ge::GEGetWarningMsg().find("a name that is longer") != std::string::npos, "a warning names it too");
    Expect(session.AddGraph(1, Doubled(), Texts{{"ge.graphRunMode", "0"}}) == ge::SUCCESS, "AddGraph takes strings");
    const float values[2] = {1.0F, 2.0F};
    const ge::Tensor input(ge::TensorDesc(ge::Shape({2}), ge::FORMAT_ND, ge::DT_FLOAT),
                           reinterpret_cast<const uint8_t*>(values), sizeof(values));
    std::vector<ge::Tensor> outputs;
    Expect(session.RunGraph(1, {input}, outputs) == ge::SUCCESS, "the graph runs");
    Expect(outputs.size() == 1 && outputs[0].GetSize() == sizeof(values) &&
               reinterpret_cast<const float*>(outputs[0].GetData())[1] == 4.0F,
           "and gives its result");
    Expect(session.GetVariables(std::vector<std::string>{"nobody"}, outputs) != ge::SUCCESS,
           "GetVariables takes strings");
  }
  Expect(ge::GEFinalize() == ge::SUCCESS, "GEFinalize");
}

}  // namespace

int main() {
  SessionsWork();
  Expect(ge::StatusFactory::Instance()->GetErrDesc(ge::FAILED) == "failed",
         "error texts are in the program's own strings");
  return failures == 0 ? 0 : 1;
}
