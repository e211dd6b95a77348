// SPDX-License-Identifier: Apache-2.0
// Peers "torch" and "torch_expandable" (torch_policy.h), on the virtual device like ours.
#include "bench/common/acl_session.h"
#include "bench/common/measure.h"
#include "bench/pool/family.h"
#include "bench/pool/torch_policy.h"
#include "bench/pool/workloads.h"

namespace millpond::bench {
namespace {

struct Variant {
  const char* subject;
  TorchPolicy::Segments segments;
};
constexpr Variant kVariants[] = {{"torch", TorchPolicy::Segments::kFixed},
                                 {"torch_expandable", TorchPolicy::Segments::kExpandable}};

// Both variants at the trace's peak in a file of one object, for picture.py.
void WriteFragments(const Trace& trace, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    std::exit(1);
  }
  std::fprintf(file, "{\"live_bytes\": %zu", trace.peak_live_bytes);
  for (const Variant& variant : kVariants) {
    TorchPolicy policy(variant.segments);
    ReplayToWarmPeak(policy, trace);
    std::fprintf(file, ",\n\"%s\": ", variant.subject);
    policy.WriteSnapshot(file);
  }
  std::fprintf(file, "}\n");
  std::fclose(file);
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  using namespace millpond::bench;
  PoolArguments arguments;
  std::string fragments;
  const Harness harness("torch", argc, argv, arguments.Flags({{"--fragments", &fragments}}));
  const Session session;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  MP_ACL(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  harness.EmitFor("device", "memory", "bytes", static_cast<double>(total));
  if (harness.only() == "memory") return 0;  // run.py asks before it chooses the mixed sizes
  const Trace trace = arguments.ReadTraceOrExit();
  if (!fragments.empty()) {
    WriteFragments(trace, fragments);
    return 0;
  }
  const std::vector<FamilyTrace> family = ReadFamily(arguments);
  for (const Variant& variant : kVariants) {
    const auto make = [&] { return TorchPolicy(variant.segments); };
    MeasureFresh(harness, variant.subject, make, trace, arguments);
    if (!family.empty()) MeasureFamily(harness, variant.subject, make, family);
  }
  return 0;
}
