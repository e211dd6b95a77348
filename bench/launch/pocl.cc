// SPDX-License-Identifier: Apache-2.0
// Peer "pocl": PoCL, the OpenCL implementation for CPUs: another runtime with queues, events and worker threads.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstring>
#include <vector>

#include "bench/common/measure.h"
#include "bench/launch/shapes.h"

namespace millpond::bench {
namespace {

void Check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "%s returned %d, expected CL_SUCCESS (0)\n", call, code);
  std::exit(1);
}
#define MP_CL(call) Check((call), #call)

cl_platform_id FindPocl() {
  cl_uint count = 0;
  cl_platform_id platforms[16] = {};
  // The loader reports "no platform" as an error of its own; both cases mean the same here.
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < count && i < 16; ++i) {
    char name[256] = {};
    MP_CL(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name) - 1, name, nullptr));
    if (std::strcmp(name, "Portable Computing Language") == 0) return platforms[i];
  }
  std::fprintf(stderr, "no PoCL among %u OpenCL platforms; install Debian's pocl-opencl-icd\n", count);
  std::exit(kSkipExitCode);
}

void CL_CALLBACK EmptyNative(void*) {}

class Pocl {
 public:
  Pocl() {
    const cl_platform_id platform = FindPocl();
    MP_CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device_, nullptr));
    cl_int code = CL_SUCCESS;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
    Check(code, "clCreateContext");
    const char* source = "kernel void empty(void) {}";
    const cl_program program = clCreateProgramWithSource(context_, 1, &source, nullptr, &code);
    Check(code, "clCreateProgramWithSource");
    MP_CL(clBuildProgram(program, 1, &device_, "", nullptr, nullptr));
    kernel_ = clCreateKernel(program, "empty", &code);
    Check(code, "clCreateKernel");
    MP_CL(clReleaseProgram(program));
  }

  ~Pocl() {
    for (cl_command_queue queue : queues_) clReleaseCommandQueue(queue);
    clReleaseKernel(kernel_);
    clReleaseContext(context_);
  }

  Pocl(const Pocl&) = delete;
  Pocl& operator=(const Pocl&) = delete;

  // The i-th in-order queue, made when first asked for.
  cl_command_queue Queue(std::size_t i) {
    while (queues_.size() <= i) {
      cl_int code = CL_SUCCESS;
      queues_.push_back(clCreateCommandQueue(context_, device_, 0, &code));
      Check(code, "clCreateCommandQueue");
    }
    return queues_[i];
  }

  void Launch(cl_command_queue queue, cl_uint waits = 0, const cl_event* wait = nullptr, cl_event* done = nullptr) {
    const std::size_t one = 1;  // a single work item: the least that a kernel can be
    MP_CL(clEnqueueNDRangeKernel(queue, kernel_, 1, nullptr, &one, &one, waits, wait, done));
  }

  [[nodiscard]] cl_event UserEvent() const {
    cl_int code = CL_SUCCESS;
    const cl_event event = clCreateUserEvent(context_, &code);
    Check(code, "clCreateUserEvent");
    return event;
  }

  [[nodiscard]] bool HasNativeKernels() const {
    cl_device_exec_capabilities capabilities = 0;
    MP_CL(clGetDeviceInfo(device_, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(capabilities), &capabilities, nullptr));
    return (capabilities & CL_EXEC_NATIVE_KERNEL) != 0;
  }

 private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_kernel kernel_ = nullptr;
  std::vector<cl_command_queue> queues_;
};

void LaunchNative(cl_command_queue queue) {
  MP_CL(clEnqueueNativeKernel(queue, EmptyNative, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr));
}

void Tasks(const Harness& harness, Pocl& pocl) {
  const cl_command_queue queue = pocl.Queue(0);
  harness.PerItem("task", "ns", harness.Count(20'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) pocl.Launch(queue);
    MP_CL(clFinish(queue));
  });
  harness.PerItem("launch_sync", "ns", harness.Count(3'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      pocl.Launch(queue);
      MP_CL(clFinish(queue));
    }
  });
  harness.PerItem("event_record", "ns", harness.Count(20'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      cl_event marker = nullptr;
      MP_CL(clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker));
      MP_CL(clReleaseEvent(marker));
    }
    MP_CL(clFinish(queue));
  });
}

void NativeTasks(const Harness& harness, Pocl& pocl) {
  if (!pocl.HasNativeKernels()) return;
  const cl_command_queue queue = pocl.Queue(0);
  harness.PerItem("task_native", "ns", harness.Count(20'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) LaunchNative(queue);
    MP_CL(clFinish(queue));
  });
  harness.PerItem("launch_sync_native", "ns", harness.Count(3'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      LaunchNative(queue);
      MP_CL(clFinish(queue));
    }
  });
}

// Every kernel waits for the one before it, which sits in the other queue. With a gate, all of them are enqueued before
// the first may run, as in our own `hop`; without, the enqueueing is part of the time (`hop_launched`).
double Chain(Pocl& pocl, std::size_t hops, bool gated) {
  cl_event gate = nullptr;
  const auto enqueue = [&] {
    cl_event previous = gate;
    for (std::size_t i = 0; i < hops; ++i) {
      cl_event done = nullptr;
      pocl.Launch(pocl.Queue(i % 2), previous == nullptr ? 0 : 1, previous == nullptr ? nullptr : &previous, &done);
      MP_CL(clFlush(pocl.Queue(i % 2)));
      if (previous != nullptr && previous != gate) MP_CL(clReleaseEvent(previous));
      previous = done;
    }
    return previous;
  };
  const auto finish = [&](cl_event last) {
    MP_CL(clWaitForEvents(1, &last));
    MP_CL(clReleaseEvent(last));
  };
  if (!gated) return Nanoseconds([&] { finish(enqueue()); });
  gate = pocl.UserEvent();
  const cl_event last = enqueue();
  const double took = Nanoseconds([&] {
    MP_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    finish(last);
  });
  MP_CL(clReleaseEvent(gate));
  return took;
}

void Hops(const Harness& harness, Pocl& pocl) {
  const std::size_t hops = 128;
  for (const bool gated : {true, false}) {
    const char* metric = gated ? "hop" : "hop_launched";
    if (!harness.Wants(metric)) continue;
    Chain(pocl, hops, gated);
    const std::size_t chains = harness.Count(50);
    double total = 0;
    for (std::size_t i = 0; i < chains; ++i) total += Chain(pocl, hops, gated);
    harness.Emit(metric, "ns", total / static_cast<double>(hops * chains));
  }
}

void Streams(const Harness& harness, Pocl& pocl, std::size_t streams) {
  pocl.Queue(streams - 1);
  harness.PerItem(StreamsMetric(streams), "ns", harness.Count(20'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) pocl.Launch(pocl.Queue(i % streams));
    for (std::size_t i = 0; i < streams; ++i) MP_CL(clFinish(pocl.Queue(i)));
  });
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  const millpond::bench::Harness harness("pocl", argc, argv);
  millpond::bench::Pocl pocl;
  millpond::bench::Tasks(harness, pocl);
  millpond::bench::NativeTasks(harness, pocl);
  millpond::bench::Hops(harness, pocl);
  for (const std::size_t streams : millpond::bench::kStreamCounts) millpond::bench::Streams(harness, pocl, streams);
  return 0;
}
