# SPDX-License-Identifier: Apache-2.0
"""action.yml, packaging/ci: the script is run with stand-ins, what only a CI or docker could run is read."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "packaging" / "ci" / "check.sh"
FAKE = '#!/bin/sh\nfor argument in "$@"; do printf "%s|" "$argument"; done >>"{log}"\nprintf "\\n" >>"{log}"\n{body}\n'


@pytest.fixture(name="job")
def job_fixture(tmp_path):
    """job(script, millpond=bool, **variables): (status, errors, what was called)."""
    fake, log = tmp_path / "fake", tmp_path / "log"
    fake.mkdir()
    log.touch()

    def program(name, body):
        (fake / name).write_text(FAKE.format(log=log, body=body))
        (fake / name).chmod(0o755)

    def run(command, millpond=True, **variables):
        if millpond:
            program("millpond", "exit 66")
        # pip would make the command; asked for the pins, it prints two.
        program("python3", f'case "$*" in *"install w.whl"*) printf "#!/bin/sh\\nexit 0\\n" >"{fake}/millpond"; chmod +x "{fake}/millpond" ;; '
                           '-c*) echo torch==9.9; echo torch_npu==9.9 ;; esac')
        done = subprocess.run(command, cwd=tmp_path, env={"PATH": f"{fake}:/usr/bin:/bin", **variables}, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stderr, log.read_text().splitlines()
    return run


def test_the_script_checks_the_program_and_ends_as_the_command_does(job, tmp_path):
    status, _, calls = job([SCRIPT, "python", "-m", "pytest", "a b"], MILLPOND_OPTIONS="--memory 4G", MILLPOND_REPORTS="out")
    assert status == 66 and (tmp_path / "out").is_dir()
    assert calls == ["check|--memory|4G|--sarif|out/findings.sarif|--junit|out/findings.xml|--html|out/findings.html|--|python|-m|pytest|a b|"]


def test_the_script_installs_what_it_is_told_to(job):
    status, _, calls = job([SCRIPT, "true"], millpond=False, MILLPOND_WHEEL="w.whl", TORCH_CPU_INDEX="https://index.invalid/cpu")
    assert status == 0
    assert calls[0] == "-m|pip|install|w.whl|" and "-m|pip|install|--index-url|https://index.invalid/cpu|torch==9.9|" in calls
    assert calls[-1] == "-m|pip|install|torch_npu==9.9|", "from the index that everything else comes from"


def test_the_script_says_what_it_lacks(job):
    status, errors, _ = job([SCRIPT, "true"], millpond=False)
    assert status == 2 and "MILLPOND_WHEEL" in errors
    assert job([SCRIPT])[0] == 2


def test_the_action_passes_its_inputs_to_the_script(job):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = next(step for step in action["runs"]["steps"] if "run" in step)
    inputs = {**{name: row["default"] for name, row in action["inputs"].items()}, "run": "python -m pytest 'x y'", "options": "--devices 2"}
    variables = {name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text) for name, text in step["env"].items()}
    assert "${{" not in "".join(variables.values())
    status, _, calls = job(["sh", "-e", "-c", step["run"]], GITHUB_ACTION_PATH=str(ROOT), **variables)
    assert status == 66 and calls[0].startswith("check|--devices|2|--sarif|millpond-reports/findings.sarif|") and calls[0].endswith("|--|sh|-c|python -m pytest 'x y'|")
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(action["inputs"]), "every input is read, and none that is not there"


def test_the_image_has_the_torch_that_the_wheel_is_for():
    text = (ROOT / "packaging" / "ci" / "Containerfile").read_text()
    pins = dict(re.findall(r"^(torch|torch_npu)==(\S+)", (ROOT / "requirements-torch.txt").read_text(), re.M))
    assert dict(re.findall(r"\b(torch|torch_npu)==(\S+)", text)) == pins
    assert os.access(SCRIPT, os.X_OK)
