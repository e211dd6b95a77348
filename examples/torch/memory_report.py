# SPDX-License-Identifier: Apache-2.0
"""What torch.npu reports about device memory: free and total, statistics, the summary, and a snapshot for PyTorch's memory_viz."""

import pathlib
import pickle
import tempfile

import torch
from torch.cuda import _memory_viz

from common import arguments

MIB = 2**20


def show(what):
    free, total = torch.npu.mem_get_info()
    print(f"{what}: {torch.npu.memory_allocated() / MIB:.1f} MiB allocated, {torch.npu.memory_reserved() / MIB:.1f} MiB reserved, "
          f"{(total - free) / MIB:.0f} MiB of the device used")
    return free


def allocate_and_free():
    """Returns a tensor that lives on between two that do not."""
    tensors = [torch.ones(4 * MIB, device="npu") for _ in range(3)]  # 16 MiB each
    show("three tensors")
    return tensors[1]


def save_snapshot(folder):
    """The pickle opens in memory_viz; the same images come out of PyTorch's own script as web pages."""
    torch.npu.memory._dump_snapshot(str(folder / "snapshot.pickle"))
    with open(folder / "snapshot.pickle", "rb") as file:
        snapshot = pickle.load(file)
    for name in ("trace_plot", "segment_plot"):
        (folder / f"{name}.html").write_text(getattr(_memory_viz, name)(snapshot))
    (folder / "segments.txt").write_text(_memory_viz.segsum(snapshot) + _memory_viz.trace(snapshot))
    return snapshot


def main():
    options = arguments(__doc__, npu_only="device memory is what this example is about",
                        output=("", "folder for the snapshot; one that is removed again when empty"))
    torch.npu.memory._record_memory_history(stacks="python")
    before = show("at the start")
    kept = allocate_and_free()
    stats = torch.npu.memory_stats()
    print(f"peak {torch.npu.max_memory_allocated() / MIB:.1f} MiB in {stats['allocation.all.peak']} blocks, "
          f"{stats['num_ooms']} times out of memory")
    show("one is left")
    torch.npu.empty_cache()
    after = show("after empty_cache")
    print(f"the device gave {(before - after) / MIB:.0f} MiB")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.output or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        snapshot = save_snapshot(folder)
        written = sorted(path.name for path in folder.iterdir() if path.stat().st_size)
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
    live = sum(block["size"] for block in blocks if block["state"] == "active_allocated")
    actions = {entry["action"] for trace in snapshot["device_traces"] for entry in trace}
    print(f"snapshot: {len(snapshot['segments'])} segments, {live / MIB:.1f} MiB live, actions: {', '.join(sorted(actions))}")
    print("written:", *written)
    print(torch.npu.memory_summary(abbreviated=True))
    print("sum of what is left:", int(kept.sum().item()))


if __name__ == "__main__":
    main()
