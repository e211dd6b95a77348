// SPDX-License-Identifier: Apache-2.0
// HCCL's collectives on device memory: an operation and a synchronisation of its stream.
#include <hccl/hccl.h>

#include "bench/common/acl_session.h"
#include "bench/ranks/processes.h"

namespace {

using namespace millpond::bench;  // NOLINT: one short program

constexpr std::size_t kMinBytes = 4;

void Launch(const Shape& shape, unsigned ranks, void* send, void* receive, HcclComm comm, aclrtStream stream) {
  const std::size_t part = shape.bytes / ranks;
  switch (shape.kind) {
    case Kind::kAllReduce:
      return MP_ACL(HcclAllReduce(send, receive, shape.bytes / sizeof(float), HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                  comm, stream));
    case Kind::kAllGather:
      return MP_ACL(HcclAllGather(send, receive, part, HCCL_DATA_TYPE_INT8, comm, stream));
    case Kind::kAlltoAll:
      return MP_ACL(HcclAlltoAll(send, part, HCCL_DATA_TYPE_INT8, receive, part, HCCL_DATA_TYPE_INT8, comm, stream));
    case Kind::kBroadcast:
      return MP_ACL(HcclBroadcast(send, shape.bytes, HCCL_DATA_TYPE_INT8, 0, comm, stream));
  }
}

constexpr char kOnHosts[] = "_2hosts";

void BeRank(const Harness& harness, const char* suffix, unsigned rank, unsigned ranks, Shared* shared) {
  static_assert(sizeof(HcclRootInfo) == sizeof(shared->root));
  MP_ACL(aclInit(nullptr));
  MP_ACL(aclrtSetDevice(static_cast<int>(rank)));
  HcclRootInfo root;
  if (rank == 0) {
    MP_ACL(HcclGetRootInfo(&root));
    std::memcpy(shared->root, &root, sizeof(root));
    shared->root_ready.store(1);
  }
  while (shared->root_ready.load() == 0) usleep(100);
  std::memcpy(&root, shared->root, sizeof(root));
  HcclComm comm = nullptr;
  MP_ACL(HcclCommInitRootInfo(ranks, &root, rank, &comm));
  {
    const Stream stream;
    const std::vector<Shape> shapes = Shapes(harness.smoke());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Shape& shape = shapes[i];
      if (!harness.Wants(MetricOf(shape, ranks) + suffix)) continue;
      const DeviceBlock send(shape.bytes + kMinBytes), receive(shape.bytes + kMinBytes);
      std::vector<unsigned char> host;
      FillSend(shape, rank, ranks, &host, [&](const auto& from) {
        MP_ACL(aclrtMemcpy(send.get(), from.size(), from.data(), from.size(), ACL_MEMCPY_HOST_TO_DEVICE));
      });
      const void* const result = shape.kind == Kind::kBroadcast ? send.get() : receive.get();
      const auto once = [&] {
        Launch(shape, ranks, send.get(), receive.get(), comm, stream.get());
        stream.Synchronize();
      };
      once();
      shared->microseconds[rank][i] = MedianUs(shape.repetitions, once);
      MP_ACL(aclrtMemcpy(host.data(), host.size(), result, host.size(), ACL_MEMCPY_DEVICE_TO_HOST));
      if (!IsRight(shape, rank, ranks, host)) {
        std::fprintf(stderr, "%s gives wrong bytes on rank %u\n", MetricOf(shape, ranks).c_str(), rank);
        _exit(1);
      }
    }
  }
  MP_ACL(HcclCommDestroy(comm));
  MP_ACL(aclrtResetDevice(static_cast<int>(rank)));
  MP_ACL(aclFinalize());
}

}  // namespace

int main(int argc, char** argv) {
  const Harness harness("ours", argc, argv);
  setenv("MILLPOND_DEVICES", "4", 1);
  const auto body = [&](unsigned rank, unsigned ranks, Shared* shared) { BeRank(harness, "", rank, ranks, shared); };
  if (const int failed = RunAll(harness, body)) return failed;
  // Two hosts with two ranks each: this machine, told to take itself for two, over its loopback.
  const auto on_hosts = [&](unsigned rank, unsigned ranks, Shared* shared) {
    const std::string host = std::to_string(rank / 2 + 1);
    setenv("MILLPOND_RANK_HOST", host.c_str(), 1);
    setenv("HCCL_IF_IP", ("127.0.0." + host).c_str(), 1);
    BeRank(harness, kOnHosts, rank, ranks, shared);
  };
  return RunShapes(harness, 4, kOnHosts, on_hosts) ? 0 : 1;
}
