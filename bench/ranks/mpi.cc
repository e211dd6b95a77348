// SPDX-License-Identifier: Apache-2.0
// The same by MPI, on host memory. Started without a launcher's variables it starts itself by mpirun, once for each
// number of ranks.
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "bench/common/measure.h"
#include "bench/ranks/shapes.h"

namespace {

using namespace millpond::bench;  // NOLINT: one short program

void Once(const Shape& shape, int ranks, std::vector<unsigned char>* send, std::vector<unsigned char>* receive) {
  const int bytes = static_cast<int>(shape.bytes), part = bytes / ranks;
  switch (shape.kind) {
    case Kind::kAllReduce:
      MPI_Allreduce(send->data(), receive->data(), bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case Kind::kAllGather:
      MPI_Allgather(send->data(), part, MPI_BYTE, receive->data(), part, MPI_BYTE, MPI_COMM_WORLD);
      break;
    case Kind::kAlltoAll:
      MPI_Alltoall(send->data(), part, MPI_BYTE, receive->data(), part, MPI_BYTE, MPI_COMM_WORLD);
      break;
    case Kind::kBroadcast:
      MPI_Bcast(send->data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
      break;
  }
}

int BeRank(const Harness& harness) {
  MPI_Init(nullptr, nullptr);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto me = static_cast<unsigned>(rank), all = static_cast<unsigned>(ranks);
  for (const Shape& shape : Shapes(harness.smoke())) {
    if (!harness.Wants(MetricOf(shape, all))) continue;
    std::vector<unsigned char> send, receive(shape.bytes);
    FillSend(shape, me, all, &send, [](const auto&) {});
    const double own = MedianUs(shape.repetitions, [&] { Once(shape, ranks, &send, &receive); });
    double slowest = 0;
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!IsRight(shape, me, all, shape.kind == Kind::kBroadcast ? send : receive)) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) harness.Emit(MetricOf(shape, all), "us", slowest);
  }
  return MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  const Harness harness("openmpi", argc, argv);
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return BeRank(harness);
  for (const unsigned ranks : kRankCounts) {
    std::string command = "mpirun --allow-run-as-root --oversubscribe --mca btl self,vader -n " + std::to_string(ranks);
    for (int i = 0; i < argc; ++i) command += std::string(" '") + argv[i] + "'";
    if (const int status = std::system(command.c_str()); status != 0) return 1;
  }
  return 0;
}
