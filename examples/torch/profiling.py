# SPDX-License-Identifier: Apache-2.0
"""A training loop under torch_npu.profiler, with a schedule.

On the virtual NPU the profiler runs to its end, but it has no device counters to show. For what ran when and on which stream use

    ./millpond run --trace kernels.json -- python examples/torch/profiling.py
"""

import shutil
import tempfile

import torch
from torch import nn

from common import arguments

STEPS = 5


def main():
    options = arguments(__doc__, npu_only="torch_npu.profiler needs the NPU; on a CPU use torch.profiler",
                        output=("", "folder for the profile; one that is removed again when empty"))
    import torch_npu

    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).to(options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data, target = torch.randn(16, 64).to(options.device), torch.randn(16, 8).to(options.device)
    profiler = torch_npu.profiler
    folder = options.output or tempfile.mkdtemp()
    handler = profiler.tensorboard_trace_handler(folder, analyse_flag=False)
    finished = []

    def ready(profile):
        handler(profile)
        finished.append(profile)

    with profiler.profile(
            activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
            schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready,
            record_shapes=True, profile_memory=True) as profile:
        for _ in range(STEPS):
            loss = nn.functional.mse_loss(model(data), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            profile.step()
    if not options.output:
        shutil.rmtree(folder)
    print(f"{STEPS} steps under the profiler, {len(finished)} profile ready, loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
