# SPDX-License-Identifier: Apache-2.0
"""docs/ci.md: its jobs are read from the page as a reader would copy them; the shell job is run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- job: (\w+) -->\n```\w+\n(.*?)```", re.S)
TEST = """import torch
import torch_npu


def test_sum():
    assert torch.zeros(10, device="npu").cpu().sum().item() == EXPECTED
"""


@pytest.fixture(scope="module")
def jobs():
    found = dict(BLOCK.findall((ROOT / "docs" / "ci.md").read_text()))
    assert set(found) == {"shell", "github", "container"}
    return found


@pytest.mark.parametrize("expected, status, said", [("0.0", 0, "1 passed"), ("1.0", 1, "1 failed")])
def test_shell_job_runs_a_users_tests_and_ends_as_they_do(jobs, ascend, tmp_path, expected, status, said):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_model.py").write_text(TEST.replace("EXPECTED", expected))
    script = tmp_path / "job.sh"
    script.write_text(jobs["shell"])
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("ASCEND_", "MILLPOND_")) and name not in ("LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")}
    # What the job would make is there already: this tree, and the environment that runs the tests.
    environment.update(MILLPOND=str(ROOT), VENV=sys.prefix)
    done = subprocess.run(["sh", str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == status and said in done.stdout, done.stdout + done.stderr


def test_every_step_of_the_actions_job_runs_something(jobs):
    import yaml
    job = yaml.safe_load(jobs["github"])["jobs"]["npu"]
    assert all(("run" in step) != ("uses" in step) for step in job["steps"])
    cached = next(step for step in job["steps"] if "cache" in step.get("uses", ""))["with"]["path"].split()
    assert cached == ["millpond/build", "millpond/.venv"], "what ./millpond makes, and where"


def test_image_sets_what_set_env_sets(jobs, ascend):
    text = jobs["container"].replace("/opt/millpond/build/ascend", str(ascend))
    setting = dict(re.findall(r"([A-Z_]+)=(\S+)", text[text.index("ENV "):text.index("WORKDIR")]))
    script = f". '{ascend}/set_env.sh'; env -0"
    env = subprocess.run(["bash", "-c", script], env={"PATH": "/usr/local/bin:/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    wanted = dict(pair.split("=", 1) for pair in env.stdout.split("\0") if pair.startswith(("ASCEND_HOME", "ASCEND_OPP", "LD_LIB", "PYTHONPATH")))
    assert wanted and {name: setting.get(name) for name in wanted} == wanted
