// SPDX-License-Identifier: Apache-2.0
// atc for the virtual NPU: builds offline models from ONNX files and serialised graphs, by the public API alone.
// Scripts look for the line that begins with "ATC run success" and at the exit status.
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "acl/acl.h"
#include "ge/ge_ir_build.h"
#include "graph/graph.h"
#include "millpond/atc.h"
#include "tools/atc/flags.h"
#include "tools/atc/show.h"

namespace atc {
namespace {

using Options = std::map<ge::AscendString, ge::AscendString>;

int Fail(const std::string& reason) {
  fprintf(stderr, "atc: %s\n", reason.c_str());
  printf("ATC run failed; the reason is above. atc --help lists the options.\n");
  return 1;
}

// What the library says about the call that just failed.
int FailWithMessage(const std::string& what) {
  const char* const message = aclGetRecentErrMsg();
  return Fail(what + (message != nullptr ? std::string("\n") + message : ""));
}

std::string ValueOr(const Values& values, const char* name, const char* otherwise) {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : found->second;
}

void SetLog(const Values& values) {
  static const std::map<std::string, const char*> levels{
      {"debug", "0"}, {"info", "1"}, {"warning", "2"}, {"error", "3"}, {"null", "4"}};
  const auto found = values.find("log");
  if (found == values.end()) return;
  setenv("ASCEND_GLOBAL_LOG_LEVEL", levels.at(found->second), 1);
  setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
}

std::string Missing(const Values& values) {
  for (const char* name : {"model", "output", "soc_version"}) {
    if (!values.contains(name)) return std::string("--") + name + " is missing";
  }
  if (!values.contains("framework")) return "--framework is missing; 5 is ONNX, 1 is AIR";
  const std::string& soc = values.at("soc_version");
  if (!soc.starts_with("Ascend") || soc.size() == 6) {
    return "--soc_version=" + soc + " names no device; names are like Ascend910B3 and Ascend310P3";
  }
  struct stat found {};
  if (stat(values.at("model").c_str(), &found) != 0) return "--model=" + values.at("model") + " is not there";
  if (S_ISDIR(found.st_mode)) return "--model=" + values.at("model") + " is a folder; name the file";
  return {};
}

Options BuildOptions(const Values& values) {
  Options options;
  for (const auto& [name, value] : values) {
    if (const char* const key = BuildKeyOf(name); key != nullptr) options.emplace(key, value.c_str());
  }
  return options;
}

bool ReadGraph(const Values& values, Options* options, ge::Graph* graph) {
  const std::string& path = values.at("model");
  if (values.at("framework") == "1") return graph->LoadFromFile(path.c_str()) == ge::GRAPH_SUCCESS;
  // The parser knows the file's own names for outputs; afterwards the graph has the right ones.
  Options parser;
  for (const char* key : {"input_shape", "ge.outputNodeName"}) {
    const auto found = options->find(key);
    if (found != options->end()) parser.insert(*found);
  }
  options->erase("ge.outputNodeName");
  return ParseOnnx(path.c_str(), parser, graph);
}

int BuildSingleOps(const Values& values) {
  if (values.contains("model")) return Fail("--singleop and --model exclude each other");
  if (!values.contains("output")) return Fail("--output is missing: the folder for the operators' files");
  size_t count = 0;
  if (millpondBuildSingleOps(values.at("singleop").c_str(), values.at("output").c_str(), &count) != 0) {
    return FailWithMessage("the operators of " + values.at("singleop") + " cannot be built");
  }
  printf("ATC run success: %zu operators in %s\n", count, values.at("output").c_str());
  return 0;
}

int BuildFromFile(const Values& values) {
  const std::string missing = Missing(values);
  if (!missing.empty()) return Fail(missing);
  const auto begin = std::chrono::steady_clock::now();
  printf("ATC start working: reading %s\n", values.at("model").c_str());
  Options global{{"ge.socVersion", values.at("soc_version").c_str()}};
  if (ge::aclgrphBuildInitialize(global) != ge::GRAPH_SUCCESS) return FailWithMessage("the builder cannot start");
  Options options = BuildOptions(values);
  ge::Graph graph;
  if (!ReadGraph(values, &options, &graph)) return FailWithMessage("the model cannot be read");
  if (ValueOr(values, "mode", "0") == "3") {
    printf("ATC run success: %s can be read\n", values.at("model").c_str());
    return 0;
  }
  printf("ATC: building\n");
  ge::ModelBufferData model;
  if (ge::aclgrphBuildModel(graph, options, model) != ge::GRAPH_SUCCESS) {
    return FailWithMessage("the model cannot be built");
  }
  if (ge::aclgrphSaveModel(values.at("output").c_str(), model) != ge::GRAPH_SUCCESS) {
    return FailWithMessage("the model cannot be saved");
  }
  ge::aclgrphBuildFinalize();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const std::string& output = values.at("output");
  printf("ATC run success: %s%s, %llu bytes, %.1f s\n", output.c_str(), output.ends_with(".om") ? "" : ".om",
         static_cast<unsigned long long>(model.length), took.count());
  return 0;
}

int Main(int count, char** arguments) {
  setvbuf(stdout, nullptr, _IOLBF, 0);  // reasons on stderr stay in place among the lines
  Values values;
  const std::string wrong = Parse(count - 1, arguments + 1, &values);
  if (!wrong.empty()) return Fail(wrong);
  if (count == 1 || values.contains("help")) {
    fputs(HelpText().c_str(), stdout);
    return 0;
  }
  SetLog(values);
  if (ValueOr(values, "mode", "0") == "6") {
    if (!values.contains("om")) return Fail("--om is missing: the file that --mode=6 looks at");
    return Show(values.at("om").c_str()) ? 0 : FailWithMessage(values.at("om") + " cannot be read");
  }
  return values.contains("singleop") ? BuildSingleOps(values) : BuildFromFile(values);
}

}  // namespace
}  // namespace atc

int main(int argc, char** argv) { return atc::Main(argc, argv); }
