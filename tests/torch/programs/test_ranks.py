# SPDX-License-Identifier: Apache-2.0
"""Several ranks of HCCL under torch.distributed: torchrun, mp.spawn, DistributedDataParallel."""

import json
import os
import pickle
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
LONG = "TEST_LONG" in os.environ  # ./millpond test --long
RANKS = [2, 4] if LONG else [2]


@pytest.fixture
def torchrun(start):
    """torchrun(ranks, file): must end well."""

    def run(ranks, path, *arguments, env=None):
        program = start("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, path, *arguments,
                        env={"MILLPOND_DEVICES": str(ranks), "MILLPOND_RANK_TIMEOUT_MS": "100000", **(env or {})})
        assert program.status == 0, f"{path} on {ranks} ranks ended with {program.status}\n{program.output}\n{program.errors[-6000:]}"
        return program

    return run


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_collective(torchrun, ranks):
    program = torchrun(ranks, HERE / "collectives.py")
    program.says(*(f"rank {rank}: all good" for rank in range(ranks)))


EXAMPLES = {"ddp": "{0} ranks, equal weights: True", "fsdp2": "rank {1} keeps ", "tensor_parallel": "rank {1} has ", "pipeline": "rank {1} has "}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("ranks", RANKS)
def test_examples_have_the_losses_of_one_process(torchrun, on_cpu, root, ranks, name):
    program = torchrun(ranks, root / "examples" / "torch" / f"{name}.py")
    program.says(EXAMPLES[name].format(ranks, ranks - 1))
    assert program.losses == pytest.approx(on_cpu(name).losses, rel=1e-4)


@pytest.mark.parametrize("ranks", RANKS)
def test_models_that_are_divided_among_ranks(torchrun, ranks):
    program = torchrun(ranks, HERE / "parallel.py")
    program.says(*(f"rank {rank}: all good" for rank in range(ranks)))


@pytest.fixture
def torchrun_on_hosts(start):
    """torchrun_on_hosts(ranks of each, file): two launchers on this machine, which is told to take itself for two; the first one's program."""

    def run(ranks, path, *arguments, env=None):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]

        def launch(node):
            # That there are ranks elsewhere the library hears from torchrun; the interface is the user's to choose.
            return start("-m", "torch.distributed.run", "--nnodes", 2, "--node-rank", node, "--nproc-per-node", ranks, "--master-addr", "127.0.0.1",
                         "--master-port", port, path, *arguments, env={"MILLPOND_DEVICES": str(ranks), "MILLPOND_RANK_TIMEOUT_MS": "100000",
                                                                      "MILLPOND_RANK_HOST": f"node{node}", "HCCL_SOCKET_IFNAME": "=lo",
                                                                      **(env or {})})

        with ThreadPoolExecutor() as pool:
            programs = list(pool.map(launch, range(2)))
        for node, program in enumerate(programs):
            assert program.status == 0, f"{path} on node {node} ended with {program.status}\n{program.output}\n{program.errors[-6000:]}"
        return programs[0]

    return run


@pytest.mark.parametrize("ranks", [1, 2])
def test_ddp_on_two_hosts_has_the_losses_of_one_process(torchrun_on_hosts, on_cpu, root, ranks):
    program = torchrun_on_hosts(ranks, root / "examples" / "torch" / "ddp.py")
    program.says(f"{2 * ranks} ranks, equal weights: True")
    assert program.losses == pytest.approx(on_cpu("ddp").losses, rel=1e-4)


def test_every_collective_on_two_hosts(torchrun_on_hosts):
    torchrun_on_hosts(2, HERE / "collectives.py").says("rank 0: all good", "rank 1: all good")


TRACED = """
import os, torch, torch_npu
from torch import distributed
torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
distributed.init_process_group("hccl")
rank = distributed.get_rank()
values = torch.ones(1 << 20, device="npu")
distributed.all_reduce(values)
distributed.broadcast(values, src=3)
distributed.reduce(values, dst=1)
torch.npu.synchronize()
if rank == 0:
    distributed.send(values, 2)
if rank == 2:
    distributed.recv(values, 0)
torch.npu.synchronize()
distributed.destroy_process_group()
"""


def arrows_between_ranks(path):
    """{operation: {(rank where it begins, rank where it ends)}} of a merged trace. An arrow is in a slice at both ends, and goes forward in time."""
    events = json.loads(path.read_text())["traceEvents"]
    ranks = {event["pid"]: int(found[1]) for event in events if event["name"] == "process_name"
             and (found := re.match(r"rank (\d+) \(", event["args"]["name"]))}
    slices = [event for event in events if event["ph"] == "X" and "communicator" in event["args"]]
    ends, found = {event["id"]: event for event in events if event["ph"] == "f" and event["cat"] == "ranks"}, {}
    for begin in events:
        if begin["ph"] != "s" or begin["cat"] != "ranks":
            continue
        end = ends.pop(begin["id"])
        assert begin["ts"] <= end["ts"], (begin, end)
        for at in (begin, end):
            assert any((each["pid"], each["tid"]) == (at["pid"], at["tid"]) and each["ts"] <= at["ts"] <= each["ts"] + each["dur"] for each in slices), at
        found.setdefault(re.sub(" .*", "", begin["name"]), set()).add((ranks[begin["pid"]], ranks[end["pid"]]))
    assert not ends
    return found


def test_traces_of_two_hosts_are_merged_with_arrows_between_their_ranks(torchrun_on_hosts, root, tmp_path):
    (tmp_path / "traced.py").write_text(TRACED)
    torchrun_on_hosts(2, tmp_path / "traced.py", env={"MILLPOND_TRACE": str(tmp_path / "trace%p.json")})
    merged = tmp_path / "merged.json"
    done = subprocess.run([sys.executable, root / "tools" / "cli" / "__main__.py", "trace", "merge", *sorted(tmp_path.glob("trace*.json")), "-o", merged],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = arrows_between_ranks(merged)
    late = {begin for begin, _ in found["HcclAllReduce"]}  # whoever came last
    assert len(late) == 1 and {end for _, end in found["HcclAllReduce"]} == set(range(4)) - late
    assert found["HcclBroadcast"] == {(3, 0), (3, 1), (3, 2)}
    assert found["HcclReduce"] == {(0, 1), (2, 1), (3, 1)}
    assert found["message"] == {(0, 2)}


SPAWNED = """
import torch, torch_npu
from torch import distributed, multiprocessing

def work(rank, path):
    torch.npu.set_device(rank)
    distributed.init_process_group("hccl", init_method=f"file://{path}", rank=rank, world_size=2)
    tensor = torch.ones(8, device="npu") * (rank + 1)
    distributed.all_reduce(tensor)
    assert tensor.tolist() == [3.0] * 8, tensor
    distributed.destroy_process_group()

if __name__ == "__main__":
    import sys
    multiprocessing.spawn(work, (sys.argv[1],), nprocs=2)
    print("spawned")
"""


def test_ranks_that_were_spawned(start, tmp_path):
    (tmp_path / "spawned.py").write_text(SPAWNED)
    program = start(tmp_path / "spawned.py", tmp_path / "rendezvous", env={"MILLPOND_DEVICES": "2"})
    assert program.status == 0, program.errors[-6000:]
    program.says("spawned")


DISAGREEING = """
import os, torch, torch_npu
from torch import distributed
rank = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(rank)
distributed.init_process_group("hccl")
try:
    distributed.all_reduce(torch.ones(4 + rank, device="npu"))
    torch.npu.synchronize()
    heard = "nothing"
except RuntimeError as error:
    text = str(error)
    line = "disagreeing.py:8 in <module>"
    heard = f"{'EI0005' in text} {'4 (rank 0), 5 (rank 1)' in text} {text.count(line)} lines {'' if 'EI0005' in text else text}"
os.write(1, f"rank {rank} heard: {heard}\\n".encode())  # whole, whatever the other rank prints
os._exit(0)
"""


def test_ranks_that_disagree_hear_of_it_in_python(torchrun, tmp_path):
    (tmp_path / "disagreeing.py").write_text(DISAGREEING)
    torchrun(2, tmp_path / "disagreeing.py").says("rank 0 heard: True True", "rank 1 heard: True True")


def test_under_the_checker_ranks_that_disagree_hear_of_the_lines_too(torchrun, tmp_path):
    (tmp_path / "disagreeing.py").write_text(DISAGREEING)
    program = torchrun(2, tmp_path / "disagreeing.py", env={"MILLPOND_CHECK": "1", "TASK_QUEUE_ENABLE": "0"})
    program.says("rank 0 heard: True True 2 lines", "rank 1 heard: True True 2 lines")


HUNG = """
import datetime, os, sys, time, torch, torch_npu
from torch import distributed
rank = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(rank)
distributed.init_process_group("hccl", timeout=datetime.timedelta(seconds=5))
distributed.all_reduce(torch.ones(4, device="npu"))
torch.npu.synchronize()
if rank == 1:  # does not come to the next one, and stays until both ranks' watchdogs have written what they know
    while not all(os.path.exists(sys.argv[1] + str(other)) for other in range(2)):
        time.sleep(0.1)
    time.sleep(1)
    sys.exit("rank 1 ends")
distributed.all_reduce(torch.ones(77, device="npu"))
torch.npu.synchronize()
"""


def test_a_rank_that_hangs_is_reported_by_the_watchdog_and_the_flight_recorder(start, tmp_path):
    (tmp_path / "hung.py").write_text(HUNG)
    dump = tmp_path / "recorder_"
    program = start("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2, tmp_path / "hung.py", dump,
                    env={"MILLPOND_DEVICES": "2", "TORCH_HCCL_TRACE_BUFFER_SIZE": "100", "TORCH_HCCL_DUMP_ON_TIMEOUT": "1",
                         "TORCH_HCCL_ENABLE_MONITORING": "1", "TORCH_HCCL_COORD_CHECK_MILSEC": "200",
                         "TORCH_HCCL_DEBUG_INFO_TEMP_FILE": str(dump)})
    said = program.output + program.errors
    assert program.status != 0
    assert "Watchdog caught collective operation timeout: WorkHCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=77" in said, said[-6000:]
    assert "rank 1 ends" in said, said[-6000:]
    entries = [pickle.loads((tmp_path / f"recorder_{rank}").read_bytes())["entries"] for rank in range(2)]
    found = [[(entry["input_sizes"], entry["state"]) for entry in sorted(each, key=lambda entry: entry["record_id"])] for each in entries]
    assert found == [[([[4]], "completed"), ([[77]], "scheduled")], [([[4]], "completed")]]


@pytest.mark.parametrize("ranks", [2, 4])
def test_operators_that_take_a_groups_name(torchrun, ranks):
    program = torchrun(ranks, HERE / "group_operators.py")
    program.says(*(f"rank {rank}: all good" for rank in range(ranks)))


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_form_of_the_operators_that_take_a_groups_name(torchrun, ranks):
    program = torchrun(ranks, HERE / "group_forms.py")
    program.says(*(f"rank {rank}: all good" for rank in range(ranks)))


def test_attention_and_experts_on_ranks_of_their_own(torchrun):
    program = torchrun(4, HERE / "attention_and_experts.py")
    program.says(*(f"rank {rank}: all good" for rank in range(4)))
