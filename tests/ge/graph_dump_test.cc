// SPDX-License-Identifier: Apache-2.0
// Dumps of a session's graph (ge.exec.enableDump).
#include "session_fixture.h"
#include "tests/acl/dump_files.h"

namespace {

using namespace ge_test;  // NOLINT
using acl_test::DumpFile;
using acl_test::DumpFolder;

class GeGraphDumpTest : public SessionTest {
 protected:
  void Run(const Options& options, int runs) {
    ge::Session session(Options{});
    GE_OK(session.AddGraph(7, TwoOutputs("dumped"), options));
    const auto values = Counting();
    const ge::Tensor input(ge::TensorDesc(ge::Shape({4, 4})), reinterpret_cast<const uint8_t*>(values.data()), kBytes);
    for (int i = 0; i < runs; ++i) {
      std::vector<ge::Tensor> outputs;
      GE_OK(session.RunGraph(7, {input}, outputs));
    }
  }
};

TEST_F(GeGraphDumpTest, ChosenOperatorsOfChosenRunsAreWritten) {
  const DumpFolder folder;
  Run({{"ge.exec.enableDump", "1"},
       {"ge.exec.dumpPath", folder.path().c_str()},
       {"ge.exec.dumpMode", "all"},
       {"ge.exec.dumpStep", "1|3-5"}},
      4);
  const std::vector<DumpFile> files = folder.Files();
  ASSERT_FALSE(files.empty());
  size_t at_one = 0;
  for (const DumpFile& file : files) {
    EXPECT_TRUE(file.folder == "0/dumped/7/1" || file.folder == "0/dumped/7/3") << file.folder;
    at_one += file.folder == "0/dumped/7/1" ? 1 : 0;
    EXPECT_FALSE(file.inputs.empty()) << file.name;
    EXPECT_FALSE(file.outputs.empty()) << file.name;
  }
  EXPECT_EQ(at_one * 2, files.size());
}

TEST_F(GeGraphDumpTest, WithoutTheSwitchNothingIsWritten) {
  const DumpFolder folder;
  Run({{"ge.exec.dumpPath", folder.path().c_str()}}, 1);
  EXPECT_TRUE(folder.Files().empty());
}

TEST_F(GeGraphDumpTest, StepsThatAreNoNumbersAreRefused) {
  ge::Session session(Options{});
  GE_FAILS(ge::FAILED,
           session.AddGraph(1, TwoOutputs("a"), Options{{"ge.exec.enableDump", "1"}, {"ge.exec.dumpStep", "2-1"}}));
  EXPECT_NE(ErrorMessage().find("ge.exec.dumpStep"), std::string::npos);
}

}  // namespace
