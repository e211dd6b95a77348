// SPDX-License-Identifier: Apache-2.0
#include "src/report/page.h"

#include <gtest/gtest.h>

namespace millpond::report {
namespace {

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Buffer Named(const char* name, size_t bytes, uint32_t inside = kNone) {
  Buffer buffer;
  buffer.name = name;
  buffer.type = "Relu";
  buffer.bytes = bytes;
  buffer.end = 2;
  buffer.inside = inside;
  return buffer;
}

TEST(ReportPage, IsSelfContained) {
  const std::string html = Html(Page());
  EXPECT_EQ(CountOf(html, "http"), 0U) << "it would load something";
  EXPECT_EQ(CountOf(html, " src="), 0U);
  for (const char* mark : {"@TITLE@", "@STYLE@", "@DATA@", "@SCRIPT@", "@CHART@"}) EXPECT_EQ(CountOf(html, mark), 0U);
  EXPECT_TRUE(html.ends_with("</html>\n"));
}

TEST(ReportPage, NamesCannotCloseTheScriptOrImitatePlaceholders) {
  Page page;
  page.title = "</title><b>&";
  page.buffers.push_back(Named("</script><script>@SCRIPT@\"\\\n", 1));
  const std::string html = Html(page);
  EXPECT_EQ(CountOf(html, "</script>"), CountOf(Html(Page()), "</script>"));
  EXPECT_EQ(CountOf(html, "<title>&lt;/title>&lt;b>&amp;</title>"), 1U);
  EXPECT_EQ(CountOf(html, R"(["\u003c/script>\u003cscript>@SCRIPT@\"\\\u000a",0,0,1,0,0,2,-1])"), 1U);
}

TEST(ReportPage, StoresEachTypeOnceAndRefersToItByIndex) {
  Page page;
  page.homes = {{.name = "feature memory", .bytes = 64}, {.name = "weights", .bytes = 8, .is_constant = true}};
  page.buffers = {Named("a", 64), Named("b", 64, 0)};
  page.steps = {{.name = "s", .type = "Fused", .buffers = {0, 1}, .parts = {{"x", "Add"}, {"y", "Relu"}}}};
  const std::string html = Html(page);
  EXPECT_EQ(CountOf(html, R"("types":["Relu","Fused","Add"])"), 1U);
  EXPECT_EQ(CountOf(html, "[\"a\",0,0,64,0,0,2,-1],\n[\"b\",0,0,64,0,0,2,0]"), 1U);
  EXPECT_EQ(CountOf(html, R"(["s",1,[0,1],["x","y"],[2,0]])"), 1U);
  EXPECT_EQ(CountOf(html, R"({"name":"weights","bytes":8,"constant":true})"), 1U);
}

}  // namespace
}  // namespace millpond::report
