# SPDX-License-Identifier: Apache-2.0
"""The installed tree as a stranger uses it: CMake package, pkg-config, bare compiler; its layout; that it can be moved."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STRANGER = Path(__file__).resolve().parent / "stranger"
VERSION = "9.0.0"
PACKAGES = ("runtime compiler hccl opp opp_kernel toolkit driver firmware ops_math ops_nn ops_transformer ops_cv "
            "ops_legacy").split()
# What torch_npu and its companions load by name (their DT_NEEDED and dlopen lists).
LIBRARIES = ("ascendcl", "acl_op_compiler", "hccl", "ge_runner", "graph", "acl_tdt_channel")


def bare():
    """No variable of ours: what is found must be found by what the test says."""
    hidden = ("MILLPOND_", "ASCEND_", "CMAKE_", "PKG_CONFIG")
    return {name: value for name, value in os.environ.items()
            if not name.startswith(hidden) and name not in ("LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH")}


def sh(*command, env=None, cwd=None):
    outcome = subprocess.run([str(part) for part in command], env=env or bare(), cwd=cwd, capture_output=True, text=True,
                             timeout=300, check=False)
    assert outcome.returncode == 0, f"{command}\n{outcome.stdout}\n{outcome.stderr}"
    return outcome.stdout


def check_programs(folder, env=None):
    assert sh(folder / "stranger_c", env=env).strip() == "1 Ascend910B3"
    assert sh(folder / "stranger_cc", env=env).strip() == "same"


@pytest.mark.parametrize("how", ["set_env.sh", "prefix", "Millpond_DIR"])
def test_find_package(ascend, tmp_path, how):
    env = bare()
    options = []
    if how == "set_env.sh":
        env["CMAKE_PREFIX_PATH"] = f"{ascend}/lib64/cmake"
    elif how == "prefix":
        options = [f"-DCMAKE_PREFIX_PATH={ascend}"]
    else:
        options = [f"-DMillpond_DIR={ascend}/lib64/cmake/Millpond"]
    said = sh("cmake", "-G", "Ninja", "-S", STRANGER, "-B", tmp_path, *options, env=env)
    assert f"Millpond at {ascend}, CANN {VERSION}" in said
    sh("cmake", "--build", tmp_path, env=env)
    check_programs(tmp_path)  # CMake's build RPATH finds the libraries


def test_pkg_config(ascend, tmp_path):
    env = {**bare(), "PKG_CONFIG_PATH": f"{ascend}/lib64/pkgconfig"}
    flags = sh("pkg-config", "--cflags", "--libs", "ascendcl", "acl_op_compiler", env=env).split()
    assert sh("pkg-config", "--modversion", "ascendcl", env=env).strip() == VERSION
    sh("gcc", "-std=c99", STRANGER / "stranger.c", "-o", tmp_path / "stranger_c", *flags)
    sh("g++", "-std=c++17", STRANGER / "stranger.cc", "-o", tmp_path / "stranger_cc", *flags)
    check_programs(tmp_path)


def test_bare_compiler(ascend, tmp_path):
    flags = [f"-I{ascend}/include", f"-L{ascend}/lib64", "-lascendcl"]
    sh("gcc", "-std=c99", STRANGER / "stranger.c", "-o", tmp_path / "stranger_c", *flags)
    sh("g++", "-std=c++17", STRANGER / "stranger.cc", "-o", tmp_path / "stranger_cc", *flags)
    check_programs(tmp_path, {**bare(), "LD_LIBRARY_PATH": f"{ascend}/lib64"})


def test_as_cann_samples_do_it(ascend, tmp_path):
    """Full path to the library, the old string ABI, warnings as errors; also through the folders only CANN has."""
    for number, tree in enumerate((ascend, ascend / "runtime", ascend / "compiler")):
        output = tmp_path / f"sample{number}"
        sh("g++", "-std=c++17", "-D_GLIBCXX_USE_CXX11_ABI=0", "-Wall", "-Wextra", "-Werror", f"-I{tree}/include",
           STRANGER / "stranger.cc", f"{tree}/lib64/libascendcl.so", "-o", output)
        assert sh(output, env={**bare(), "LD_LIBRARY_PATH": f"{tree}/lib64"}).strip() == "same"
    sh("g++", "-std=c++17", f"-I{ascend}/include", STRANGER / "stranger.cc", f"-L{ascend}/devlib", "-lascendcl", "-o", tmp_path / "dev")


def ascendc(ascend, folder, *lines):
    """Configures a project that includes CANN's file for kernels, as its samples do; (build folder, outcome)."""
    head = ["cmake_minimum_required(VERSION 3.16)", "project(sample CXX)",
            f"include({ascend}/{os.uname().machine}-linux/tikcpp/ascendc_kernel_cmake/ascendc.cmake)"]
    (folder / "CMakeLists.txt").write_text("\n".join([*head, *lines]) + "\n")
    build = folder / "build"
    return build, subprocess.run(["cmake", "-S", str(folder), "-B", str(build), f"-DCMAKE_INSTALL_PREFIX={folder}/out"], env=bare(),
                                 capture_output=True, text=True, check=False)


def test_a_project_that_includes_ascendc_cmake_and_has_no_kernel_builds(ascend, tmp_path):
    _, outcome = ascendc(ascend, tmp_path)
    assert outcome.returncode == 0, outcome.stderr


KERNEL = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void add_number(__gm__ int* where, int number) {
  if (number == 13) asm("trap");
  where[block_idx] += number * SCALE;
}
int add_number_do(uint32_t blocks, void* stream, int* where, int number) {
  return static_cast<int>(add_number<<<blocks, nullptr, stream>>>(where, number));
}
"""
LAUNCHER = """
#include <cstdint>
#include <cstdio>
#include "acl/acl.h"
#include "aclrtlaunch_add_number.h"
int add_number_do(uint32_t blocks, void* stream, int* where, int number);
int main(int, char** words) {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* memory = nullptr;
  int host[2] = {1, 2};
  aclrtMalloc(&memory, sizeof(host), ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(memory, sizeof(host), host, sizeof(host), ACL_MEMCPY_HOST_TO_DEVICE);
  const int launched = add_number_do(2, nullptr, static_cast<int*>(memory), 5);
  const int done = aclrtSynchronizeStream(nullptr);
  add_number_do(1, nullptr, static_cast<int*>(memory), 13);
  const int trapped = aclrtSynchronizeStream(nullptr);
  ACLRT_LAUNCH_KERNEL(add_number)(1, nullptr, memory, 30);
  aclrtBinHandle binary = nullptr;
  aclrtFuncHandle function = nullptr;
  struct { void* where; int number; } arguments = {memory, 1};
  const int loaded = aclrtBinaryLoadFromFile(words[1], nullptr, &binary);
  aclrtBinaryGetFunction(binary, "add_number", &function);
  aclrtLaunchKernelWithHostArgs(function, 1, nullptr, nullptr, &arguments, sizeof(arguments), nullptr, 0);
  aclrtSynchronizeStream(nullptr);
  aclrtMemcpy(host, sizeof(host), memory, sizeof(host), ACL_MEMCPY_DEVICE_TO_HOST);
  std::printf("%d %d %d %d: %d %d\\n", launched, done, trapped != 0, loaded, host[0], host[1]);
}
"""


def test_kernels_of_a_project_are_compiled_linked_and_loaded(ascend, ascend_env, tmp_path):
    (tmp_path / "kernel.cpp").write_text(KERNEL)
    (tmp_path / "main.cpp").write_text(LAUNCHER)
    build, outcome = ascendc(
        ascend, tmp_path, "ascendc_library(kernels STATIC kernel.cpp)", "ascendc_compile_definitions(kernels PRIVATE SCALE=10)",
        "ascendc_fatbin_library(loaded kernel.cpp)", "ascendc_compile_definitions(loaded PRIVATE SCALE=1000)", "add_executable(main main.cpp)",
        f"target_include_directories(main PRIVATE {ascend}/include)", f"target_link_libraries(main kernels {ascend}/lib64/libacl_rt.so)")
    assert outcome.returncode == 0, outcome.stderr
    sh("cmake", "--build", build, env=bare())
    sh("cmake", "--install", build, env=bare())
    fatbin = tmp_path / "out" / "fatbin" / "loaded" / "loaded.o"
    assert sh(build / "main", fatbin, env=ascend_env).strip() == "0 0 1 0: 1351 52"


def test_a_library_of_kernels_without_a_source_is_refused(ascend, tmp_path):
    _, outcome = ascendc(ascend, tmp_path, "ascendc_library(kernels STATIC)")
    assert outcome.returncode != 0 and "no source" in outcome.stderr


C_FOLDERS = ("acl", "aclnn", "aclnnop", "hccl", "securec.h")
HEADERS = sorted(path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.h") if path.parent.name != "aclnnop")


@pytest.mark.parametrize("language", ["c99", "c++17"])
def test_every_installed_header_compiles_alone(ascend, tmp_path, language):
    # aclnnop/ is generated but for one, a header per operator family; tests/abi/test_operators.py compiles them all.
    installed = sorted(path.relative_to(ascend / "include").as_posix() for path in (ascend / "include").rglob("*.h")
                       if path.parent.name != "aclnnop")
    assert installed == HEADERS and installed, "the install tree has other headers than include/"
    compiler, suffix = ("gcc", "c") if language == "c99" else ("g++", "cc")
    chosen = [name for name in installed if language != "c99" or name.split("/")[0] in C_FOLDERS]
    sources = []
    for number, name in enumerate(chosen):
        source = tmp_path / f"h{number}.{suffix}"
        source.write_text(f'#include "{name}"\n#include "{name}"\nint millpond_header_{number};\n')
        sources.append(source)
    flags = [f"-std={language}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DENABLE_DVPP_INTERFACE", f"-I{ascend}/include", "-fsyntax-only"]
    failed = {}
    outcome = subprocess.run([compiler, *flags, *map(str, sources)], capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        for name, source in zip(chosen, sources):
            one = subprocess.run([compiler, *flags, str(source)], capture_output=True, text=True, check=False)
            if one.returncode != 0:
                failed[name] = one.stderr
    assert outcome.returncode == 0 and failed == {}, failed


def test_layout_is_canns(ascend):
    for name in ("include/acl/acl.h", "lib64/libascendcl.so", "devlib/libascendcl.so", "runtime/lib64/libascendcl.so",
                 "runtime/lib64/stub/libascendcl.so", "runtime/include/acl/acl.h", "compiler/lib64", "compiler/include", "opp/version.info",
                 "python/site-packages",
                 "set_env.sh", "bin/setenv.bash", "bin/npu-smi", f"{os.uname().machine}-linux/include", f"{os.uname().machine}-linux/lib64",
                 "share/millpond/profiles/Ascend910B3.ini", "toolkit"):
        assert (ascend / name).exists(), name
    for name in LIBRARIES:
        assert (ascend / "lib64" / f"lib{name}.so").exists(), name


@pytest.mark.parametrize("package", PACKAGES)
def test_version_info(ascend, package):
    lines = (ascend / "share" / "info" / package / "version.info").read_text().splitlines()
    assert f"version={VERSION}" in lines and f"Version={VERSION}" in lines


def test_toolkit_version_is_found_as_torch_npu_looks_for_it(ascend):
    """Walk the tree for ascend_*_install.info; the first line with 'version' in it counts."""
    found = [Path(folder) / name for folder, _, files in os.walk(ascend) for name in files
             if re.fullmatch(r"ascend_.*_install\.info", name)]
    assert len(found) == 1
    line = next(line for line in found[0].read_text().splitlines() if "version" in line)
    assert line == f"version={VERSION}"


def elf_files(ascend):
    return [path for folder in ("lib64", "bin") for path in sorted((ascend / folder).iterdir())
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def test_libraries_have_plain_sonames_and_relative_run_paths(ascend):
    for path in elf_files(ascend):
        dynamic = sh("readelf", "-d", path)
        for run_path in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic):
            elsewhere = [part for part in run_path.split(":") if not part.startswith("$ORIGIN")]
            assert elsewhere == [], f"{path.name}: {run_path}"
        if path.suffix == ".so":
            assert f"soname: [{path.name}]" in dynamic, path.name


def test_a_library_is_linked_as_it_is_installed():
    """A path of the build machine that the install takes out leaves its length behind: a build in another folder had other bytes."""
    libraries = sorted((ROOT / "build" / "release" / "lib64").glob("*.so"))
    assert len(libraries) > 40
    for path in libraries:
        for run_path in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", sh("readelf", "-d", path)):
            elsewhere = [part for part in run_path.split(":") if part and not part.startswith("$ORIGIN")]
            assert elsewhere == [], f"{path.name}: {run_path}"


def test_no_text_in_the_tree_names_the_build(ascend):
    found = []
    for path in ascend.rglob("*"):
        # The first says where the torch lies that the kernels were built against; what was run out of the tree leaves the second.
        if path.name == "torch.info" or "__pycache__" in path.parts:
            continue
        is_text = path.is_file() and not path.is_symlink() and b"\x7fELF" not in path.read_bytes()[:4]
        if is_text and str(ROOT) in path.read_text(encoding="utf-8", errors="replace"):
            found.append(str(path))
    links = [str(path) for path in ascend.rglob("*") if path.is_symlink() and os.path.isabs(os.readlink(path))]
    assert found == [] and links == []


def test_tree_can_be_moved(ascend, tmp_path):
    moved = tmp_path / "else where"
    shutil.copytree(ascend, moved, symlinks=True)
    # A profile that only the moved tree has: found, so the tree looks beside itself and not where it was built.
    profiles = moved / "share" / "millpond" / "profiles"
    text = (profiles / "Ascend950.ini").read_text()
    (profiles / "Ascend950Moved.ini").write_text(re.sub(r"^name = .*", "name = Ascend950Moved", text, flags=re.M))
    env = {**bare(), "MILLPOND_SOC": "Ascend950Moved"}
    assert "| Ascend950PR " in sh(moved / "bin" / "npu-smi", "info", env=env)
    sh("cmake", "-G", "Ninja", "-S", STRANGER, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={moved}")
    sh("cmake", "--build", tmp_path / "b")
    check_programs(tmp_path / "b")
    assert sh(tmp_path / "b" / "stranger_c", env=env).strip() == "1 Ascend950Moved"
