// SPDX-License-Identifier: Apache-2.0
// A plan, or a compiled graph with its plan, as one self-contained HTML page: buffers over time, where
// the bytes go, what is alive at the peak, and which nodes were fused. Knows neither graphs nor files; ./millpond plan
// and src/exec fill it in. How it looks and behaves is in page.html, base.css, page.css, page.js and page_chart.js.
#ifndef MILLPOND_SRC_REPORT_PAGE_H_
#define MILLPOND_SRC_REPORT_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millpond::report {

inline constexpr uint32_t kNone = UINT32_MAX;

// A kind of memory. The first one is the block that was planned.
struct Home {
  std::string name;
  size_t bytes = 0;
  bool is_constant = false;
  bool is_given = false;  // comes from outside: not a step's result
};

struct Buffer {
  std::string name;
  std::string type;   // of the operator that writes it, or the first that reads a constant
  uint32_t home = 0;  // of Page::homes
  size_t bytes = 0;
  size_t offset = 0;        // in its home
  int64_t first = 0;        // live from here
  int64_t end = 0;          // up to but not including
  uint32_t inside = kNone;  // the buffer whose memory it lies in
  std::string shape;
};

struct Part {
  std::string name;
  std::string type;
};

struct Step {
  std::string name;
  std::string type;
  std::vector<uint32_t> buffers;  // that it uses
  std::vector<Part> parts;        // the nodes it was fused from
};

struct Page {
  std::string title;
  std::string subtitle;
  std::string unplanned;  // why no buffer is placed, when none is
  bool is_graph = false;  // time is counted in steps
  bool is_planned = true;
  size_t peak = 0;
  size_t bound = 0;
  bool is_optimal = false;
  size_t capacity = 0;   // 0: none
  size_t alignment = 1;  // sizes are rounded up to it in the sum of live bytes
  std::vector<Home> homes;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
};

std::string Html(const Page& page);

}  // namespace millpond::report

#endif  // MILLPOND_SRC_REPORT_PAGE_H_
