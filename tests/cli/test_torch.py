# SPDX-License-Identifier: Apache-2.0
"""./millpond and PyTorch: whose torch is used, that no CUDA build is ever fetched, what cmake and doctor are told."""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import pytest


def _load_fake_torch():
    # Test folders are not on the search path (import mode importlib).
    spec = importlib.util.spec_from_file_location("fake_torch", Path(__file__).with_name("fake_torch.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fake_torch = _load_fake_torch()
RIGHT = {"torch": "2.13.0+cpu", "torch_npu": "2.13.0"}
WHICH = ("-c", "import json, shutil, sys; print(json.dumps([shutil.which('python'), sys.argv]))")


def python_of_run(tree, **extra):
    outcome = tree.call("run", "--", "sh", "-c", "command -v python", **extra)
    assert outcome.returncode == 0, outcome.stderr
    return Path(outcome.stdout.strip()), outcome.stderr


def cmake_python(tree):
    (define,) = [word for word in tree.calls()[-3].split() if word.startswith("-DMILLPOND_TORCH_PYTHON=")]
    return define.partition("=")[2]


def forget_torch(tree):
    (tree.root / ".venv" / "millpond-requirements-torch.txt").unlink()


# --- whose torch

@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
@pytest.mark.parametrize("build", ["2.13.0", "2.13.0+cpu", "2.13.0+cu130"])
def test_active_environment_with_the_right_torch_is_used(tree, tmp_path, variable, build):
    mine = fake_torch.environment(tmp_path / "mine", torch=build, torch_npu="2.13.0")
    forget_torch(tree)
    python, said = python_of_run(tree, **{variable: str(mine)})
    assert python == mine / "bin" / "python"
    assert "pip" not in said, "nothing is to be installed"
    assert cmake_python(tree) == str(mine / "bin" / "python")


@pytest.mark.parametrize("versions, complaint", [
    ({}, "no torch and no torch_npu"),
    ({"torch": "2.13.0"}, "no torch_npu"),
    ({"torch": "2.9.0+cpu", "torch_npu": "2.9.0"}, "torch 2.9.0+cpu where 2.13.0 is needed and torch_npu 2.9.0 where 2.13.0 is needed"),
    ({"torch": "2.13.01", "torch_npu": "2.13.0.post2"}, "torch 2.13.01 where 2.13.0 is needed"),
])
def test_active_environment_with_another_torch_gives_way_and_is_told(tree, tmp_path, versions, complaint):
    mine = fake_torch.environment(tmp_path / "mine", **versions)
    outcome = tree.call("run", "--", "python", *WHICH, VIRTUAL_ENV=str(mine), PATH=f"{mine}/bin:{tree.fake}:/usr/bin:/bin")
    assert json.loads(outcome.stdout)[0] == str(tree.root / ".venv" / "bin" / "python")
    assert f"the active environment {mine} has {complaint} (" in outcome.stderr
    other = tree.call("run", "--", "true", VIRTUAL_ENV=str(mine))
    assert other.stderr == "", "a program that is not Python is not concerned"


def test_torch_off_takes_the_active_environment_and_builds_without(tree, tmp_path):
    mine = fake_torch.environment(tmp_path / "mine")
    forget_torch(tree)
    python, said = python_of_run(tree, VIRTUAL_ENV=str(mine), MILLPOND_TORCH="off")
    assert python == mine / "bin" / "python" and "pip" not in said
    assert cmake_python(tree) == "off"


def test_python_on_the_path_with_the_right_torch_saves_the_download(tree, tmp_path):
    there = fake_torch.environment(tmp_path / "there", **RIGHT)
    forget_torch(tree)
    path = f"{there}/bin:{tree.fake}:/usr/local/bin:/usr/bin:/bin"
    python, said = python_of_run(tree, PATH=path)
    assert python == there / "bin" / "python" and "pip" not in said


def test_torch_of_our_own_environment_is_not_given_up_for_one_on_the_path(tree, tmp_path):
    there = fake_torch.environment(tmp_path / "there", **RIGHT)
    assert python_of_run(tree, PATH=f"{there}/bin:{tree.fake}:/usr/local/bin:/usr/bin:/bin")[0] == tree.root / ".venv" / "bin" / "python"


def test_change_of_environment_does_not_build_again_but_loss_of_its_torch_does(tree, tmp_path):
    first = fake_torch.environment(tmp_path / "first", **RIGHT)
    second = fake_torch.environment(tmp_path / "second", **RIGHT)
    python_of_run(tree, VIRTUAL_ENV=str(first))
    built = len(tree.calls())
    python_of_run(tree, VIRTUAL_ENV=str(second))
    assert len(tree.calls()) == built
    shutil.rmtree(first)
    python_of_run(tree, VIRTUAL_ENV=str(second))
    assert cmake_python(tree) == str(second / "bin" / "python")


def test_package_installed_later_is_seen(tree, tmp_path):
    mine = fake_torch.environment(tmp_path / "mine")
    assert python_of_run(tree, VIRTUAL_ENV=str(mine))[0] == tree.root / ".venv" / "bin" / "python"
    other = fake_torch.environment(tmp_path / "other", **RIGHT)
    for part in fake_torch.site(other).iterdir():
        part.rename(fake_torch.site(mine) / part.name)
    assert python_of_run(tree, VIRTUAL_ENV=str(mine))[0] == mine / "bin" / "python"


@pytest.mark.parametrize("extra, said", [
    ({"MILLPOND_TORCH": "maybe"}, "allowed: on (the default), off"),
    ({"MILLPOND_PIP_OPTIONS": "--find-links 'x"}, "No closing quotation"),
])
def test_bad_variable_is_refused(tree, extra, said):
    forget_torch(tree)
    outcome = tree.call("run", "--", "echo", "ran", **extra)
    assert outcome.returncode == 2 and outcome.stdout == ""
    assert next(iter(extra)) in outcome.stderr and said in outcome.stderr


# --- what pip may fetch

@pytest.fixture
def shop(tree, tmp_path):
    """A tree with a real pip in .venv, two wheels to ask for, and a CUDA build of torch in `wheels`."""
    forget_torch(tree)
    shutil.rmtree(tree.root / ".venv")
    fake_torch.with_pip(tree.root / ".venv")
    shutil.copy(tree.root / "requirements.txt", tree.root / ".venv" / "millpond-requirements.txt")
    wheels = tmp_path / "wheels"
    needs = ['nvidia-cublas==13.1; platform_system == "Linux"', 'triton==3; extra == "fast"']
    fake_torch.wheel(wheels, "torch", "2.13.0", needs, weight=2 << 20)
    fake_torch.wheel(wheels, "nvidia-cublas", "13.1", weight=3 << 20)
    npu = fake_torch.wheel(wheels, "torch_npu", "2.13.0", ["torch==2.13.0.*"])
    tree.cpu = fake_torch.wheel(tmp_path / "cpu wheels", "torch", "2.13.0+cpu", ['triton==3; extra == "fast"'])
    (tree.root / "requirements-torch.txt").write_text(fake_torch.pinned(tree.cpu, npu))
    tree.wheels = wheels
    tree.pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": "/dev/null", "PIP_NO_CACHE_DIR": "1"}
    return tree


def installed(tree):
    return {path.name for path in fake_torch.site(tree.root / ".venv").glob("*.dist-info")} - {
        path.name for path in fake_torch.site(tree.root / ".venv").glob("pip-*.dist-info")}


def test_cuda_build_is_not_fetched_and_the_way_out_is_told(shop):
    outcome = shop.call("run", "--", "echo", "ran", **shop.pip)
    assert outcome.returncode == 1 and outcome.stdout == ""
    assert "CUDA build of torch 2.13.0: 2 packages, 5.0 MB. Nothing was downloaded." in outcome.stderr
    assert "MILLPOND_TORCH_INDEX=ADDRESS" in outcome.stderr and "extra-index" not in outcome.stderr and "MILLPOND_TORCH=off" in outcome.stderr
    assert installed(shop) == set() and shop.calls() == []


def test_pip_options_bring_the_cpu_build(shop, tmp_path):
    outcome = shop.call("run", "--", "echo", "ran", **shop.pip, MILLPOND_PIP_OPTIONS=f"--find-links '{tmp_path}/cpu wheels'")
    assert outcome.returncode == 0 and outcome.stdout == "ran\n", outcome.stderr
    assert installed(shop) == {"torch-2.13.0+cpu.dist-info", "torch_npu-2.13.0.dist-info"}
    again = shop.call("run", "--", "echo", "ran", **shop.pip)
    assert again.returncode == 0 and again.stderr == ""


def test_the_question_to_pip_fetches_no_wheel(shop):
    index = fake_torch.Index(shop.wheels)
    try:
        web = {**shop.pip, "PIP_INDEX_URL": index.address, "PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "MILLPOND_TORCH_INDEX": "none"}
        outcome = shop.call("run", "--", "echo", "ran", **web)
        assert outcome.returncode == 1 and "2 packages, 5.0 MB" in outcome.stderr
        assert index.fetched == []
        for gone in ("torch-2", "nvidia"):
            next(shop.wheels.glob(f"{gone}*.whl")).unlink()
        for file in shop.cpu.parent.iterdir():
            shutil.copy(file, shop.wheels)
        assert shop.call("run", "--", "echo", "ran", **web).stdout == "ran\n"
        assert sorted(index.fetched) == ["torch-2.13.0+cpu-py3-none-any.whl", "torch_npu-2.13.0-py3-none-any.whl"]
    finally:
        index.close()


def test_torch_alone_comes_from_the_index_that_is_named_for_it(shop):
    """Issue 13: with an extra index whoever owns a name there can put any package in the place of ours."""
    cpu, every = fake_torch.Index(shop.cpu.parent), fake_torch.Index(shop.wheels)
    fake_torch.wheel(shop.cpu.parent, "torch_npu", "2.13.0", weight=1)  # a substitute
    try:
        web = {**shop.pip, "PIP_INDEX_URL": every.address, "PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}
        outcome = shop.call("run", "--", "echo", "ran", **web, MILLPOND_TORCH_INDEX=cpu.address)
        assert outcome.returncode == 0 and outcome.stdout == "ran\n", outcome.stderr
        assert (cpu.fetched, every.fetched) == (["torch-2.13.0+cpu-py3-none-any.whl"], ["torch_npu-2.13.0-py3-none-any.whl"])
    finally:
        cpu.close()
        every.close()


def test_where_pips_index_has_a_cuda_build_pytorchs_own_cpu_index_is_taken(shop):
    cpu, every = fake_torch.Index(shop.cpu.parent), fake_torch.Index(shop.wheels)
    pytorch = shop.root / "tools" / "cli" / "pytorch.py"
    text, count = re.subn(r'^CPU_INDEX = ".*"$', f'CPU_INDEX = "{cpu.address}"', pytorch.read_text(), flags=re.M)
    assert count == 1
    pytorch.write_text(text)
    try:
        web = {**shop.pip, "PIP_INDEX_URL": every.address, "PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}
        outcome = shop.call("run", "--", "echo", "ran", **web)
        assert outcome.stdout == "ran\n" and "the CPU build of PyTorch's own index is taken" in outcome.stderr, outcome.stderr
        assert (cpu.fetched, every.fetched) == (["torch-2.13.0+cpu-py3-none-any.whl"], ["torch_npu-2.13.0-py3-none-any.whl"])
    finally:
        cpu.close()
        every.close()


def test_a_demo_without_torch_ends_well_and_says_what_was_left_out(shop):
    program = shop.root / "build" / "release" / "bin" / "two_streams_pool"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho the pool runs\n")
    program.chmod(0o755)
    outcome = shop.call("demo", **shop.pip)
    assert outcome.returncode == 0 and "the pool runs" in outcome.stdout, outcome.stderr
    assert "Left out, because there is no torch: ge_allocator, torch_allocator." in outcome.stdout and "CUDA build of torch" in outcome.stderr


def test_a_wheel_with_another_hash_is_not_installed(shop):
    for gone in ("torch-2", "nvidia"):
        next(shop.wheels.glob(f"{gone}*.whl")).unlink()
    fake_torch.wheel(shop.wheels, "torch", "2.13.0+cpu", weight=1)  # the right name, another content
    outcome = shop.call("run", "--", "echo", "ran", **shop.pip)
    assert outcome.returncode == 1 and outcome.stdout == ""
    assert "a hash that differs is another file" in outcome.stderr
    assert installed(shop) == set()


def test_torch_that_pip_cannot_find_is_named(shop):
    for wheel in shop.wheels.glob("torch*"):
        wheel.unlink()
    outcome = shop.call("run", "--", "echo", "ran", **shop.pip)
    assert outcome.returncode == 1
    assert "pip could not install: torch==2.13.0 torch_npu==2.13.0" in outcome.stderr and "MILLPOND_PIP_OPTIONS" in outcome.stderr


# --- what doctor says

def test_doctor_explains_a_wrong_torch(tree, tmp_path):
    mine = fake_torch.environment(tmp_path / "mine", torch="2.9.0+cpu", torch_npu="2.9.0")
    said = tree.call("doctor", VIRTUAL_ENV=str(mine)).stdout
    assert f"warn  active environment {mine}: torch 2.9.0+cpu where 2.13.0 is needed" in said
    pip = re.escape(f"{mine}/bin/python -m pip install ")
    assert re.search(rf"to use yours: {pip}--index-url https://\S+/cpu torch==2\.13\.0 && {pip}torch_npu==2\.13\.0 \(", said)


@pytest.mark.parametrize("address, option", [("https://index.invalid/cpu", "--index-url https://index.invalid/cpu "), ("none", "")])
def test_doctor_names_the_index_that_was_chosen_for_torch(tree, tmp_path, address, option):
    mine = fake_torch.environment(tmp_path / "mine", torch="2.9.0+cpu", torch_npu="2.9.0")
    said = tree.call("doctor", VIRTUAL_ENV=str(mine), MILLPOND_TORCH_INDEX=address).stdout
    assert f"{mine}/bin/python -m pip install {option}torch==2.13.0 && " in said


def test_doctor_finds_a_venv_that_somebody_changed(shop):
    shutil.copy(shop.root / "requirements-torch.txt", shop.root / ".venv" / "millpond-requirements-torch.txt")
    outcome = shop.call("doctor")
    assert outcome.returncode == 1
    assert f"FAIL  {shop.root}/.venv/bin/python: no torch_npu" in outcome.stdout


def kernels(tree, version, folder):
    (tree.root / "build" / "ascend" / "lib64").mkdir(parents=True)
    (tree.root / "build" / "ascend" / "lib64" / "libmillpond_kernels.so").write_text("")
    info = tree.root / "build" / "ascend" / "share" / "millpond" / "torch.info"
    info.parent.mkdir(parents=True)
    info.write_text(f"version={version}\nfolder={folder}\n")


@pytest.mark.parametrize("version, there, verdict", [
    ("2.13.0+cpu", True, "ok    kernels are built against torch 2.13.0+cpu in "),
    ("2.12.0", True, "FAIL  kernels are built against torch 2.12.0 in "),
    ("2.13.0", False, "which is gone"),
])
def test_doctor_compares_the_kernels_with_the_torch_of_run(tree, tmp_path, version, there, verdict):
    mine = fake_torch.environment(tmp_path / "mine", **RIGHT)
    kernels(tree, version, fake_torch.site(mine) / ("torch" if there else "gone"))
    assert verdict in tree.call("doctor", VIRTUAL_ENV=str(mine)).stdout


def test_doctor_knows_the_variables_of_the_command_line(tree):
    said = tree.call("doctor", MILLPOND_TORCH="off", MILLPOND_PIP_OPTIONS="--no-cache-dir").stdout
    assert "ok    MILLPOND_TORCH=off" in said and "ok    MILLPOND_PIP_OPTIONS=--no-cache-dir" in said
    assert "torch is left out" in said


def test_doctor_reports_the_instruction_set_cap(tree):
    said = tree.call("doctor", VIRTUAL_ENV=sys.prefix, ONEDNN_MAX_CPU_ISA="AVX2").stdout
    assert "ONEDNN_MAX_CPU_ISA is AVX2" in said


def further(tree, release):
    """Kernels for one more release, as build-kernels leaves them."""
    folder = tree.root / "build" / "ascend" / "lib64" / "kernels" / f"torch-{release}"
    folder.mkdir(parents=True)
    (folder / "libmillpond_kernels.so").write_text("")


@pytest.mark.parametrize("npu, taken", [("2.10.0.post7", True), ("2.13.0", False)])
def test_an_environment_with_a_torch_that_has_kernels_of_its_own_is_used(tree, tmp_path, npu, taken):
    mine = fake_torch.environment(tmp_path / "mine", torch="2.10.0+cpu", torch_npu=npu)
    active = {"VIRTUAL_ENV": str(mine), "PATH": f"{mine}/bin:{tree.fake}:/usr/bin:/bin"}
    before = tree.call("run", "--", "python", *WHICH, **active)
    assert "torch 2.10.0+cpu where 2.13.0 is needed" in before.stderr and "build-kernels" in before.stderr
    further(tree, "2.10.0")
    after = tree.call("run", "--", "python", *WHICH, **active)
    assert (json.loads(after.stdout)[0] == str(mine / "bin" / "python")) == taken
    assert taken or "torch_npu 2.13.0 where 2.10.0 is needed" in after.stderr


def test_build_kernels_refuses_what_it_need_not_or_cannot_do(tree, tmp_path):
    right = fake_torch.environment(tmp_path / "right", torch="2.13.0+cpu", torch_npu="2.13.0")
    outcome = tree.call("build-kernels", "--python", str(right / "bin" / "python"))
    assert outcome.returncode == 1 and "has kernels already" in outcome.stderr
    none = fake_torch.environment(tmp_path / "none")
    outcome = tree.call("build-kernels", "--python", str(none / "bin" / "python"))
    assert outcome.returncode == 1 and "no torch; --python names one" in outcome.stderr
    outcome = tree.call("build-kernels", "--python", "/nowhere/python")
    assert outcome.returncode == 1 and "/nowhere/python: it is not there; --python names one" in outcome.stderr
