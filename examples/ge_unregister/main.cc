// SPDX-License-Identifier: Apache-2.0
// UnregisterExternalAllocator: how to remove a pool from a stream whose graphs keep running. Blocks in use still go
// back to it; it gets no new requests. (GeSession, as in the document; Session has the same call.)
#include <ge/ge_api_v2.h>

#include "../ge_shared/small_graph.h"
#include "../ge_shared/talking_pool.h"

namespace {

constexpr size_t kRows = 8;
using Options = std::map<ge::AscendString, ge::AscendString>;

// GeSession takes gert::Tensor: a view of the input.
std::vector<gert::Tensor> Inputs(const DeviceInput& input) {
  gert::Tensor tensor(gert::StorageShape({kRows, kColumns}, {kRows, kColumns}),
                      gert::StorageFormat(ge::FORMAT_ND, ge::FORMAT_ND, {}), ge::DT_FLOAT);
  tensor.SetData(gert::TensorData(input.data(), nullptr, input.bytes(), gert::kOnDeviceHbm));
  std::vector<gert::Tensor> inputs;
  inputs.push_back(std::move(tensor));
  return inputs;
}

size_t Run(ge::GeSession& session, aclrtStream stream, const DeviceInput& input, std::vector<gert::Tensor>* outputs) {
  CHECK(session.RunGraphWithStreamAsync(1, stream, Inputs(input), *outputs));
  CHECK(aclrtSynchronizeStream(stream));
  return CountWrong((*outputs)[0].GetAddr(), kRows);
}

size_t Demonstrate(aclrtStream stream) {
  size_t wrong = 0;
  const DeviceInput input(kRows);
  std::weak_ptr<TalkingPool> watched;
  std::vector<gert::Tensor> from_pool;
  ge::GeSession session(Options{});
  CHECK(session.AddGraph(1, MakeGraph("unregister", kRows)));
  {
    auto pool = std::make_shared<TalkingPool>("pool");
    watched = pool;
    std::puts("== Registered: the first run takes constants, feature memory and its output from the pool");
    CHECK(session.RegisterExternalAllocator(stream, pool));
    wrong += Run(session, stream, input, &from_pool);

    std::puts("== Unregistered: the same graph runs on; its next output is built-in memory, and the pool is not asked");
    CHECK(session.UnregisterExternalAllocator(stream));
    const int given = pool->given;
    std::vector<gert::Tensor> built_in;
    wrong += Run(session, stream, input, &built_in);
    if (pool->given != given) ++wrong;

    std::puts("== Unregistered again, and for a stream that nobody registered: both succeed and do nothing");
    CHECK(session.UnregisterExternalAllocator(stream));
    int nobody = 0;
    CHECK(session.UnregisterExternalAllocator(&nobody));
  }
  // The document: unregister before the allocator is destroyed. Here the graph and the output still hold blocks, and a
  // block keeps its pool: on a real NPU drop both first. `./millpond check` names both (MP306, MP212).
  std::puts("== The program has let go of the pool; the graph and one output still hold its blocks");
  if (watched.expired()) ++wrong;
  std::puts("== The output is dropped");
  from_pool.clear();
  std::puts("== The graph is removed, and with the last block goes the pool");
  CHECK(session.RemoveGraph(1));
  if (!watched.expired()) ++wrong;
  return wrong;
}

}  // namespace

int main() {
  OpenDevice();
  CHECK(ge::GEInitializeV2(Options{}));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  const size_t wrong = Demonstrate(stream);
  std::printf("%zu elements wrong\n", wrong);
  CHECK(aclrtDestroyStream(stream));
  CHECK(ge::GEFinalizeV2());
  CloseDevice();
  return wrong == 0 ? 0 : 1;
}
