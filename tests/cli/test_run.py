# SPDX-License-Identifier: Apache-2.0
"""./millpond run and env: the environment, the refusals, and that the program's end is ours."""

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PRINT_ENV = "import json, os; print(json.dumps(dict(os.environ)))"


def exported(text):
    values = {}
    for line in text.splitlines():
        (assignment,) = shlex.split(line.removeprefix("export "))
        name, _, value = assignment.partition("=")
        values[name] = value
    return values


def run_env(tree, *options, **extra):
    outcome = tree.call("run", *options, "--", sys.executable, "-c", PRINT_ENV, **extra)
    assert outcome.returncode == 0, outcome.stderr
    import json
    return json.loads(outcome.stdout)


@pytest.mark.parametrize("status", [0, 1, 7, 255])
def test_exit_status_is_the_programs(tree, status):
    assert tree.call("run", "--", "sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_death_by_signal_is_the_programs(tree, number):
    assert tree.call("run", "--", "sh", "-c", f"kill -{int(number)} $$").returncode == -number


def test_arguments_arrive_unchanged(tree):
    arguments = ["a b", "--soc", "", "$HOME", "'quoted'", "--", "-h"]
    outcome = tree.call("run", "--", sys.executable, "-c", "import sys; print(sys.argv[1:])", *arguments)
    assert outcome.stdout.strip() == repr(arguments)


def test_standard_output_is_the_programs_alone(tree):
    assert tree.call("run", "--", "echo", "hello").stdout == "hello\n"


def test_options_become_variables(tree):
    values = run_env(tree, "--soc", "Ascend310P3", "--devices", "8", "--memory", "1.5GiB", "--seed", "42", "--trace", "out.json")
    assert values["MILLPOND_SOC"] == "Ascend310P3"
    assert values["MILLPOND_DEVICES"] == "8"
    assert values["MILLPOND_MEMORY"] == str(3 << 29)
    assert values["MILLPOND_SEED"] == "42"
    assert values["MILLPOND_TRACE"] == str(tree.root / "out.json")


def test_without_options_no_variable_is_made_up(tree):
    # But for where the processes of one run meet: test_shared.py.
    assert not [name for name, value in run_env(tree, "--private-devices").items() if name.startswith("MILLPOND_") and value]


def test_variable_of_the_caller_stays_unless_an_option_replaces_it(tree):
    values = run_env(tree, "--devices", "2", MILLPOND_DEVICES="4", MILLPOND_SEED="9")
    assert (values["MILLPOND_DEVICES"], values["MILLPOND_SEED"]) == ("2", "9")


def test_cann_variables_are_set_and_lists_extended_once(tree):
    top = str(tree.root / "build" / "ascend")
    values = run_env(tree, LD_LIBRARY_PATH=f"/opt/x:{top}/lib64", PYTHONPATH="/opt/y")
    assert values["ASCEND_HOME_PATH"] == values["ASCEND_TOOLKIT_HOME"] == top
    assert values["ASCEND_OPP_PATH"] == f"{top}/opp"
    assert values["LD_LIBRARY_PATH"] == f"{top}/lib64:/opt/x"
    assert values["PYTHONPATH"] == f"{top}/python/site-packages:/opt/y"
    assert values["PATH"].split(":")[0] == f"{top}/bin"


def test_python_is_ours_when_no_environment_is_active(tree):
    assert str(tree.root / ".venv" / "bin") in run_env(tree)["PATH"].split(":")


@pytest.mark.parametrize("text, size", [("2M", 2 << 20), ("512MiB", 512 << 20), ("16G", 16 << 30), ("16gb", 16 << 30),
                                        ("0.5T", 1 << 39), ("4194304", 4 << 20)])
def test_sizes(tree, text, size):
    assert run_env(tree, "--memory", text)["MILLPOND_MEMORY"] == str(size)


@pytest.mark.parametrize("options, said", [
    (["--soc", "Ascend999"], ["Ascend999", "Ascend910B3", "Ascend310P3", "Ascend950", "Ascend910_9392"]),
    (["--memory", "lots"], ["'lots'", "K, M, G or T", "16G"]),
    (["--memory", "-1G"], ["expected one argument"]),
    (["--memory", "1K"], ["1024 bytes", "at least 2097152"]),
    (["--devices", "0"], ["'0'", "1 to 64"]),
    (["--devices", "65"], ["'65'", "1 to 64"]),
    (["--devices", "two"], ["'two'", "1 to 64"]),
    (["--seed", "1.5"], ["'1.5'", "0 to 18446744073709551615"]),
    (["--seed", "18446744073709551616"], ["0 to 18446744073709551615"]),
    (["--trace", "no/such/folder/t.json"], ["no/such/folder", "create it first"]),
    (["--trace", "."], ["folder"]),
])
def test_bad_option_is_refused_with_what_is_allowed(tree, options, said):
    outcome = tree.call("run", *options, "--", "echo", "ran")
    assert outcome.returncode == 2 and outcome.stdout == ""
    for part in said:
        assert part in outcome.stderr
    assert tree.calls() == [], "a refusal must come before any building"


def test_soc_may_be_given_without_its_family_name(tree):
    assert run_env(tree, "--soc", "910B4")["MILLPOND_SOC"] == "Ascend910B4"


def test_bad_variable_is_refused_like_the_option(tree):
    outcome = tree.call("run", "--", "echo", "ran", MILLPOND_SOC="Ascend999")
    assert outcome.returncode == 2 and "MILLPOND_SOC" in outcome.stderr and "Ascend910B3" in outcome.stderr


def test_missing_program(tree):
    outcome = tree.call("run", "--", "no-such-program")
    assert outcome.returncode == 127 and "no-such-program" in outcome.stderr
    assert tree.call("run", "--").returncode == 2
    assert tree.call("run").returncode == 2


def test_program_that_is_not_executable(tree):
    (tree.root / "data.txt").write_text("no program")
    outcome = tree.call("run", "--", "./data.txt")
    assert outcome.returncode == 126 and "chmod +x" in outcome.stderr


def test_env_is_clean_standard_output(tree):
    outcome = tree.call("env", "--soc", "Ascend910B4", "--devices", "2")
    assert outcome.returncode == 0
    values = exported(outcome.stdout)
    assert values["MILLPOND_SOC"] == "Ascend910B4" and values["MILLPOND_DEVICES"] == "2"
    assert all(line.startswith("export ") for line in outcome.stdout.splitlines())


SHELLS = ["sh", "bash", "zsh"]


def source(tree, shell, script, **extra):
    import shutil
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    return subprocess.run([shell, "-c", script], env=tree.environment(**extra), cwd="/", capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("times", [1, 2])
def test_set_env_says_the_same_as_env(tree, shell, times):
    lists = {"LD_LIBRARY_PATH": "/opt/a:/opt/b", "PYTHONPATH": ""}
    values = exported(tree.call("env", **lists).stdout)
    script = f". '{tree.root}/build/ascend/set_env.sh'\n" * times + "env -0"
    outcome = source(tree, shell, "set -eu\n" + script, **lists)
    assert outcome.returncode == 0, outcome.stderr
    got = dict(pair.split("=", 1) for pair in outcome.stdout.split("\0") if "=" in pair)
    assert {name: got.get(name) for name in values} == values
    assert not [name for name in got if name.startswith("_mp")]


@pytest.mark.parametrize("shell", SHELLS)
def test_set_env_from_a_script_through_a_link_and_after_a_move(tree, shell, tmp_path):
    tree.call("env")
    moved = tmp_path / "moved tree"
    (tree.root / "build" / "ascend").rename(moved)
    (tmp_path / "link").symlink_to(moved)
    script = tmp_path / "use.sh"
    script.write_text(f"set -eu\n. '{tmp_path}/link/set_env.sh'\necho \"$ASCEND_HOME_PATH\"\n")
    import shutil
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine")
    outcome = subprocess.run([shell, str(script)], env=tree.environment(), capture_output=True, text=True, check=False)
    assert outcome.stdout.strip() == str(moved), outcome.stderr


def test_setenv_bash_is_the_same(tree):
    tree.call("env")
    outcome = source(tree, "bash", f"set -eu; source '{tree.root}/build/ascend/bin/setenv.bash'; echo $ASCEND_HOME_PATH")
    assert outcome.stdout.strip() == str(tree.root / "build" / "ascend"), outcome.stderr


def test_real_program_runs_on_the_real_tree(root, ascend):
    """The installed tool, found and loaded through what `run` sets, in the profile that was asked for."""
    outcome = subprocess.run([str(root / "millpond"), "run", "--soc", "Ascend910B4", "--devices", "2", "--", "npu-smi", "info", "-m"],
                             capture_output=True, text=True, timeout=600, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.count("Ascend 910B4") == 2
    assert Path(ascend / "bin" / "npu-smi").exists()
