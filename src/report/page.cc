// SPDX-License-Identifier: Apache-2.0
#include "src/report/page.h"

#include <string_view>
#include <unordered_map>

#include "src/base/format.h"
#include "src/base/json.h"

namespace millpond::report {
namespace {

#include "page_parts.inc"

// Types repeat; the page stores each once.
class Types {
 public:
  size_t operator()(const std::string& type) {
    const auto [found, is_new] = numbers_.try_emplace(type, names_.size());
    if (is_new) names_.push_back(type);
    return found->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::unordered_map<std::string, size_t> numbers_;
  std::vector<std::string> names_;
};

// A JSON string safe inside a script element: nothing in it can close the element.
std::string Quoted(std::string_view text) {
  const std::string plain = JsonQuoted(text);
  std::string out;
  out.reserve(plain.size());
  for (const char c : plain) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&' || c == '<') {
      out += c == '&' ? "&amp;" : "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

// The items as a JSON array, one per line, so that a diff of two pages is readable.
template <class Items, class Text>
std::string List(const Items& items, const char* between, Text text) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += between;
    out += text(items[i]);
  }
  return out + "]";
}

std::string BufferRow(const Buffer& buffer, Types* types) {
  const auto inside = buffer.inside == kNone ? -1 : static_cast<long long>(buffer.inside);
  std::string out = Format("[%s,%zu,%u,%zu,%zu,%lld,%lld,%lld", Quoted(buffer.name).c_str(), (*types)(buffer.type),
                           buffer.home, buffer.bytes, buffer.offset, static_cast<long long>(buffer.first),
                           static_cast<long long>(buffer.end), inside);
  if (!buffer.shape.empty()) out += "," + Quoted(buffer.shape);
  return out + "]";
}

std::string StepRow(const Step& step, Types* types) {
  std::string out = Format("[%s,%zu,", Quoted(step.name).c_str(), (*types)(step.type));
  out += List(step.buffers, ",", [](uint32_t buffer) { return std::to_string(buffer); });
  if (!step.parts.empty()) {
    out += "," + List(step.parts, ",", [](const Part& part) { return Quoted(part.name); });
    out += "," + List(step.parts, ",", [&](const Part& part) { return std::to_string((*types)(part.type)); });
  }
  return out + "]";
}

std::string HomeText(const Home& home) {
  return Format("{\"name\":%s,\"bytes\":%zu%s%s}", Quoted(home.name).c_str(), home.bytes,
                home.is_constant ? ",\"constant\":true" : "", home.is_given ? ",\"given\":true" : "");
}

std::string Data(const Page& page) {
  Types types;
  const std::string buffers =
      List(page.buffers, ",\n", [&](const Buffer& buffer) { return BufferRow(buffer, &types); });
  const std::string steps = List(page.steps, ",\n", [&](const Step& step) { return StepRow(step, &types); });
  std::string out = Format("{\"title\":%s,\"subtitle\":%s,\"unplanned\":%s,\n\"axis\":\"%s\",\"peak\":%zu,",
                           Quoted(page.title).c_str(), Quoted(page.subtitle).c_str(), Quoted(page.unplanned).c_str(),
                           page.is_graph ? "step" : "time", page.peak);
  out += Format("\"bound\":%zu,\"planned\":%s,\"optimal\":%s,\"capacity\":%zu,\"alignment\":%zu,\n", page.bound,
                page.is_planned ? "true" : "false", page.is_optimal ? "true" : "false", page.capacity, page.alignment);
  out += "\"homes\":" + List(page.homes, ",\n", HomeText);
  out += ",\n\"types\":" + List(types.names(), ",", [](const std::string& type) { return Quoted(type); });
  return out + ",\n\"buffers\":" + buffers + ",\n\"steps\":" + steps + "}";
}

}  // namespace

std::string Html(const Page& page) {
  std::string out;
  std::string_view rest = k_page_html;
  const auto fill = [&](std::string_view mark, std::string_view text) {
    const size_t at = rest.find(mark);
    out += rest.substr(0, at);
    out += text;
    rest.remove_prefix(at + mark.size());
  };
  fill("@TITLE@", Escaped(page.title));
  fill("@STYLE@", std::string(k_base_css).append(k_page_css));
  fill("@DATA@", Data(page));
  fill("@SCRIPT@", k_page_js);
  fill("@CHART@", k_page_chart_js);
  out += rest;
  return out;
}

}  // namespace millpond::report
