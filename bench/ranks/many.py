#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What 64 to 10,000 ranks would cost with the transport as it is: frames and bytes of src/comm/link_send.cc on a modelled network.

Nothing is run: the counts follow from the code, and the network is a bandwidth, a latency and a cost per frame, which are assumed below. Each host tells
every other of its ranks' calls, rounds and confirmations, over connections between all hosts; a large AllReduce goes along the chain of hosts
(src/comm/collective_chain.cc). Beside that stands what the same operation cost when all went in rounds through the root's host. It answers one
question: which part is the first to cost more than the wire would.

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
LANE = 512 << 10           # a piece of the chain
CHAIN_FROM = 256 << 10
CELL = 27 << 10            # RankCell
CHANNEL = 4096 + (512 << 10)


class Cost:
    """Of one operation at the host that carries the most."""

    def __init__(self, ranks, per_host, size):
        hosts = -(-ranks // per_host)
        rounds = max(1, -(-size // STAGE)) * (2 if size > 64 << 10 else 1)
        # A call is an act, a descriptor and that it is over; a round is its bytes, that they are there, and that they were taken.
        call, in_rounds = 3, 3 * rounds
        self.star_frames = (call + in_rounds) * ranks * (hosts - 1)  # all forwarded by the root's host
        # First phase: every host needs its ranks' pieces of every other rank's chunk. Second: every reduced piece goes everywhere.
        payload = size * (ranks - per_host) * per_host / ranks + size * (hosts - 1) * per_host / ranks
        self.star_s = self.star_frames * FRAME_S + payload * max(1, hosts - 2) / WIRE_BYTES_PER_S

        chained = size >= CHAIN_FROM and per_host > 1 and hosts > 1
        # Said to every host: the call, and with the chain the vote and two counts. To neighbours alone: pieces, and that they were taken.
        to_all = call + (3 if chained else in_rounds)
        pieces = -(-size // LANE) if chained else 0
        # What a host sends of its own ranks, and what it hears of all others.
        self.frames = to_all * (per_host * (hosts - 1) + ranks - per_host) + pieces * 8
        control = to_all * (HEADER + (DESCRIPTOR + ACT) / 2) * (per_host * (hosts - 1) + ranks - per_host)
        self.control_s = self.frames * FRAME_S + control / COPY_BYTES_PER_S
        one_way = size if chained else payload
        hops = 2 * (hosts - 1) if chained else rounds
        self.wire_s = one_way / WIRE_BYTES_PER_S + hops * (LATENCY_S + (LANE / WIRE_BYTES_PER_S if chained else 0))
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
    print(f"{'ranks':>6} {'size':>7} {'frames of a host':>17} {'their time':>11} {'wire':>9} {'through the root':>17} {'memory/host':>12} "
          f"{'addresses':>10}  most time goes to")
    for ranks in arguments.ranks:
        for size, name in ((4, "4 B"), (64 << 20, "64 MiB")):
            cost = Cost(ranks, arguments.per_host, size)
            parts = {"frames of all ranks to all hosts": cost.control_s, "the wire": cost.wire_s, "the reduction": cost.reduce_s}
            print(f"{ranks:>6} {name:>7} {cost.frames:>17,} {seconds(cost.control_s):>11} {seconds(cost.wire_s):>9} {seconds(cost.star_s):>17} "
                  f"{cost.memory / 2**30:>8.1f} GiB {cost.addresses / 2**40:>6.1f} TiB  {max(parts, key=parts.get)}")


if __name__ == "__main__":
    main()
