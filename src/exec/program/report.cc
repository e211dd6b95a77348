// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/report.h"

#include <unistd.h>

#include <atomic>
#include <cctype>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/base/format.h"
#include "src/base/log.h"
#include "src/graph/io/files.h"
#include "src/graph/passes/kinds.h"

namespace millpond::program {
namespace {

// Of Page::homes.
enum HomeNumber : uint32_t { kPlanned, kPacked, kPlain, kInputs, kOutputs, kVariables, kClients, kHomeCount };

std::vector<report::Home> EmptyHomes() {
  std::vector<report::Home> homes(kHomeCount);
  homes[kPlanned] = {.name = "feature memory"};
  homes[kPacked] = {.name = "packed weights", .is_constant = true, .is_given = true};
  homes[kPlain] = {.name = "other weights and constants", .is_constant = true, .is_given = true};
  homes[kInputs] = {.name = "inputs", .is_given = true};
  homes[kOutputs] = {.name = "outputs"};
  homes[kVariables] = {.name = "variables", .is_given = true};
  homes[kClients] = {.name = "memory of the client", .is_given = true};
  return homes;
}

std::vector<report::Part> PartsOf(const ir::Node& node) {
  const ir::Attr* const names = node.FindAttr(passes::kOriginNames);
  const ir::Attr* const types = node.FindAttr(passes::kOriginTypes);
  const auto* name = names != nullptr ? names->As<std::vector<std::string>>() : nullptr;
  const auto* type = types != nullptr ? types->As<std::vector<std::string>>() : nullptr;
  std::vector<report::Part> parts;
  if (name == nullptr) return parts;
  for (size_t i = 0; i < name->size(); ++i) {
    parts.push_back({(*name)[i], type != nullptr && i < type->size() ? (*type)[i] : ""});
  }
  return parts;
}

// Names for what a program's plan only counts.
class Names {
 public:
  explicit Names(const Compiled& compiled) : compiled_(compiled) {
    Collect(*compiled.recipes.root);
    for (const auto& recipe : compiled.recipes.subgraphs) Collect(*recipe);
  }

  // The constant whose bytes these are; null: made while compiling.
  const NodeInfo* ConstantAt(const std::byte* data) const {
    const auto found = constants_.find(data);
    return found != constants_.end() ? found->second : nullptr;
  }
  std::string Input(uint32_t place) const {
    const Recipe& root = *compiled_.recipes.root;
    return place < root.inputs.size() ? root.nodes[root.inputs[place]].node->name : Format("input %u", place);
  }
  std::string Output(uint32_t place) const {
    const Recipe& root = *compiled_.recipes.root;
    if (place >= root.outputs.size()) return Format("output %u", place);
    const Source& source = root.outputs[place];
    return Format("%s (output %u)", root.nodes[source.node].node->name.c_str(), place);
  }
  std::string Variable(uint32_t place) const { return compiled_.recipes.variables[place].name; }

 private:
  void Collect(const Recipe& recipe) {
    for (const NodeInfo& info : recipe.nodes) {
      if (info.kind == NodeKind::kConstant && info.constant != nullptr) constants_[info.constant->data.data] = &info;
    }
  }

  const Compiled& compiled_;
  std::unordered_map<const std::byte*, const NodeInfo*> constants_;
};

void DescribeConstant(const NodeInfo* info, report::Buffer* out) {
  out->home = kPlain;
  out->name = info != nullptr ? info->node->name : "computed while compiling";
  if (info == nullptr) return;
  const std::vector<report::Part> origin = PartsOf(*info->node);
  if (origin.empty()) return;
  out->home = kPacked;
  out->name = origin[0].name;
}

// "x [1, 3, 224, 224], mask [-1, 128]".
std::string InputsText(const Compiled& compiled) {
  constexpr size_t kMaxNamed = 8;
  std::string out;
  for (size_t i = 0; i < compiled.inputs.size(); ++i) {
    if (i == kMaxNamed) return out + Format(" and %zu more", compiled.inputs.size() - i);
    const Recipe& root = *compiled.recipes.root;
    out += Format("%s%s %s", i == 0 ? "" : ", ", root.nodes[root.inputs[i]].node->name.c_str(),
                  ir::TextOf(compiled.inputs[i].dims).c_str());
  }
  return out.empty() ? "(none)" : out;
}

std::string ShapeOf(const TensorView& view) {
  return Format("%s %s", DTypeName(view.dtype), ShapeText(view.shape()).c_str());
}

class StaticPage {
 public:
  StaticPage(const Compiled& compiled, const Plan& plan, const FeaturePlan& feature)
      : plan_(plan), feature_(feature), names_(compiled) {
    page_.title = compiled.graph->name;
    page_.subtitle = Format("Compiled graph with inputs %s", InputsText(compiled).c_str());
    page_.unplanned = "No step keeps a result in feature memory: inputs lead straight to outputs.";
    page_.is_graph = true;
    page_.peak = feature.made.peak;
    page_.bound = feature.made.lower_bound;
    page_.is_optimal = feature.made.is_optimal;
    page_.alignment = kFeatureAlignment;
    page_.homes = EmptyHomes();
    page_.homes[kPlanned].bytes = feature.bytes;
  }

  report::Page Make() {
    shown_.assign(plan_.buffers.size(), report::kNone);
    for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
      if (feature_.ranges[i].first != UINT32_MAX && plan_.buffers[i].bytes != 0) Add(i);
    }
    for (uint32_t at = 0; at < plan_.steps.size(); ++at) AddStep(at);
    Relate();
    return std::move(page_);
  }

 private:
  void Add(uint32_t id) {
    const Buffer& from = plan_.buffers[id];
    report::Buffer buffer;
    buffer.bytes = from.bytes;
    buffer.offset = from.offset;
    buffer.first = feature_.ranges[id].first;
    buffer.end = static_cast<int64_t>(feature_.ranges[id].last) + 1;
    const auto is = [&](auto home, std::string name) {
      buffer.home = home;
      buffer.name = std::move(name);
    };
    switch (from.home) {
      case Home::kInput:
        is(kInputs, names_.Input(from.place));
        break;
      case Home::kOutput:
        is(kOutputs, names_.Output(from.place));
        break;
      case Home::kConstant:
        DescribeConstant(names_.ConstantAt(plan_.constants[from.place].data), &buffer);
        break;
      case Home::kVariable:
        is(kVariables, names_.Variable(from.place));
        break;
      case Home::kFixed:
        is(kClients, "memory of the client");
        break;
      case Home::kFeature:
        buffer.home = kPlanned;
        break;
    }
    if (from.home != Home::kFeature && counted_.insert({from.home, from.place}).second) {
      page_.homes[buffer.home].bytes += from.bytes;
    }
    shown_[id] = static_cast<uint32_t>(page_.buffers.size());
    page_.buffers.push_back(std::move(buffer));
  }

  void AddStep(uint32_t at) {
    const Step& from = plan_.steps[at];
    report::Step step;
    const bool is_moves = from.kind == Step::Kind::kMoves;
    const bool is_kernel = (from.kind == Step::Kind::kKernel || is_moves) && from.node != nullptr;
    step.name = from.node != nullptr ? from.node->name : from.name;
    step.type = is_kernel ? from.node->type : (from.name != nullptr ? from.name : "jump");
    if (is_moves && from.moves.empty()) step.type += " (no work)";
    if (is_kernel) step.parts = PartsOf(*from.node);
    std::set<uint32_t> named;
    from.ForEachBuffer([&](BufferId id) {
      if (shown_[id] != report::kNone) named.insert(shown_[id]);
    });
    step.buffers.assign(named.begin(), named.end());
    for (const Patch& patch : from.patches) {
      if (shown_[patch.buffer] == report::kNone) continue;
      std::string& shape = page_.buffers[shown_[patch.buffer]].shape;
      if (shape.empty()) shape = ShapeOf(std::as_const(*from.call).all_views()[patch.view]);
    }
    size_t results = 0;
    from.ForEachBuffer([&](BufferId id) {
      if (shown_[id] == report::kNone || feature_.ranges[id].first != at) return;
      report::Buffer& buffer = page_.buffers[shown_[id]];
      if (buffer.type.empty()) buffer.type = step.type;
      if (!buffer.name.empty()) return;
      buffer.name = results == 0 ? step.name : Format("%s:%zu", step.name.c_str(), results);
      ++results;
    });
    page_.steps.push_back(std::move(step));
  }

  void Relate() {
    std::vector<uint32_t> shown_as(feature_.problem.buffers.size(), report::kNone);
    for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
      if (feature_.number[i] != planner::kNowhere) shown_as[feature_.number[i]] = shown_[i];
    }
    for (uint32_t i = 0; i < shown_as.size(); ++i) {
      if (feature_.made.lies_inside[i]) {
        page_.buffers[shown_as[i]].inside = shown_as[feature_.problem.buffers[i].inside];
      }
    }
  }

  const Plan& plan_;
  const FeaturePlan& feature_;
  const Names names_;
  report::Page page_;
  std::vector<uint32_t> shown_;                  // by buffer of the program: which of the page's
  std::set<std::pair<Home, uint32_t>> counted_;  // several buffers may stand for one input
};

// "graph_4711_0_bert.html": a process may compile many, and several processes may share a folder.
std::string FileFor(const CompileOptions& options, std::string name) {
  if (options.report.ends_with(".html")) return options.report;
  static std::atomic<uint32_t> count{0};
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  }
  return Format("%s/graph_%d_%u_%s.html", options.report.c_str(), getpid(), count.fetch_add(1),
                name.substr(0, 80).c_str());
}

void Write(const report::Page& page, const CompileOptions& options) {
  const Status status = io::WriteFile(FileFor(options, page.title), report::Html(page));
  if (!status.ok()) log::Write(log::Level::kWarning, log::kGe, "MILLPOND_GRAPH_REPORT: " + status.message());
}

}  // namespace

report::Page PageOfStatic(const Compiled& compiled, const Plan& plan, const FeaturePlan& feature) {
  return StaticPage(compiled, plan, feature).Make();
}

report::Page PageOfDynamic(const Compiled& compiled) {
  report::Page page;
  page.title = compiled.graph->name;
  page.subtitle = Format("Compiled graph with inputs %s", InputsText(compiled).c_str());
  page.unplanned =
      "Some shapes of this graph are known only when it runs, and each run takes its memory as it goes: there is no "
      "plan to draw. Give every input a shape to see one.";
  page.is_graph = true;
  page.is_planned = false;
  page.homes = EmptyHomes();
  std::unordered_map<const ir::Node*, uint32_t> constants;
  for (const NodeInfo& info : compiled.recipes.root->nodes) {
    if (info.kind == NodeKind::kConstant && info.constant != nullptr) {
      report::Buffer buffer;
      DescribeConstant(&info, &buffer);
      buffer.bytes = static_cast<size_t>(ir::BytesOf(info.constant->desc.dtype, info.constant->desc.dims));
      buffer.shape =
          Format("%s %s", DTypeName(info.constant->desc.dtype), ir::TextOf(info.constant->desc.dims).c_str());
      page.homes[buffer.home].bytes += buffer.bytes;
      constants[info.node] = static_cast<uint32_t>(page.buffers.size());
      page.buffers.push_back(std::move(buffer));
      continue;
    }
    if (info.kind == NodeKind::kInput || info.kind == NodeKind::kView || info.kind == NodeKind::kNothing) continue;
    report::Step step{.name = info.node->name, .type = info.node->type, .buffers = {}, .parts = PartsOf(*info.node)};
    for (const ir::Input& input : info.node->inputs) {
      const auto found = constants.find(input.source.get());
      if (found != constants.end()) step.buffers.push_back(found->second);
    }
    for (const uint32_t id : step.buffers) {
      if (page.buffers[id].type.empty()) page.buffers[id].type = step.type;
    }
    page.steps.push_back(std::move(step));
  }
  return page;
}

void DrawStatic(const Compiled& compiled, const Plan& plan, const FeaturePlan& feature, const CompileOptions& options) {
  Write(PageOfStatic(compiled, plan, feature), options);
}

void DrawDynamic(const Compiled& compiled, const CompileOptions& options) { Write(PageOfDynamic(compiled), options); }

}  // namespace millpond::program
