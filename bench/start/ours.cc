// SPDX-License-Identifier: Apache-2.0
// What a process pays before its first result, and what the runtime keeps while nothing happens: from aclInit to the
// first finished memset, to the first finished kernel, resident memory after aclInit alone, and of idle streams.
// growth of a trace: start.py.
#include <aclnnop/aclnn_relu.h>
#include <dlfcn.h>

#include <vector>

#include "bench/common/acl_session.h"
#include "bench/common/measure.h"

namespace {

using namespace millpond::bench;  // NOLINT: a program of this folder

void FirstMemset() {
  MP_ACL(aclInit(nullptr));
  MP_ACL(aclrtSetDevice(0));
  const Stream stream;
  const DeviceBlock block(4096);
  MP_ACL(aclrtMemsetAsync(block.get(), 4096, 1, 4096, stream.get()));
  stream.Synchronize();
}

void FirstKernel() {
  MP_ACL(aclInit(nullptr));
  MP_ACL(aclrtSetDevice(0));
  const Stream stream;
  const DeviceBlock block(4096);
  const int64_t dims[] = {1024};
  const int64_t strides[] = {1};
  aclTensor* const x = aclCreateTensor(dims, 1, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 1, block.get());
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  MP_ACL(aclnnReluGetWorkspaceSize(x, x, &workspace, &executor));
  MP_ACL(aclnnRelu(nullptr, 0, executor, stream.get()));
  stream.Synchronize();
  aclDestroyTensor(x);
}

// With what they took for their creation given back: what stays per stream.
double IdleStream(size_t count) {
  MP_ACL(aclInit(nullptr));
  MP_ACL(aclrtSetDevice(0));
  std::vector<aclrtStream> streams(count);
  const auto make = [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      MP_ACL(aclrtCreateStream(&streams[i]));
      MP_ACL(aclrtSynchronizeStream(streams[i]));
    }
  };
  make(0, count / 4);
  const double before = ResidentBytes();
  make(count / 4, count);
  const double kept = ResidentBytes() - before;
  for (const aclrtStream stream : streams) MP_ACL(aclrtDestroyStream(stream));
  return kept / static_cast<double>(count - count / 4);
}

// Tasks under a trace (ASCEND or MILLPOND settings say which): the growth of the process between the first tenth and
// the end.
double TracedGrowth(size_t tasks) {
  MP_ACL(aclInit(nullptr));
  MP_ACL(aclrtSetDevice(0));
  const Stream stream;
  const DeviceBlock block(64);
  const auto run = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) {
      MP_ACL(aclrtMemsetAsync(block.get(), 8, 1, 8, stream.get()));
      if (i % 1000 == 999) stream.Synchronize();
    }
    stream.Synchronize();
  };
  run(tasks / 10);
  const double before = ResidentBytes();
  run(tasks - tasks / 10);
  return ResidentBytes() - before;
}

}  // namespace

int main(int argc, char** argv) {
  std::string what = "init";
  std::string tasks = "1000000";
  const Harness harness("ours", argc, argv, {{"--what", &what}, {"--tasks", &tasks}});
  if (what == "memset") {
    harness.Emit("init_to_memset", "ms", Nanoseconds(FirstMemset) / 1e6);
  } else if (what == "kernel") {
    harness.Emit("init_to_kernel", "ms", Nanoseconds(FirstKernel) / 1e6);
  } else if (what == "init") {
    MP_ACL(aclInit(nullptr));
    harness.Emit("init_resident", "MB", ResidentBytes() / 1e6);
  } else if (what == "streams") {
    harness.Emit("idle_stream", "KiB", IdleStream(harness.smoke() ? 64 : 1024) / 1024);
  } else if (what == "trace") {
    harness.Emit("trace_growth", "MB", TracedGrowth(std::stoul(tasks)) / 1e6);
  } else {
    std::fprintf(stderr, "%s: --what %s is none of init, memset, kernel, streams, trace\n", argv[0], what.c_str());
    return 2;
  }
  return 0;
}
