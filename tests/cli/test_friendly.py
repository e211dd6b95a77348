# SPDX-License-Identifier: Apache-2.0
"""./millpond to people: what they nearly typed, help at once, completions, the manual; and no packages where nothing is built."""

import os
import re
import shutil
import subprocess

import pytest

COMMANDS = ("demo", "test", "run", "check", "env", "doctor", "graph", "plan", "bench", "package", "completion", "man")


@pytest.mark.parametrize("arguments, said", [
    (["dmo", "--", "true"], "unknown command 'dmo' (did you mean demo?)"),
    (["run", "--devics", "2", "--", "true"], "unknown option '--devics' (did you mean --devices?)"),
    (["run", "--devics=2", "--", "true"], "unknown option '--devics' (did you mean --devices?)"),
    (["check", "--supress", "f", "--", "true"], "unknown option '--supress' (did you mean --suppress?)"),
    (["env", "--memroy", "1G"], "unknown option '--memroy' (did you mean --memory?)"),
    (["run", "--soc", "Ascend910B33", "--", "true"], "unknown SoC 'Ascend910B33' (did you mean Ascend910B3?)"),
    (["demo", "two_stream_pool"], "unknown demo 'two_stream_pool' (did you mean two_streams_pool?)"),
    (["bench", "lunch"], "unknown benchmark 'lunch' (did you mean launch?)"),
    (["bench", "nope"], "unknown benchmark 'nope'; known: launch, memory, plan, pool, torch, graph, ranks, acl, check, compile, start"),
    (["plan", "--capcity", "1K", "x.csv"], "unknown option '--capcity' (did you mean --capacity?)"),
    (["completion", "bsh"], "unknown shell 'bsh' (did you mean bash?)"),
    (["doctor", "now"], "'now' is one argument too many"),
])
def test_what_was_mistyped_is_refused_at_once_with_the_nearest_name(tree, arguments, said):
    outcome = tree.call(*arguments)
    assert outcome.returncode == 2 and outcome.stdout == ""
    assert said in outcome.stderr
    assert tree.calls() == []


@pytest.mark.parametrize("typed, meant", [
    (["run", "python", "x.py"], "./millpond run -- python x.py"),
    (["run", "python", "x.py", "--seed", "3"], "./millpond run -- python x.py --seed 3"),
    (["run", "--devices", "2", "--soc=910B4", "python", "-c", "a b"], "./millpond run --devices 2 --soc=910B4 -- python -c 'a b'"),
    (["check", "--until-first", "./prog"], "./millpond check --until-first -- ./prog"),
    (["run", "python", "--", "x.py"], "./millpond run -- python x.py"),
])
def test_a_program_without_the_dashes_is_answered_with_what_to_type(tree, typed, meant):
    outcome = tree.call(*typed)
    assert outcome.returncode == 2 and f"the program goes after --; type: {meant}\n" in outcome.stderr
    assert tree.calls() == []


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_needs_nothing(tree, command):
    tree.program("dpkg-query", tree.dpkg())
    outcome = tree.call(command, "--help")
    assert outcome.returncode == 0 and outcome.stdout.startswith(f"usage: ./millpond {command}")
    assert tree.calls() == []


def test_a_mistyped_setting_is_said_and_the_program_runs(tree):
    (tree.root / "src" / "base").mkdir()
    shutil.copy(os.path.join(os.path.dirname(__file__), "../../src/base/options.def"), tree.root / "src" / "base")
    outcome = tree.call("run", "--", "echo", "ran", MILLPOND_DEVISES="2", MILLPOND_SPIN_US="1", MILLPOND_QQQQ="mine")
    assert outcome.stdout == "ran\n"
    assert "MILLPOND_DEVISES: no setting of that name (did you mean MILLPOND_DEVICES?)" in outcome.stderr
    assert "SPIN" not in outcome.stderr and "QQQQ" not in outcome.stderr


def test_version_names_the_version_of_cmakelists_and_canns(tree):
    text = (tree.root / "CMakeLists.txt").read_text()
    (tree.root / "CMakeLists.txt").write_text(re.sub(r"VERSION [\d.]+ LANGUAGES", "VERSION 7.8.9 LANGUAGES", text))
    outcome = tree.call("--version", GIT_CEILING_DIRECTORIES=str(tree.root.parent))
    assert outcome.stdout == "millpond 7.8.9 (commit unknown, CANN 9.0.0)\n"


@pytest.mark.parametrize("command", [["run", "--", "true"], ["env"], ["check", "--", "true"]])
def test_a_tree_that_is_current_is_run_whatever_packages_are_there(tree, command):
    assert tree.call("run", "--", "true").returncode == 0
    before = tree.calls()
    tree.program("dpkg-query", '#!/bin/sh\necho "dpkg-query" >>"$FAKE_LOG"\n')
    outcome = tree.call(*command)
    assert outcome.returncode == 0, outcome.stderr
    assert tree.calls() == before, "neither packages nor builds are asked about"


@pytest.mark.parametrize("package", ["ccache", "clang-format-14", "libgtest-dev", "libbenchmark-dev"])
def test_a_build_to_run_programs_needs_nothing_that_only_tests_need(tree, package):
    tree.program("dpkg-query", tree.dpkg(*[name for name in tree.all_packages() if name != package]))
    outcome = tree.call("run", "--", "echo", "ran")
    assert outcome.stdout == "ran\n" and "missing" not in outcome.stderr


def test_the_same_size_and_an_old_time_do_not_hide_a_change(tree):
    source = tree.root / "src" / "a.cc"
    os.utime(source, (1000, 1000))
    tree.call("run", "--", "true")
    tree.call("run", "--", "true")
    assert len(tree.calls()) == 3
    source.write_text("int b;\n")
    os.utime(source, (1000, 1000))
    tree.call("run", "--", "true")
    assert len(tree.calls()) == 6


def completed(script, *words):
    """What bash offers for the last of the words."""
    code = f"source {script}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _millpond; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "--norc", "-c", code, "bash", "millpond", *words], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture(name="bash_script")
def bash_script_fixture(tree, tmp_path):
    path = tmp_path / "millpond.bash"
    path.write_text(tree.call("completion", "bash").stdout)
    return path


@pytest.mark.parametrize("words, offered", [
    (["che"], ["check"]),
    (["--v"], ["--version"]),
    (["run", "--dev"], ["--devices"]),
    (["run", "--soc", "Ascend910B"], None),
    (["check", "--su"], ["--suppress"]),
    (["bench", "gr"], ["graph"]),
    (["demo", "two"], ["two_streams_pool"]),
    (["completion", "f"], ["fish"]),
])
def test_bash_completes_commands_options_and_values(bash_script, words, offered):
    found = completed(bash_script, *words)
    if offered is None:
        assert "Ascend910B3" in found and all(name.startswith("Ascend910B") for name in found)
    else:
        assert found == offered


def test_bash_completes_files_for_files_and_programs_behind_the_dashes(bash_script, tmp_path, monkeypatch):
    (tmp_path / "model.onnx").write_text("")
    monkeypatch.chdir(tmp_path)
    assert completed(bash_script, "graph", "mod") == ["model.onnx"]
    assert completed(bash_script, "run", "--trace", "mod") == ["model.onnx"]
    assert completed(bash_script, "run", "--seed", "mod") == []
    assert "readlink" in completed(bash_script, "run", "--", "readl")
    assert "model.onnx" in completed(bash_script, "run", "--", "cat", "mod")


@pytest.mark.parametrize("shell, check", [("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])])
def test_completions_of_other_shells_have_every_command_and_option(tree, tmp_path, shell, check):
    text = tree.call("completion", shell).stdout
    for word in (*COMMANDS, "suppress", "devices", "Ascend910B3", "two_streams_pool"):
        assert word in text
    if shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(text)
        assert subprocess.run([*check, str(path)], capture_output=True, text=True, check=False).stderr == ""


def test_the_manual_has_every_command_and_is_right_roff(tree):
    text = tree.call("man").stdout
    for command in COMMANDS:
        assert f"\n.SS {command}\n" in text
    assert "\\-\\-suppress FILE" in text and ".SH EXIT STATUS" in text
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stderr == ""
        assert "--until-first" in re.sub("\x1b\\[[0-9;]*m|.\b", "", done.stdout).replace("\u2010", "-")
