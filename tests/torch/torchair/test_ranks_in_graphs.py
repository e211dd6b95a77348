# SPDX-License-Identifier: Apache-2.0
"""Collectives that torchair puts into a GE graph, between several ranks."""

from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_functional_collectives_in_a_graph(start):
    output = start("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2, HERE / "ranks.py",
                   env={"MILLPOND_DEVICES": "2", "MILLPOND_RANK_TIMEOUT_MS": "100000"})
    for rank in range(2):
        assert f"rank {rank}: all good" in output, output
