# SPDX-License-Identifier: Apache-2.0
"""What the built libraries export, against abi/*.exports and against the headers, as a client's linker sees it."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("surface", Path(__file__).with_name("surface.py"))
surface = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(surface)

# Linked or opened by name by torch_npu, vllm-ascend and the samples; nothing of their own yet.
SHELLS = ("runtime profapi platform hcomm graph_base metadef ge_common_base ge_executor ascend_protobuf tiling_api register ascendalog "
          "ascend_hal ascend_ml lcal mspti ascendsk shmem opapi_math opapi_nn opapi_cv opapi_transformer").split()
# Parts of the runtime that samples link alone; the loader takes every symbol of theirs from libascendcl.
FILTERS = "acl_rt acl_rt_impl acl_mdl acl_op_executor msprofiler ascend_dump".split()
# No public header declares these; binaries bind them all the same when they are loaded.
LOAD_TIME = ("MsprofGetHashId MsprofRegisterCallback MsprofReportAdditionalInfo MsprofReportApi MsprofReportCompactInfo "
             "MsprofSysCycleTime rtDevBinaryRegister rtFunctionRegister rtGetC2cCtrlAddr rtKernelLaunch").split()
BOUNDED = "memcpy_s memset_s strcpy_s strncpy_s sprintf_s vsprintf_s snprintf_s vsnprintf_s".split()


@pytest.fixture(scope="module")
def libraries(ascend):
    return ascend / "lib64"


@pytest.fixture(scope="module")
def include(ascend):
    return ascend / "include"


def test_the_declaration_pattern_reads_headers(tmp_path):
    (tmp_path / "acl").mkdir()
    (tmp_path / "acl" / "a.h").write_text(
        "#define ACL_FUNC_VISIBILITY x\n// ACL_FUNC_VISIBILITY int no(void);\nACL_FUNC_VISIBILITY const char* one(void);\n"
        "ACL_FUNC_VISIBILITY int two(int32_t (*callback)(int),\n                            int flag);\n")
    assert surface.declared(tmp_path) == {"one": "acl/a.h", "two": "acl/a.h"}


@pytest.mark.parametrize("library", sorted(surface.recorded()))
def test_exports_are_the_recorded_ones(library, libraries):
    built = set(surface.exported(libraries / library))
    kept = set(surface.recorded()[library])
    missing, new = sorted(kept - built), sorted(built - kept)
    assert not missing, f"{library} no longer exports {missing}"
    assert not new, f"{library} exports {new}, which abi/ does not list; hide them, or run tests/abi/surface.py"


def test_every_declared_function_has_exactly_one_home(libraries, include):
    homes = {}
    for path in sorted(libraries.glob("*.so")):
        if surface.dynamic_section(path)["FILTER"]:
            continue
        for name in surface.exported(path):
            homes.setdefault(name, []).append(path.name)
    declared = surface.declared(include)
    assert len(declared) > 700, "the headers were not read"
    wrong = [f"{name} ({header}): {homes.get(name, [])}" for name, header in declared.items() if len(homes.get(name, [])) != 1]
    assert not wrong, "declared functions without exactly one library:\n" + "\n".join(wrong)


def test_installed_headers_declare_what_the_source_headers_declare(include):
    assert surface.declared(include) == surface.declared(surface.ROOT / "include")


def test_a_program_that_names_every_function_links_and_loads(libraries, include, tmp_path, ascend_env):
    names = sorted(surface.declared(include))
    source = tmp_path / "all.c"
    source.write_text("#include <stdio.h>\n" + "".join(f'#include "{header}"\n' for header in surface.headers(include)) +
                      "typedef void (*function)(void);\nfunction all[] = {\n" +
                      "".join(f"  (function){name},\n" for name in names) + "};\n" +
                      "int main(void) {\n  size_t found = 0, i;\n  for (i = 0; i < sizeof(all) / sizeof(all[0]); ++i) "
                      "found += all[i] != 0;\n  printf(\"%zu\\n\", found);\n  return 0;\n}\n")
    flags = [f"-l{Path(name).stem[3:]}" for name in surface.recorded() if name != "libc_sec.so"]
    program = tmp_path / "all"
    subprocess.run(["gcc", "-std=c99", "-DENABLE_DVPP_INTERFACE", f"-I{include}", str(source), "-o", str(program), f"-L{libraries}", *flags,
                    f"-Wl,-rpath-link,{libraries}"], check=True)
    environment = {**ascend_env, "LD_BIND_NOW": "1", "LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    outcome = subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert int(outcome.stdout) == len(names)


def closure(libraries, name, seen=None):
    seen = seen if seen is not None else set()
    if name not in seen and (libraries / name).exists():
        seen.add(name)
        for needed in surface.dynamic_section(libraries / name)["NEEDED"]:
            closure(libraries, needed, seen)
    return seen


def test_load_time_symbols_resolve_through_libascendcl(libraries):
    found = {name for library in closure(libraries, "libascendcl.so") for name in surface.exported(libraries / library)}
    assert sorted(set(LOAD_TIME + BOUNDED) - found) == []


def test_the_library_that_torch_npu_looks_for_has_nothing_and_brings_nothing(libraries):
    """The checker names it as preloaded: a program that does load it must not get the runtime with it."""
    hook = libraries / "libascend_kernel_hook.so"
    assert surface.exported(hook) == []
    assert closure(libraries, hook.name) == {hook.name}


@pytest.mark.parametrize("name", SHELLS)
def test_shell_exists_and_pretends_nothing(name, libraries):
    library = libraries / f"lib{name}.so"
    assert surface.exported(library) == []
    assert "libascendcl.so" in closure(libraries, library.name)


@pytest.mark.parametrize("name", FILTERS)
def test_a_part_names_all_of_libascendcl_and_has_nothing_of_its_own(name, libraries):
    library = libraries / f"lib{name}.so"
    assert surface.dynamic_section(library)["FILTER"] == ["libascendcl.so"]
    assert surface.exported(library) == surface.exported(libraries / "libascendcl.so")


@pytest.mark.parametrize("name", FILTERS)
def test_a_program_linked_with_one_part_alone_calls_libascendcl(name, libraries, include, tmp_path, ascend_env):
    source = tmp_path / "part.c"
    source.write_text("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include \"acl/acl.h\"\n"
                      "int main(void) {\n  Dl_info found;\n  if (dladdr((void*)aclInit, &found) == 0) return 1;\n"
                      "  printf(\"%d %s\\n\", aclInit(NULL) + aclFinalize(), found.dli_fname);\n  return 0;\n}\n")
    program = tmp_path / "part"
    subprocess.run(["gcc", "-std=gnu99", f"-I{include}", str(source), "-o", str(program), f"-L{libraries}", f"-l{name}"], check=True)
    environment = {**ascend_env, "LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    outcome = subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=True, timeout=60)
    answer, home = outcome.stdout.split()
    assert (answer, Path(home).name) == ("0", "libascendcl.so")


def test_sonames_are_unversioned_and_equal_the_file_names(libraries):
    wrong = {path.name: surface.dynamic_section(path)["SONAME"] for path in libraries.glob("*.so")
             if surface.dynamic_section(path)["SONAME"] != [path.name]}
    assert wrong == {}


def test_no_symbol_is_versioned(libraries):
    listing = subprocess.run(["nm", "-D", "--defined-only", str(libraries / "libascendcl.so")], capture_output=True, text=True,
                             check=True)
    assert not re.search(r"acl\w+@", listing.stdout)
