# SPDX-License-Identifier: Apache-2.0
"""./millpond from nothing: packages, .venv, build, install; later calls do nothing; refusals say what is missing."""

import os
import pty
import subprocess

import pytest

NOT_ROOT = '#!/bin/sh\ncase $1 in -u) echo 1000 ;; *) echo ann ;; esac\n'
ROOT_USER = '#!/bin/sh\ncase $1 in -u) echo 0 ;; *) echo root ;; esac\n'
NO_SUDO = "#!/bin/sh\nexit 1\n"


def without(tree, *missing):
    tree.program("dpkg-query", tree.dpkg(*[name for name in tree.all_packages() if name not in missing]))


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_names_every_command_and_does_nothing(tree, arguments):
    outcome = tree.call(*arguments)
    assert outcome.returncode == 0
    for command in ("demo", "test", "run", "env", "doctor", "bench"):
        assert f"\n  {command}" in outcome.stdout
    assert tree.calls() == []


@pytest.mark.parametrize("command", ["demo", "test", "run", "env", "doctor", "bench"])
def test_each_command_has_help(tree, command):
    without(tree, "cmake")
    outcome = tree.call(command, "--help")
    assert outcome.returncode == 0 and f"./millpond {command}" in outcome.stdout
    assert tree.calls() == []


def test_unknown_command_lists_the_known(tree):
    outcome = tree.call("dmeo")
    assert outcome.returncode == 2 and "dmeo" in outcome.stderr and "demo, test, run" in outcome.stderr


def test_first_call_builds_and_installs_later_calls_do_nothing(tree):
    first = tree.call("run", "--", "true")
    assert first.returncode == 0, first.stderr
    assert [line.split()[1] for line in tree.calls()] == ["--preset", "--build", "--install"]
    assert "building release: done in" in first.stderr
    second = tree.call("run", "--", "true")
    assert second.stderr == "" and len(tree.calls()) == 3


def test_changed_source_is_built_again(tree):
    tree.call("run", "--", "true")
    (tree.root / "src" / "b.cc").write_text("int b;\n")
    tree.call("run", "--", "true")
    assert len(tree.calls()) == 6
    (tree.root / "src" / "b.cc").unlink()
    tree.call("run", "--", "true")
    assert len(tree.calls()) == 9


def test_fresh_checkout_beside_a_kept_build_is_not_built_again(tree):
    """CI caches build/ and checks the sources out anew: other times, the same content."""
    tree.call("run", "--", "true")
    for path in (tree.root / "src").rglob("*"):
        os.utime(path, (1, 1))
    tree.call("run", "--", "true")
    assert len(tree.calls()) == 3


def test_build_folder_of_a_tree_that_was_moved_is_made_anew(tree):
    tree.call("run", "--", "true")
    cache = tree.root / "build" / "release" / "CMakeCache.txt"
    cache.write_text("CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
    (tree.root / "src" / "b.cc").write_text("int b;\n")
    outcome = tree.call("run", "--", "true")
    assert outcome.returncode == 0 and "tree at another path" in outcome.stderr and not cache.exists()


def test_lost_install_tree_is_made_again(tree):
    tree.call("run", "--", "true")
    (tree.root / "build" / "ascend" / "set_env.sh").unlink()
    assert tree.call("run", "--", "true").returncode == 0
    assert tree.calls()[-1].startswith("cmake --install")


def test_failed_build_shows_its_end_and_where_the_log_is(tree):
    outcome = tree.call("run", "--", "echo", "ran", FAKE_BUILD_FAILS="1")
    assert outcome.returncode == 1 and outcome.stdout == ""
    assert "the compiler says no" in outcome.stderr and "build/log/build-release.log" in outcome.stderr
    assert tree.call("run", "--", "echo", "ran").stdout == "ran\n", "a failed build must not count as done"


def test_missing_packages_without_rights_are_named_with_the_line_to_run(tree):
    without(tree, "cmake", "ninja-build")
    tree.program("id", NOT_ROOT)
    tree.program("sudo", NO_SUDO)
    outcome = tree.call("demo")
    assert outcome.returncode == 1
    assert "missing Debian packages (2): cmake ninja-build" in outcome.stderr
    assert "apt-get install -y --no-install-recommends cmake ninja-build\n" in outcome.stderr
    assert tree.calls() == []


def test_missing_packages_without_network_are_named(tree):
    without(tree, "ninja-build")
    tree.program("id", ROOT_USER)
    outcome = tree.call("run", "--", "true")
    assert outcome.returncode == 1
    assert "could not install: ninja-build" in outcome.stderr
    assert "apt-get install -y --no-install-recommends ninja-build\n" in outcome.stderr
    assert [line for line in tree.calls() if line.startswith("cmake")] == []


@pytest.fixture(name="poor")
def poor_fixture(tree):
    """A tree without two packages, with a sudo that asks for no password and an apt-get that says what it was asked."""
    without(tree, "cmake", "libdw1")
    tree.program("id", NOT_ROOT)
    tree.program("sudo", '#!/bin/sh\necho "sudo $*" >>"$FAKE_LOG"\nexec "$@"\n')
    tree.program("apt-get", '#!/bin/sh\necho "apt-get $*" >>"$FAKE_LOG"\n')
    return tree


def asked_of(tree, program):
    return [line for line in tree.calls() if line.startswith(program)]


@pytest.mark.parametrize("user, extra, as_root", [(ROOT_USER, {}, False), (NOT_ROOT, {"MILLPOND_SUDO": "yes"}, True)])
def test_missing_packages_are_installed_by_root_or_by_sudo_on_request(poor, user, extra, as_root):
    poor.program("id", user)
    outcome = poor.call("run", "--", "echo", "ran", **extra)
    assert outcome.returncode == 0 and outcome.stdout == "ran\n", outcome.stderr
    apt = asked_of(poor, "apt-get")
    assert apt[0].endswith("update") and apt[1].endswith("install -y --no-install-recommends cmake libdw1")
    assert bool(asked_of(poor, "sudo")) == as_root
    assert ("sudo will run, as root:\n    apt-get update\n    apt-get install -y --no-install-recommends cmake libdw1\n"
            in outcome.stderr) == as_root


@pytest.mark.parametrize("extra", [{}, {"MILLPOND_SUDO": "no"}])
def test_sudo_is_not_used_without_a_terminal_even_if_it_asks_for_nothing(poor, extra):
    outcome = poor.call("run", "--", "echo", "ran", **extra)
    assert outcome.returncode == 1 and outcome.stdout == ""
    assert "with a terminal or with MILLPOND_SUDO=yes only" in outcome.stderr
    assert "apt-get install -y --no-install-recommends cmake libdw1\n" in outcome.stderr
    assert poor.calls() == []


def test_sudo_at_a_terminal_is_told_before_it_runs(poor):
    poor.program("sudo", '#!/bin/sh\necho "sudo speaks" >&2\nexec "$@"\n')
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as terminal:
        done = subprocess.run([str(poor.root / "millpond"), "run", "--", "echo", "ran"], env=poor.environment(), cwd=poor.root,
                              stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
        os.close(theirs)
        said = terminal.read(1 << 16).decode()
    assert done.returncode == 0 and done.stdout == "ran\n", said
    assert "apt-get install -y --no-install-recommends cmake libdw1" in said
    assert len(asked_of(poor, "apt-get")) == 2


def test_bench_packages_are_asked_for_by_bench_alone(tree):
    without(tree, "libtbb-dev")
    tree.program("id", NOT_ROOT)
    tree.program("sudo", NO_SUDO)
    assert tree.call("run", "--", "true").returncode == 0
    outcome = tree.call("bench")
    assert outcome.returncode == 1 and "missing Debian packages (1): libtbb-dev" in outcome.stderr


def test_bench_hands_over_to_its_driver(tree):
    (tree.root / "bench").mkdir()
    (tree.root / "bench" / "run.py").write_text("import sys; print(sys.argv[1:]); sys.exit(4)\n")
    outcome = tree.call("bench", "launch", "--json", "out.json")
    assert outcome.returncode == 4, outcome.stderr
    assert outcome.stdout.strip() == repr(
        ["launch", "--json", f"{tree.root}/out.json", "--bin-dir", f"{tree.root}/build/release/bin",
         "--torch-python", f"{tree.root}/.venv/bin/python", "--no-trace-bin-dir", f"{tree.root}/build/release-notrace/bin"])
    assert any("-DMILLPOND_BENCH=ON" in line for line in tree.calls())
    assert any("-DMILLPOND_TRACE=OFF" in line for line in tree.calls())


def test_pypi_out_of_reach_names_what_is_missing(tree):
    (tree.root / ".venv" / "millpond-requirements.txt").write_text("old\n")
    outcome = tree.call("run", "--", "true", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tree.root / "nothing"), PIP_CONFIG_FILE="/dev/null")
    assert outcome.returncode == 1
    assert "pip could not install:" in outcome.stderr and "pytest==" in outcome.stderr
    assert not (tree.root / ".venv" / "millpond-requirements.txt").exists()


def test_no_python_at_all(tree):
    """A minimal Debian image: the sh half alone helps, and names what a command needs."""
    script = tree.root / "millpond"
    script.write_text(script.read_text().replace("/usr/bin/python3 python3", "no-python-here"))
    assert "usage: ./millpond COMMAND" in tree.call("--help").stdout
    assert "usage: ./millpond COMMAND" in tree.call("run", "--help").stdout
    outcome = tree.call("doctor")
    assert outcome.returncode == 1 and "python3-venv" in outcome.stderr


def test_doctor_changes_nothing_and_fails_without_the_libraries(tree):
    without(tree, "cmake")
    outcome = tree.call("doctor")
    assert outcome.returncode == 1
    assert "FAIL  Debian packages for builds: 1 missing" in outcome.stdout
    assert "FAIL  build/ascend/lib64/libascendcl.so is not there" in outcome.stdout
    for fact in ("cores usable", "memory ", "cgroup", "/dev/shm", "memfd", "shmem_enabled", "mmap_rnd_bits", "overcommit",
                 "max_map_count", "ulimit -n"):
        assert fact in outcome.stdout
    assert tree.calls() == [] and not (tree.root / "build").exists()


def test_doctor_judges_settings(tree):
    (tree.root / "src" / "base").mkdir()
    (tree.root / "src" / "base" / "options.def").write_text('MP_OPTION(soc, "MILLPOND_SOC", "x", "a sentence")\n')
    said = tree.call("doctor", MILLPOND_SOC="Ascend910B4", MILLPOND_SOCK="1").stdout
    assert "ok    MILLPOND_SOC=Ascend910B4" in said and "warn  MILLPOND_SOCK=1" in said
    assert "FAIL  environment variable MILLPOND_SOC: unknown SoC 'nope'" in tree.call("doctor", MILLPOND_SOC="nope").stdout


def test_doctor_on_the_real_tree_loads_the_libraries(root, ascend):
    outcome = subprocess.run([str(root / "millpond"), "doctor"], capture_output=True, text=True, timeout=120, check=False)
    assert "ok    libascendcl.so loads" in outcome.stdout, outcome.stdout
    assert "ok    aclInit: 1 x Ascend910B3" in outcome.stdout, outcome.stdout
