// SPDX-License-Identifier: Apache-2.0
// millpond-plan: plans the memory of a problem, prints the figures, and draws the result. Run by ./millpond plan.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/base/files.h"
#include "src/base/json.h"
#include "src/planner/validator.h"
#include "src/report/page.h"
#include "tools/plan/drawing.h"
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

constexpr uint64_t kSteps = 20'000;                // default limit: the same plan on every machine
constexpr double kSecondsForCapacity = 60;         // with a capacity the user wants a plan that fits
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of a problem
constexpr size_t kMaxValidated = 5000;             // validation is quadratic

constexpr const char* kUsage =
    "usage: ./millpond plan [OPTIONS] FILE.csv\n"
    "\n"
    "Places the buffers of a planning problem in one block of memory and prints peak, bound (the peak of live\n"
    "bytes), ratio and time. FILE.csv is in MiniMalloc's format: a header id,lower,upper,size and optionally "
    "alignment,\n"
    "then one buffer per line, live from lower up to but not including upper. - reads standard input.\n"
    "\n"
    "options:\n"
    "  --capacity BYTES  stop at the first plan that fits (e.g. 1048576, 64K, 1.5G); for at most 60 seconds\n"
    "  --seconds S       search for at most S seconds\n"
    "  --steps N         search for at most N steps: the same plan on every machine (default 20000)\n"
    "  --html FILE       write an interactive page: zoom, search, what is live at the peak (docs/plan.md)\n"
    "  --svg FILE        draw the plan as a static image\n"
    "  --out FILE        write the problem with an added offset column\n"
    "  --json            print one line of JSON instead\n"
    "  --method NAME     use one greedy order instead of the search: size, area, pressure, lifetime or birth,\n"
    "                    followed by -best or -first for the gap it takes\n"
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
  MP_REQUIRE(!out->file.empty(), "no file given; usage: ./millpond plan [OPTIONS] FILE.csv");
  // One kind of limit lifts the other; a capacity alone gets a minute.
  if (!out->has_steps && (out->has_seconds || out->budget.capacity != 0)) out->budget.steps = UINT64_MAX / 2;
  if (!out->has_steps && !out->has_seconds && out->budget.capacity != 0) out->budget.seconds = kSecondsForCapacity;
  return Ok();
}

Status ReadText(const std::string& name, std::string* out) {
  if (name == "-") return millpond::files::ReadOpened(STDIN_FILENO, name, "standard input,", kMaxBytes, out);
  return millpond::files::Read(name, "the problem", kMaxBytes, out);
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
                Format("--method %s: expected size, area, pressure, lifetime or birth, followed by -best or -first",
                       request.method.c_str()));
}

std::string PageOf(const std::string& title, const ProblemFile& file, const Plan& plan, size_t capacity,
                   double seconds) {
  millpond::report::Page page;
  page.title = title;
  page.subtitle = Format("Planned by ./millpond plan in %.1f ms, %llu steps of search", 1000 * seconds,
                         static_cast<unsigned long long>(plan.steps));
  page.peak = plan.peak;
  page.bound = file.max_live;
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
                            .inside = millpond::report::kNone,
                            .shape = {}});
  }
  return millpond::report::Html(page);
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
  const double ratio = file.max_live == 0 ? 1 : static_cast<double>(plan.peak) / static_cast<double>(file.max_live);
  if (request.json) {
    printf(
        "{\"file\": %s, \"buffers\": %zu, \"peak\": %zu, \"bound\": %zu, \"ratio\": %.6f, \"seconds\": %.6f, "
        "\"steps\": %llu, \"optimal\": %s, \"capacity\": %s, \"fits\": %s}\n",
        millpond::JsonQuoted(request.file).c_str(), file.rows.size(), plan.peak, file.max_live, ratio, seconds,
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
  printf("bound    %zu (%s)\n", file.max_live, FormatBytes(file.max_live).c_str());
  printf("ratio    %.4f%s\n", ratio, plan.is_optimal ? " (optimal: no plan has a smaller peak)" : "");
  printf("time     %.3f ms (%llu steps of search)\n", 1000 * seconds, static_cast<unsigned long long>(plan.steps));
  if (capacity == 0) return;
  if (plan.peak <= capacity) {
    printf("fits     yes, in %zu bytes (%s)\n", capacity, FormatBytes(capacity).c_str());
  } else {
    printf("fits     no: %zu bytes more than the capacity of %zu%s\n", plan.peak - capacity, capacity,
           file.max_live > capacity ? ", and no plan can: more is live at once"
           : plan.is_optimal        ? ", and no plan can"
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
  if (file.rows.size() <= kMaxValidated) {
    const Status valid = ValidatePlan(file.problem, plan);
    MP_CHECK(valid.ok(), kInternal, "the plan is wrong, please report this: %s", valid.message().c_str());
  }
  const std::string title = request.file == "-" ? "standard input" : request.file.substr(request.file.rfind('/') + 1);
  if (!request.svg.empty()) {
    MP_RETURN_IF_ERROR(millpond::files::Write(request.svg, Draw(title, file, plan, request.budget.capacity)));
  }
  if (!request.html.empty()) {
    MP_RETURN_IF_ERROR(
        millpond::files::Write(request.html, PageOf(title, file, plan, request.budget.capacity, seconds)));
  }
  if (!request.out.empty()) MP_RETURN_IF_ERROR(millpond::files::Write(request.out, WithOffsets(file, plan)));
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
