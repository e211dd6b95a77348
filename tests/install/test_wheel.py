# SPDX-License-Identifier: Apache-2.0
"""The wheel as a stranger installs it: packed from the build that is here, into an environment of its own, without a network."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MACHINE = os.uname().machine
PYACL = """
import acl
assert acl.init() == 0 and acl.rt.set_device(0) == 0
block, code = acl.rt.malloc(1 << 20, 0)
assert code == 0 and block != 0
assert acl.rt.free(block) == 0 and acl.rt.reset_device(0) == 0 and acl.finalize() == 0
import ge
print("acl from", acl.__file__)
"""


def bare(**extra):
    hidden = ("MILLPOND_", "ASCEND_", "CMAKE_", "PKG_CONFIG", "PIP_")
    base = {name: value for name, value in os.environ.items() if not name.startswith(hidden)
            and name not in ("LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "TOOLCHAIN_HOME")}
    # No compiler, and no other tree's tools.
    return {**base, "PATH": "/usr/local/bin:/usr/bin:/bin", **extra}


def call(*command, status=0, **extra):
    done = subprocess.run([str(part) for part in command], env=bare(**extra), cwd="/", capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session", name="wheel")
def wheel_fixture(root, ascend, tmp_path_factory):
    """Of the release build as it is, which ./millpond test has just made."""
    assert ascend.exists()
    folder = tmp_path_factory.mktemp("dist")
    said = call(root / "millpond", "package", "--as-built", "--output", folder)
    (path,) = folder.glob("*.whl")
    assert path.name in said
    return path


@pytest.fixture(scope="session", name="venv")
def venv_fixture(wheel, tmp_path_factory):
    """An environment with the wheel and, of the packages of .venv, what is seen through a link: nothing is fetched."""
    folder = tmp_path_factory.mktemp("stranger") / "venv"
    call(sys.executable, "-m", "venv", "--without-pip", folder)
    (site,) = (folder / "lib").glob("python3*/site-packages")
    # This environment's packages come after its own, as with --system-site-packages; torch is 0.2 GB and is not copied.
    ours = next(path for path in sys.path if path.endswith("site-packages") and (Path(path) / "pip").is_dir())
    (site / "others.pth").write_text(f"{ours}\n")
    call(folder / "bin" / "python", "-m", "pip", "install", "--no-index", "--no-deps", "--no-warn-script-location", wheel)
    return folder


def has_torch():
    from importlib.util import find_spec
    return find_spec("torch") is not None and find_spec("torch_npu") is not None


def test_the_name_says_which_systems_it_is_for(wheel):
    found = re.fullmatch(rf"millpond-[\d.]+-py3-none-manylinux_2_(\d+)_{MACHINE}\.whl", wheel.name)
    assert found
    # Where tools/link_floor.py could do its work, and it can on Debian 12.
    assert int(found[1]) <= 28 or not (ROOT / "build" / "release" / "floor" / "libmore.a").exists()


def test_two_wheels_of_one_build_are_equal(wheel, root, tmp_path):
    call(root / "millpond", "package", "--as-built", "--output", tmp_path)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_no_library_looks_into_a_folder_of_this_machine(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if archive.open(name).read(4) == b"\x7fELF"]
        assert len(libraries) > 40
        for name in libraries:
            path = archive.extract(name, tmp_path)
            said = call("readelf", "-d", path)
            for found in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", said):
                assert all(part.startswith("$ORIGIN") for part in found.split(":")), f"{name}: {found}"


def test_notices_parts_manual_and_completions_are_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for end in ("/licenses/LICENSE", "/licenses/THIRD_PARTY.md", "/sboms/millpond.cdx.json", "/man1/millpond.1",
                "/bash-completion/completions/millpond", "/lib64/cmake/Millpond/MillpondConfig.cmake", "/lib64/pkgconfig/ascendcl.pc",
                "/python/site-packages/acl-stubs/__init__.pyi", "/opp/vendors/.keep", "/toolkit/.keep"):
        assert [name for name in names if name.endswith(end)], end


def test_the_command_and_the_module_are_one(venv):
    said = call(venv / "bin" / "millpond", "--version")
    assert re.fullmatch(r"millpond [\d.]+ \(commit \S+, CANN [\d.]+\)\n", said)
    assert call(venv / "bin" / "python", "-m", "millpond", "--version") == said
    # Inside `run` the tree's own copy of the package comes first on the path; it leads to the same command.
    assert call(venv / "bin" / "millpond", "run", "--", "millpond", "--version", PATH=f"{venv}/bin:/usr/bin:/bin") == said


def test_acl_is_there_inside_run_and_nowhere_else(venv, tmp_path):
    script = tmp_path / "uses_acl.py"
    script.write_text(PYACL)
    said = call(venv / "bin" / "millpond", "run", "--", "python", script)
    assert said.startswith("acl from ") and str(venv) in said
    call(venv / "bin" / "python", "-c", "import acl", status=1)
    call(venv / "bin" / "millpond", "check", "--", "python", script)


def test_env_is_for_a_shell_and_the_links_of_canns_layout_are_made(venv):
    said = call("bash", "-c", f'eval "$({venv}/bin/millpond env)"; echo "$ASCEND_HOME_PATH"; npu-smi info -m')
    home = Path(said.splitlines()[0])
    assert (home / "devlib" / "libascendcl.so").exists() and (home / "runtime" / "include" / "acl" / "acl.h").exists()
    assert (home / f"{MACHINE}-linux" / "lib64").is_symlink() and "Ascend 910B3" in said


READ_ONLY = ("import os, runpy, sys; real = os.access; os.access = lambda path, mode, **more: mode != os.W_OK and real(path, mode, **more); "
             "runpy.run_path(sys.argv.pop(1), run_name='__main__')")


@pytest.mark.parametrize("arguments", [("--version",), ("doctor",), ("run", "--", "true")], ids=" ".join)
def test_the_first_command_of_an_install_that_cannot_be_written(venv, tmp_path, arguments):
    """Whoever runs the tests may write anywhere, so the command line is told that it may not."""
    (tree,) = (venv / "lib").glob("python3*/site-packages/millpond/ascend")
    fresh = tmp_path / "ascend"
    shutil.copytree(tree, fresh, symlinks=True, copy_function=os.link)
    (fresh / "devlib").unlink(missing_ok=True)
    said = call(sys.executable, "-c", READ_ONLY, fresh / "share" / "millpond" / "cli", *arguments, XDG_CACHE_HOME=str(tmp_path / "cache"), MILLPOND_TORCH="off")
    assert "FAIL" not in said and not (fresh / "devlib").exists()


def test_links_that_can_be_made_nowhere_are_told(venv, tmp_path):
    (tree,) = (venv / "lib").glob("python3*/site-packages/millpond/ascend")
    fresh = tmp_path / "ascend"
    shutil.copytree(tree, fresh, symlinks=True, copy_function=os.link)
    (fresh / "devlib").unlink(missing_ok=True)
    (tmp_path / "file").touch()
    done = subprocess.run([sys.executable, "-c", READ_ONLY, str(fresh / "share" / "millpond" / "cli"), "run", "--", "true"],
                          env=bare(XDG_CACHE_HOME=str(tmp_path / "file")), capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "XDG_CACHE_HOME=FOLDER" in done.stderr and "Traceback" not in done.stderr


def test_doctor_of_an_install_loads_the_libraries(venv):
    said = call(venv / "bin" / "millpond", "doctor", MILLPOND_TORCH="off")
    assert "ok    libascendcl.so loads" in said and "Debian" not in said


def test_demo_runs_the_prebuilt_pool_first(venv):
    said = call(venv / "bin" / "millpond", "demo", MILLPOND_TORCH="off")
    assert ": 0 of 262144 elements wrong" in said
    assert said.index("== two_streams_pool: done") < said.index("== torch_allocator: not run, because MILLPOND_TORCH=off")


def test_an_operator_of_a_program_without_torch_finds_the_torch_of_run(venv):
    if not has_torch():
        pytest.skip("no torch here: nothing can run operators")
    assert "done in" in call(venv / "bin" / "millpond", "demo", "ge_allocator")


def test_torch_npu_runs_with_a_custom_allocator_from_the_wheel(venv):
    if not has_torch():
        pytest.skip("no torch here")
    said = call(venv / "bin" / "millpond", "demo", "torch_allocator")
    assert "== torch_allocator: done" in said


def test_a_project_finds_the_headers_and_libraries(venv, tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("no cmake here")
    home = call("bash", "-c", f'eval "$({venv}/bin/millpond env)"; echo "$ASCEND_HOME_PATH"').strip()
    call("cmake", "-G", "Ninja", "-S", ROOT / "tests" / "install" / "stranger", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={home}")
    call("cmake", "--build", tmp_path)
    assert call(tmp_path / "stranger_c").strip() == "1 Ascend910B3"
