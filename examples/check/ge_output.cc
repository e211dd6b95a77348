// SPDX-License-Identifier: Apache-2.0
// A graph's output is read before the graph has run. docs/find_the_wrong_operation.md walks through what the checker
// says of it; with the argument `mended` the program waits first.
//
//     g++ -g -std=c++17 -I.. ge_output.cc -lge_runner -lgraph -lascendcl -o ge_output
//     ./millpond check -- ./ge_output
#include <cstring>
#include <map>
#include <vector>

#include "ge_shared/small_graph.h"

namespace {

constexpr size_t kRows = 3;

// What the program prints of a result.
float FirstOf(const ge::Tensor& result) {
  float first = 0;
  CHECK(aclrtMemcpy(&first, sizeof(first), result.GetData(), sizeof(first), ACL_MEMCPY_DEVICE_TO_HOST));
  return first;
}

void Run(ge::Session& session, aclrtStream stream, bool mended) {
  const DeviceInput input(kRows);
  std::vector<ge::Tensor> outputs;
  CHECK(session.RunGraphWithStreamAsync(1, stream, {input.tensor()}, outputs));
  if (mended) CHECK(aclrtSynchronizeStream(stream));
  std::printf("the first number is %g\n", FirstOf(outputs[0]));
  CHECK(aclrtSynchronizeStream(stream));
}

}  // namespace

int main(int argc, char** argv) {
  const bool mended = argc > 1 && std::strcmp(argv[1], "mended") == 0;
  aclrtStream stream = nullptr;
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  CHECK(ge::GEInitialize(std::map<ge::AscendString, ge::AscendString>{}));
  CHECK(aclrtCreateStream(&stream));
  {
    ge::Session session(std::map<ge::AscendString, ge::AscendString>{});
    CHECK(session.AddGraph(1, MakeGraph("early", kRows)));
    Run(session, stream, mended);
  }
  CHECK(aclrtDestroyStream(stream));
  CHECK(ge::GEFinalize());
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}
