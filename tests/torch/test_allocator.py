# SPDX-License-Identifier: Apache-2.0
"""PyTorch's pluggable allocator with the vendor's wheel: the example works, and each way to get it wrong is named."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "torch_allocator"
SWAP = """
import faulthandler, signal, sys, torch, torch_npu
faulthandler.register(signal.SIGUSR1)  # who_waits asks
def swap(library, malloc="my_malloc", free="my_free"):
    torch_npu.npu.change_current_allocator(torch_npu.npu.memory.NPUPluggableAllocator(library, malloc, free))
"""
# An operator that fails on the wheel's queue thread ends that thread; the wheel's wait at the end of the program may then have
# none (src/device/torch_queue.h). What was to be seen has been said by then.
OWN_HANG = "which is torch_npu's own, has no end"
ALLOC = re.compile(r"^my_allocator: (alloc|free ) (\d+) bytes at (0x[0-9a-f]+) on npu:(\d+)$", re.M)


@pytest.fixture(scope="module")
def library(ascend, tmp_path_factory):
    """Compiled as the file itself says, by somebody who has the installed tree and nothing else."""
    out = tmp_path_factory.mktemp("allocator") / "libmy_allocator.so"
    source = (EXAMPLE / "my_allocator.cc").read_text()
    line = next(text.removeprefix("//").strip() for text in source.splitlines() if "g++ -shared" in text)
    line = line.replace("libmy_allocator.so", shlex.quote(str(out)))
    done = subprocess.run(["sh", "-ec", line], cwd=EXAMPLE, env={**os.environ, "PKG_CONFIG_PATH": f"{ascend}/lib64/pkgconfig"},
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return out


def who_waits(process):
    """What each thread of a process that hangs does, below Python; what they do in Python goes to its stderr."""
    said = []
    for task in sorted(Path(f"/proc/{process.pid}/task").iterdir()):
        said.append(" ".join((task / name).read_text().strip() for name in ("comm", "wchan", "syscall")))
    if shutil.which("gdb"):
        said.append(subprocess.run(["gdb", "-batch", "-p", str(process.pid), "-ex", "thread apply all bt 30"], capture_output=True,
                                   text=True, check=False).stdout)
    process.send_signal(signal.SIGUSR1)
    time.sleep(1)
    return "\n".join(said)


@pytest.fixture
def python(ascend_env, tmp_path):
    def run(*arguments, **extra):
        command = [sys.executable, *map(str, arguments)]
        texts = [tmp_path / "stdout", tmp_path / "stderr"]
        with texts[0].open("w") as output, texts[1].open("w") as errors:
            process = subprocess.Popen(command, env={**ascend_env, **extra}, cwd=tmp_path, stdout=output, stderr=errors)
        until = time.monotonic() + 240
        while process.poll() is None and OWN_HANG not in texts[1].read_text():
            if time.monotonic() > until:
                said = who_waits(process)
                process.kill()
                process.wait()
                pytest.fail(f"{command} hangs:\n{said}\n{texts[0].read_text()}\n{texts[1].read_text()}")
            time.sleep(0.1)
        process.kill()  # no more than a wait for what has ended, or the end of a wait that has none
        return subprocess.CompletedProcess(command, process.wait(), *(text.read_text() for text in texts))
    return run


def judge_example(done):
    assert done.returncode == 0, done.stdout + done.stderr
    assert "torch.zeros(10, device='npu') -> [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]" in done.stdout
    assert "refused: Can't swap an already initialized allocator" in done.stdout
    calls = ALLOC.findall(done.stdout)
    assert calls[0][:2] == ("alloc", "40"), "ten floats, and the exact size is asked for"
    allocated = sorted(call[1:] for call in calls if call[0] == "alloc")
    freed = sorted(call[1:] for call in calls if call[0] == "free ")
    assert allocated == freed, "what was allocated comes back, with its size and device, by the end of the program"


def test_the_documents_example_runs(library, python):
    judge_example(python(EXAMPLE / "run.py", library))


def test_the_example_runs_after_set_env(library, ascend, tmp_path):
    script = f". {shlex.quote(str(ascend))}/set_env.sh && exec {shlex.quote(sys.executable)} {EXAMPLE}/run.py {library}"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ASCEND_", "MILLPOND_", "LD_LIBRARY_PATH"))}
    judge_example(subprocess.run(["bash", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False))


def test_the_example_runs_under_millpond_run(library, tmp_path):
    # An environment of the tester's may be active; then its python is the one, if it has the right torch.
    judge_example(subprocess.run([str(ROOT / "millpond"), "run", "--", "python", str(EXAMPLE / "run.py"), str(library)], cwd=tmp_path,
                                 capture_output=True, text=True, timeout=600, check=False))


LOOP = SWAP + """
swap(sys.argv[1])
x = torch.zeros(1 << 16, device="npu")
one = torch.ones(1 << 16, device="npu")
for _ in range(200):
    x = torch.add(x, one)
y = x.cpu()
print("all", y.min().item(), y.max().item())
"""


def test_memory_that_is_freed_while_launched_work_runs_stays_right(library, python):
    """Each sum drops the tensor before it at once, and my_free waits for the stream."""
    done = python("-c", LOOP, library, TASK_QUEUE_ENABLE="0")
    assert "all 200.0 200.0\n" in done.stdout, done.stdout[-2000:] + done.stderr


@pytest.mark.parametrize("queue", ["1", "2"])
def test_memory_that_is_freed_before_the_launch_is_named_never_wrong(library, python, queue):
    """The launch may still wait in torch_npu's own queue when my_free comes. Who wins is open; a wrong sum is not."""
    done = python("-c", LOOP, library, TASK_QUEUE_ENABLE=queue)
    if done.returncode == 0:
        assert "all 200.0 200.0\n" in done.stdout, done.stdout[-2000:] + done.stderr
    else:
        assert re.search(r"aclnnAdd: tensor \w+: its memory.* freed", done.stderr), done.stderr


def test_swap_after_the_first_tensor_is_refused_and_work_goes_on(library, python):
    done = python("-c", SWAP + "x = torch.zeros(10, device='npu')\ntry:\n    swap(sys.argv[1])\nexcept RuntimeError as error:\n"
                  "    print('refused:', error)\nprint(x.cpu().sum().item())\n", library)
    assert done.stdout.startswith("refused: Can't swap an already initialized allocator"), done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "0.0" and done.returncode == 0
    assert not ALLOC.search(done.stdout), "the refused allocator is never called"


@pytest.mark.parametrize("arguments, error, said", [
    (["no/such.so"], "OSError", "no/such.so: cannot open shared object file"),
    ([__file__], "OSError", "test_allocator.py"),
    (["LIBRARY", "my_maloc"], "AttributeError", "undefined symbol: my_maloc"),
    (["LIBRARY", "my_malloc", "my_fre"], "AttributeError", "undefined symbol: my_fre"),
])
def test_what_cannot_be_loaded_is_named(library, python, arguments, error, said):
    arguments = [str(library) if text == "LIBRARY" else text for text in arguments]
    done = python("-c", SWAP + "swap(*sys.argv[1:])\n", *arguments)
    assert done.returncode == 1
    last = [line for line in done.stderr.splitlines() if line.startswith(error)]
    assert last and said in last[-1], done.stderr


def test_allocator_that_finds_no_memory_says_so_and_smaller_work_goes_on(library, python):
    done = python("-c", SWAP + "swap(sys.argv[1])\ntry:\n    torch.empty(1 << 30, device='npu')\nexcept RuntimeError as error:\n"
                  "    print('failed:', type(error).__name__)\nprint(torch.zeros(4, device='npu').cpu().tolist())\n", library,
                  MILLPOND_MEMORY="64M")
    assert "my_allocator: 4294967296 bytes on npu:0: aclrtMallocAlign32 returned 207001" in done.stderr, done.stdout + done.stderr
    assert "failed: " in done.stdout and done.stdout.count("[0.0, 0.0, 0.0, 0.0]") == 1, done.stdout + done.stderr
