// SPDX-License-Identifier: Apache-2.0
// millpond-plan: places the buffers of a problem in memory, says how well, and draws the result. ./millpond plan calls
// it.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "src/base/json.h"
#include "src/graph/picture/page.h"
#include "src/graph/planner/validator.h"
#include "tools/plan/picture.h"
#include "tools/plan/problem_file.h"

namespace plan_tool {
namespace {

using millpond::Code;
using millpond::Format;
using millpond::FormatBytes;
using millpond::Ok;
using millpond::Status;
using millpond::planner::Budget;
using millpond::planner::Plan;

constexpr int kFits = 0;
constexpr int kDoesNotFit = 1;
constexpr int kCannot = 2;

constexpr uint64_t kSteps = 20'000;         // without any limit given: the same plan on every machine
constexpr double kSecondsForCapacity = 60;  // a capacity is worth more
constexpr size_t kMostValidated = 5000;     // judging takes time with the square

constexpr const char* kUsage =
    "usage: ./millpond plan [OPTIONS] FILE.csv\n"
    "\n"
    "Places the buffers of a planning problem in one block of memory and prints peak, bound (the most bytes that are "
    "live\n"
    "at once), ratio and time. FILE.csv is in MiniMalloc's format: a header id,lower,upper,size (optionally "
    "alignment),\n"
    "then one buffer per line, live from lower up to but not including upper. - reads standard input.\n"
    "\n"
    "options:\n"
    "  --capacity BYTES  stop at the first plan that fits (e.g. 1048576, 64K, 1.5G); for at most 60 seconds\n"
    "  --seconds S       search for at most S seconds\n"
    "  --steps N         search for at most N steps: the same plan on every machine (default 20000)\n"
    "  --html FILE       write a page to look into: zoom, search, what is alive at the peak (docs/plan.md)\n"
    "  --svg FILE        draw the plan as a plain picture\n"
    "  --out FILE        write the problem again with a column offset\n"
    "  --json            print one line of JSON instead\n"
    "  --method NAME     instead of the search one greedy order: size, area, pressure, lifetime or birth, followed by\n"
    "                    -best or -first for the gap it takes\n"
    "\n"
    "exit status: 0 the plan fits the capacity (or none was given), 1 it does not, 2 the call or the file is wrong\n";

struct Request {
  std::string file;
  std::string svg;
  std::string html;
  std::string out;
  std::string method;
  bool json = false;
  bool help = false;
  bool has_seconds = false;
  bool has_steps = false;
  Budget budget{.steps = kSteps};
};

struct Method {
  const char* name;
  const char* letters;
};
constexpr Method kMethods[] = {{"size", "Z"}, {"area", "AZ"}, {"pressure", "TZ"}, {"lifetime", "WZ"}, {"birth", "BZ"}};

Status ParseOption(const std::string& option, const std::string& value, Request* out) {
  if (option == "--svg") {
    out->svg = value;
  } else if (option == "--html") {
    out->html = value;
  } else if (option == "--out") {
    out->out = value;
  } else if (option == "--method") {
    out->method = value;
  } else if (option == "--capacity") {
    const auto bytes = millpond::ParseBytes(value);
    MP_REQUIRE(bytes && *bytes > 0, "--capacity %s: expected a size above 0 such as 1048576 or 1M", value.c_str());
    out->budget.capacity = *bytes;
  } else if (option == "--steps") {
    const auto steps = millpond::ParseInt(value);
    MP_REQUIRE(steps && *steps >= 0, "--steps %s: expected a whole number", value.c_str());
    out->budget.steps = static_cast<uint64_t>(*steps);
    out->has_steps = true;
  } else {
    char* end = nullptr;
    out->budget.seconds = strtod(value.c_str(), &end);
    MP_REQUIRE(!value.empty() && *end == '\0' && std::isfinite(out->budget.seconds) && out->budget.seconds > 0,
               "--seconds %s: expected a number above 0", value.c_str());
    out->has_seconds = true;
  }
  return Ok();
}

Status Parse(int argc, char** argv, Request* out) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "-h" || word == "--help") {
      out->help = true;
      return Ok();
    }
    if (word == "--json") {
      out->json = true;
      continue;
    }
    if (word.size() < 2 || word[0] != '-') {
      MP_REQUIRE(out->file.empty(), "two files were given: '%s' and '%s'", out->file.c_str(), word.c_str());
      out->file = word;
      continue;
    }
    std::string value;
    const size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    bool known = false;
    for (const char* name : {"--capacity", "--seconds", "--steps", "--svg", "--html", "--out", "--method"}) {
      known = known || option == name;
    }
    MP_REQUIRE(known, "unknown option '%s'; see ./millpond plan --help", word.c_str());
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else {
      MP_REQUIRE(i + 1 < argc, "%s needs a value", option.c_str());
      value = argv[++i];
    }
    MP_RETURN_IF_ERROR(ParseOption(option, value, out));
  }
  MP_REQUIRE(!out->file.empty(), "no file given; the form is: ./millpond plan [OPTIONS] FILE.csv");
  // A limit of one kind lifts the other; a capacity alone is worth a minute.
  if (!out->has_steps && (out->has_seconds || out->budget.capacity != 0)) out->budget.steps = UINT64_MAX / 2;
  if (!out->has_steps && !out->has_seconds && out->budget.capacity != 0) out->budget.seconds = kSecondsForCapacity;
  return Ok();
}

Status ReadText(const std::string& name, std::string* out) {
  std::ostringstream text;
  if (name == "-") {
    text << std::cin.rdbuf();
  } else {
    std::ifstream file(name, std::ios::binary);
    MP_CHECK(file.good(), kInvalidFile, "%s: cannot be read: %s", name.c_str(), strerror(errno));
    text << file.rdbuf();
    MP_CHECK(!file.bad(), kInvalidFile, "%s: cannot be read: %s", name.c_str(), strerror(errno));
  }
  *out = text.str();
  return Ok();
}

Status WriteText(const std::string& name, const std::string& text) {
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  MP_CHECK(file.good(), kInvalidFile, "%s: cannot be written: %s", name.c_str(), strerror(errno));
  return Ok();
}

Status MakePlan(const Request& request, const ProblemFile& file, Plan* out) {
  if (request.method.empty()) {
    *out = PlanMemory(file.problem, request.budget);
    return Ok();
  }
  for (const Method& method : kMethods) {
    for (const bool best_fit : {true, false}) {
      if (request.method != Format("%s-%s", method.name, best_fit ? "best" : "first")) continue;
      *out = PlanGreedily(file.problem, method.letters, best_fit);
      return Ok();
    }
  }
  return Status(Code::kInvalidArgument,
                Format("--method %s: known are size, area, pressure, lifetime and birth, followed by -best or -first",
                       request.method.c_str()));
}

std::string PageOf(const std::string& title, const ProblemFile& file, const Plan& plan, size_t capacity,
                   double seconds) {
  millpond::picture::Page page;
  page.title = title;
  page.subtitle = Format("Planned by ./millpond plan in %.1f ms, %llu steps of search", 1000 * seconds,
                         static_cast<unsigned long long>(plan.steps));
  page.peak = plan.peak;
  page.bound = file.most_live;
  page.is_optimal = plan.is_optimal;
  page.capacity = capacity;
  page.homes.push_back({.name = "memory", .bytes = plan.peak});
  for (size_t i = 0; i < file.rows.size(); ++i) {
    const Row& row = file.rows[i];
    page.buffers.push_back({.name = row.id,
                            .type = {},
                            .home = 0,
                            .bytes = row.bytes,
                            .offset = plan.offsets[i],
                            .first = row.lower,
                            .end = row.upper,
                            .inside = millpond::picture::kNone,
                            .shape = {}});
  }
  return millpond::picture::Html(page);
}

std::string WithOffsets(const ProblemFile& file, const Plan& plan) {
  std::string out = "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < file.rows.size(); ++i) {
    const Row& row = file.rows[i];
    out += Format("%s,%lld,%lld,%zu,%zu\n", row.id.c_str(), static_cast<long long>(row.lower),
                  static_cast<long long>(row.upper), row.bytes, plan.offsets[i]);
  }
  return out;
}

void Print(const Request& request, const ProblemFile& file, const Plan& plan, double seconds) {
  const size_t capacity = request.budget.capacity;
  const double ratio = file.most_live == 0 ? 1 : static_cast<double>(plan.peak) / static_cast<double>(file.most_live);
  if (request.json) {
    printf(
        "{\"file\": %s, \"buffers\": %zu, \"peak\": %zu, \"bound\": %zu, \"ratio\": %.6f, \"seconds\": %.6f, "
        "\"steps\": %llu, \"optimal\": %s, \"capacity\": %s, \"fits\": %s}\n",
        millpond::JsonQuoted(request.file).c_str(), file.rows.size(), plan.peak, file.most_live, ratio, seconds,
        static_cast<unsigned long long>(plan.steps), plan.is_optimal ? "true" : "false",
        capacity == 0 ? "null" : Format("%zu", capacity).c_str(),
        capacity == 0 || plan.peak <= capacity ? "true" : "false");
    return;
  }
  if (file.with_gaps != 0) {
    fprintf(stderr, "millpond plan: gaps of %zu buffers are planned as if the buffers were live throughout\n",
            file.with_gaps);
  }
  printf("buffers  %zu\n", file.rows.size());
  printf("peak     %zu (%s)\n", plan.peak, FormatBytes(plan.peak).c_str());
  printf("bound    %zu (%s)\n", file.most_live, FormatBytes(file.most_live).c_str());
  printf("ratio    %.4f%s\n", ratio, plan.is_optimal ? " (optimal: no plan has a smaller peak)" : "");
  printf("time     %.3f ms (%llu steps of search)\n", 1000 * seconds, static_cast<unsigned long long>(plan.steps));
  if (capacity == 0) return;
  if (plan.peak <= capacity) {
    printf("fits     yes, in %zu bytes (%s)\n", capacity, FormatBytes(capacity).c_str());
  } else {
    printf("fits     no: %zu bytes more than the capacity of %zu%s\n", plan.peak - capacity, capacity,
           file.most_live > capacity ? ", and no plan can: more is live at once"
           : plan.is_optimal         ? ", and no plan can"
                                     : "; more --seconds may help");
  }
}

Status Run(const Request& request, int* out_status) {
  std::string text;
  MP_RETURN_IF_ERROR(ReadText(request.file, &text));
  ProblemFile file;
  MP_RETURN_IF_ERROR(ReadProblem(request.file, text, &file));
  Plan plan;
  const auto start = std::chrono::steady_clock::now();
  MP_RETURN_IF_ERROR(MakePlan(request, file, &plan));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (file.rows.size() <= kMostValidated) {
    const Status valid = ValidatePlan(file.problem, plan);
    MP_CHECK(valid.ok(), kInternal, "the plan is wrong, please report it: %s", valid.message().c_str());
  }
  const std::string title = request.file == "-" ? "standard input" : request.file.substr(request.file.rfind('/') + 1);
  if (!request.svg.empty()) {
    MP_RETURN_IF_ERROR(WriteText(request.svg, Draw(title, file, plan, request.budget.capacity)));
  }
  if (!request.html.empty()) {
    MP_RETURN_IF_ERROR(WriteText(request.html, PageOf(title, file, plan, request.budget.capacity, seconds)));
  }
  if (!request.out.empty()) MP_RETURN_IF_ERROR(WriteText(request.out, WithOffsets(file, plan)));
  Print(request, file, plan, seconds);
  *out_status = request.budget.capacity == 0 || plan.peak <= request.budget.capacity ? kFits : kDoesNotFit;
  return Ok();
}

}  // namespace
}  // namespace plan_tool

int main(int argc, char** argv) {
  plan_tool::Request request;
  millpond::Status status = plan_tool::Parse(argc, argv, &request);
  int outcome = plan_tool::kCannot;
  if (status.ok() && request.help) {
    fputs(plan_tool::kUsage, stdout);
    return 0;
  }
  if (status.ok()) status = plan_tool::Run(request, &outcome);
  if (!status.ok()) fprintf(stderr, "millpond plan: %s\n", status.message().c_str());
  return outcome;
}
