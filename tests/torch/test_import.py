# SPDX-License-Identifier: Apache-2.0
"""The vendor's wheel, unmodified: import, devices, memory, copies, streams, events, exit; one rank of HCCL; its profiler."""

import csv
import json
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def python(ascend_env, tmp_path):
    """Runs a script with the wheel; what it prints as JSON on its last line comes back."""
    def run(script, **extra):
        done = subprocess.run([sys.executable, "-c", "import json, torch\n" + script], env={**ascend_env, **extra}, cwd=tmp_path,
                              capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1]), done
    return run


def test_the_device_is_there(python):
    found, _ = python("print(json.dumps([torch.npu.is_available(), torch.npu.device_count(), torch.npu.get_device_name(0)]))")
    assert found == [True, 1, "Ascend910B3"]


def test_several_devices_and_another_product(python):
    found, _ = python("torch.npu.set_device(2); x = torch.empty(3, device='npu')\n"
                      "print(json.dumps([torch.npu.device_count(), str(x.device), torch.npu.get_device_name()]))",
                      MILLPOND_DEVICES="3", MILLPOND_SOC="Ascend910_9392")
    assert found == [3, "npu:2", "Ascend910_9392"]


def test_copies_keep_every_byte(python):
    found, _ = python("""
data = torch.randint(0, 256, (100003,), dtype=torch.uint8)
pinned = data.pin_memory()
back = torch.empty_like(pinned).pin_memory()
on_device = pinned.to("npu", non_blocking=True)
back.copy_(on_device, non_blocking=True)
torch.npu.synchronize()
twin = torch.empty_like(on_device)
twin.copy_(on_device)
print(json.dumps([pinned.is_pinned(), torch.equal(data.npu().cpu(), data), torch.equal(back, data), torch.equal(twin.cpu(), data)]))
""")
    assert found == [True] * 4


def test_streams_and_events(python):
    found, _ = python("""
side = torch.npu.Stream()
begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
source = torch.arange(1 << 18).pin_memory()
with torch.npu.stream(side):
    begin.record()
    moved = source.to("npu", non_blocking=True)
    end.record()
torch.npu.current_stream().wait_event(end)
moved.record_stream(torch.npu.current_stream())
end.synchronize()
side.synchronize()
print(json.dumps([side.query(), end.query(), begin.elapsed_time(end) >= 0, torch.equal(moved.cpu(), source)]))
""")
    assert found == [True] * 4


def test_memory_is_counted(python):
    found, _ = python("""
free, total = torch.npu.mem_get_info()
x = torch.empty(1 << 20, device="npu")
stats = torch.npu.memory_stats()
held = stats["allocated_bytes.all.current"]
less = torch.npu.mem_get_info()[0]
del x
torch.npu.empty_cache()
after = torch.npu.memory_stats()["reserved_bytes.all.current"]
print(json.dumps([free <= total, held, less < free, after, torch.npu.mem_get_info()[0] == free, len(torch.npu.memory_snapshot())]))
""")
    assert found[0] and found[2] and found[4]
    assert found[1] >= 4 << 20
    assert (found[3], found[5]) == (0, 0)


def test_compile_options_reach_the_compiler_library(python):
    found, _ = python("""
import ctypes
torch.npu.set_compile_mode(jit_compile=False)
torch.npu.set_option({"ACL_OP_COMPILER_CACHE_MODE": "disable"})
torch.use_deterministic_algorithms(True)
torch.npu.matmul.allow_hf32 = True
torch.empty(1, device="npu")
print(json.dumps(torch.npu.is_jit_compile_false()))
""")
    assert found is True


def test_a_free_after_finalize_is_quiet(python):
    # The tensor lives until the interpreter takes its modules apart, after torch_npu's own exit hook.
    _, done = python("import builtins\nbuiltins.kept = torch.empty(1000, device='npu')\nprint('{}')")
    assert "rror" not in done.stderr, done.stderr


ONE_RANK = """
import os
import torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", RANK="0", WORLD_SIZE="1")
store = dist.HashStore()
dist.init_process_group("hccl", store=store, rank=0, world_size=1)
"""


def test_one_rank_communicates_with_itself(python):
    found, _ = python(ONE_RANK + """
data = torch.arange(1000.)
x = data.npu()
results = {}
def judge(name, tensor):
    torch.npu.synchronize()
    results[name] = torch.equal(tensor.cpu(), data)
dist.all_reduce(x); judge("all_reduce", x)
dist.broadcast(x, 0); judge("broadcast", x)
dist.reduce(x, 0); judge("reduce", x)
for name in ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"):
    out = torch.empty(1000, device="npu")
    getattr(dist, name)(out, x); judge(name, out)
out = torch.empty(1000, device="npu")
dist.all_to_all([out], [x]); judge("all_to_all", out)
out = torch.empty(1000, device="npu")
for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 0), dist.P2POp(dist.irecv, out, 0)]): work.wait()
judge("batch_isend_irecv", out)
dist.all_reduce(x, group=dist.new_group([0])); judge("new_group", x)
dist.barrier()
dist.destroy_process_group()
print(json.dumps(results))
""")
    assert len(found) == 9 and all(found.values()), found


def test_the_wheels_profiler_shows_our_kernels(python, tmp_path):
    found, done = python("""
import torch_npu
from torch_npu.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
x = torch.arange(1000.).npu()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU], schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
             on_trace_ready=tensorboard_trace_handler("out"), record_shapes=True, profile_memory=True) as running:
    for _ in range(4):
        y = x + x
        torch.npu.synchronize()
        torch_npu.npu.mstx.mark("here")
        running.step()
print()
print(json.dumps(torch.equal(y.cpu(), torch.arange(1000.) * 2)))
""")
    assert found is True
    for _ in range(5):
        complete = [folder for folder in (tmp_path / "out").glob("*/ASCEND_PROFILER_OUTPUT")
                    if (folder / "kernel_details.csv").is_file() and (folder / "trace_view.json").is_file()]
        if complete and "[ERROR]" not in done.stdout + done.stderr:
            break
        # Seen on a busy machine: its analysis stops listening to its parsers before they end ("Task [...] run failed"). What we wrote is
        # on disk, and must be good enough for an analysis that listens.
        for old in (tmp_path / "out").glob("*/ASCEND_PROFILER_OUTPUT"):
            shutil.rmtree(old)
        _, done = python("from torch_npu.profiler.profiler import analyse\nanalyse('out')\nprint('null')")
    assert "[ERROR]" not in done.stdout + done.stderr, done.stdout + done.stderr
    output = next((tmp_path / "out").glob("*/ASCEND_PROFILER_OUTPUT"))
    with open(output / "kernel_details.csv", newline="") as file:
        kernels = [row["Name"] for row in csv.DictReader(file)]
    assert kernels.count("aclnnAdd") == 2, kernels
    events = json.loads((output / "trace_view.json").read_text())
    assert any(event["name"] == "aclnnAdd" and "Stream Id" in event.get("args", {}) for event in events)
    assert any(event.get("cat") == "async_npu" for event in events), "no arrow from an operator to its kernel"
