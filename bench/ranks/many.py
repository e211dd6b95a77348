#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What 64 to 10,000 ranks would cost with the transport as it is: frames and bytes of src/comm/link_send.cc on a modelled network.

Nothing is run: the counts follow from the code (each rank's call, rounds and confirmations go to every other host, through the root's), and the
network is a bandwidth, a latency and a cost per frame, which are assumed below. It answers one question: which part is the first to cost more than
the wire would.

    python3 bench/ranks/many.py [--ranks N ...] [--per-host N]
"""

import argparse

WIRE_BYTES_PER_S = 12.5e9  # 100 Gbit/s
LATENCY_S = 20e-6
FRAME_S = 0.5e-6           # of one frame in the thread that carries them: a guess, for a part of a system call
COPY_BYTES_PER_S = 8e9
HEADER = 32
DESCRIPTOR = 96
ACT = 40
STAGE = 2 << 20
CELL = 26 << 10            # RankCell
CHANNEL = 4096 + (512 << 10)


class Cost:
    """Of one operation at the root's host, which carries the most."""

    def __init__(self, ranks, per_host, size):
        hosts = -(-ranks // per_host)
        chunks = max(1, -(-size // STAGE))
        rounds = chunks * (2 if size > 64 << 10 else 1)
        # A call is an act and a descriptor; a round is its bytes, that they are there, and that they were taken.
        frames = 2 + rounds * 3
        self.frames = frames * ranks * (hosts - 1)  # forwarded to each other host by the root
        control = (2 * HEADER + DESCRIPTOR + ACT + rounds * 3 * HEADER) * ranks * (hosts - 1)
        # First phase: every host needs its ranks' pieces of every other rank's chunk. Second: every reduced piece goes everywhere.
        payload = size * (ranks - per_host) * per_host / ranks + size * (hosts - 1) * per_host / ranks
        through_root = payload * max(1, hosts - 2) if hosts > 2 else payload
        self.control_s = self.frames * FRAME_S + control / COPY_BYTES_PER_S
        self.star_s = through_root / WIRE_BYTES_PER_S
        self.mesh_s = payload / WIRE_BYTES_PER_S + rounds * LATENCY_S
        self.reduce_s = size * per_host / COPY_BYTES_PER_S
        self.memory = ranks * (CELL + 4 * STAGE) + ranks * per_host * CHANNEL
        self.addresses = ranks * ranks * CHANNEL + ranks * 4 * STAGE


def seconds(value):
    return f"{value * 1e6:.0f} us" if value < 1e-3 else f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1000, 10000])
    parser.add_argument("--per-host", type=int, default=8)
    arguments = parser.parse_args()
    print(f"{'ranks':>6} {'size':>7} {'frames at the root':>19} {'their time':>11} {'bytes, star':>12} {'bytes, mesh':>12} "
          f"{'memory/host':>12} {'addresses':>10}  first to break")
    for ranks in arguments.ranks:
        for size, name in ((4, "4 B"), (64 << 20, "64 MiB")):
            cost = Cost(ranks, arguments.per_host, size)
            parts = {"frames of all ranks to all hosts": cost.control_s, "bytes through the root": cost.star_s, "the wire itself": cost.mesh_s,
                     "the reduction": cost.reduce_s}
            print(f"{ranks:>6} {name:>7} {cost.frames:>19,} {seconds(cost.control_s):>11} {seconds(cost.star_s):>12} {seconds(cost.mesh_s):>12} "
                  f"{cost.memory / 2**30:>8.1f} GiB {cost.addresses / 2**40:>6.1f} TiB  {max(parts, key=parts.get)}")


if __name__ == "__main__":
    main()
