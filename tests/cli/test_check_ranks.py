# SPDX-License-Identifier: Apache-2.0
"""`check --until-first` with real ranks: one earns an error while the other waits for it in a collective."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120

# Two processes that meet by a root info in a file. Rank 1 frees what its stream still writes, if it is told to, and never comes to the second collective.
PROGRAM = r"""
#include <acl/acl.h>
#include <hccl/hccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(call) do { if ((call) != 0) { fprintf(stderr, "%s failed\n", #call); return 3; } } while (0)

static int meet(const char* path, int rank, HcclRootInfo* root) {
  char fresh[4096];
  snprintf(fresh, sizeof(fresh), "%s.new", path);
  if (rank == 0) {
    OK(HcclGetRootInfo(root));
    FILE* file = fopen(fresh, "wb");
    OK(file == NULL || fwrite(root, sizeof(*root), 1, file) != 1 || fclose(file) != 0);
    return rename(fresh, path);
  }
  for (int tries = 0; tries < 3000; ++tries, usleep(10000)) {
    FILE* file = fopen(path, "rb");
    if (file == NULL) continue;
    const size_t read = fread(root, sizeof(*root), 1, file);
    fclose(file);
    return read == 1 ? 0 : 3;
  }
  return 3;
}

int main(int argc, char** argv) {
  const int rank = atoi(getenv("RANK"));
  HcclRootInfo root;
  HcclComm comm;
  aclrtStream stream;
  void *from, *to, *other;
  OK(aclInit(NULL));
  OK(aclrtSetDevice(rank));
  OK(aclrtCreateStream(&stream));
  OK(meet(argv[1], rank, &root));
  OK(HcclCommInitRootInfo(2, &root, rank, &comm));
  OK(aclrtMalloc(&from, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc(&to, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc(&other, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemset(from, 4096, 0, 4096));
  OK(HcclAllReduce(from, to, 1024, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtMemsetAsync(other, 4096, 1, 4096, stream));
  if (rank == 0 || strcmp(argv[2], "wrong") != 0) OK(aclrtSynchronizeStream(stream));
  OK(aclrtFree(other)); /* here */
  OK(HcclAllReduce(from, to, 1024, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(HcclCommDestroy(comm));
  OK(aclrtFree(from));
  OK(aclrtFree(to));
  OK(aclrtDestroyStream(stream));
  OK(aclrtResetDevice(rank));
  OK(aclFinalize());
  printf("rank %d is done\n", rank);
  return 0;
}
"""


@pytest.fixture(name="ranks", scope="module")
def ranks_fixture(ascend, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    source = folder / "ranks.c"
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-g", f"-I{ascend}/include", source, f"-L{ascend}/lib64", f"-Wl,-rpath,{ascend}/lib64", "-lhccl", "-lascendcl", "-o", folder / "ranks"],
                   check=True, timeout=SECONDS)
    return folder / "ranks"


def alive(program):
    """Processes of the program that are no zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(program):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def check(env, program, folder, form):
    """The command as a user calls it, on two ranks that a shell starts."""
    script = f"RANK=0 {program} {folder}/root {form} & RANK=1 {program} {folder}/root {form} & wait"
    command = [sys.executable, ROOT / "tools" / "cli" / "__main__.py", "check", "--devices", "2", "--until-first", "--json", folder / "found.json", "--", "sh", "-c", script]
    done = subprocess.run(list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done, json.loads((folder / "found.json").read_text())


def test_a_rank_with_an_error_ends_the_whole_run(ascend_env, ranks, tmp_path):
    done, found = check(ascend_env, ranks, tmp_path, "wrong")
    assert done.returncode == 66, done.stdout + done.stderr
    assert "is done" not in done.stdout
    assert [(finding["rule"], finding["rank"]) for finding in found] == [("MP304", 1)], done.stderr
    assert found[0]["pid"] > 0 and found[0]["stacks"][0]["frames"][0]["file"].endswith("ranks.c")
    line = PROGRAM.splitlines()[found[0]["stacks"][0]["frames"][0]["line"] - 1]
    assert "/* here */" in line
    assert alive(ranks) == []


def test_ranks_that_are_right_end_by_themselves(ascend_env, ranks, tmp_path):
    done, found = check(ascend_env, ranks, tmp_path, "right")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "rank 0 is done", "rank 1 is done"]
    assert found == [] and alive(ranks) == []
