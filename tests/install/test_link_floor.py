# SPDX-License-Identifier: Apache-2.0
"""tools/link_floor.py: what is linked against its folder asks for no version above the floor, and works."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = r"""
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory_resource>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))  // chosen while the program is loaded, by a function of libgcc.a
#endif
int Chosen(int number) { return number + 1; }
struct Early { Early() { std::puts("constructed"); } } early;

int main() {
  std::printf("chosen %d\n", Chosen(1));
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread other([&] { const std::lock_guard lock(mutex); done = true; changed.notify_all(); });
  std::unique_lock lock(mutex);
  while (!done) changed.wait(lock);
  const auto before = std::chrono::steady_clock::now();
  const bool late = changed.wait_until(lock, before + std::chrono::milliseconds(20)) == std::cv_status::timeout;
  std::printf("waited %d\n", late && std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(20));
  other.join();
  double number = 0;
  const char text[] = "1.25e3";
  std::from_chars(text, text + 6, number);
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::vector<int> numbers({1, 2, 3}, &memory);
  std::printf("%.0f %zu %s\n", number, numbers.size(), std::filesystem::path("/a/b").parent_path().c_str());
  try {
    std::filesystem::directory_iterator("/no/such/folder");
  } catch (...) {
    try {
      std::rethrow_exception(std::current_exception());
    } catch (const std::runtime_error& error) {  // a base class of another library: type information is shared
      std::puts("caught");
    }
  }
  try {
    std::__throw_bad_array_new_length();
  } catch (const std::bad_array_new_length&) {
    std::puts("too long");
  }
}
"""


@pytest.fixture(name="floor", scope="module")
def floor_fixture():
    spec = importlib.util.spec_from_file_location("link_floor", ROOT / "tools" / "link_floor.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def said(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.fixture(name="folder", scope="module")
def folder_fixture(floor, tmp_path_factory):
    if not shutil.which("g++-12") or floor.reason_not_to("g++-12"):
        pytest.skip(f"no floor here: {floor.reason_not_to('g++-12') if shutil.which('g++-12') else 'there is no g++-12'}")
    folder = tmp_path_factory.mktemp("floor")
    floor.make("g++-12", folder)
    return folder


def test_of_each_name_the_newest_version_that_the_floor_allows(floor):
    listing = ("   1: 0000000000001000    10 FUNC    GLOBAL DEFAULT   17 work@@GLIBC_2.34\n"
               "   2: 0000000000001000    10 FUNC    GLOBAL DEFAULT   17 work@GLIBC_2.17\n"
               "   3: 0000000000001000    10 FUNC    GLOBAL DEFAULT   17 work@GLIBC_2.2.5\n"
               "   4: 0000000000001000    10 FUNC    GLOBAL DEFAULT   17 newer@@GLIBC_2.29\n"
               "   5: 0000000000001000     8 OBJECT  WEAK   DEFAULT   20 value@@GLIBC_2.28\n"
               "   6: 0000000000001000    10 FUNC    GLOBAL DEFAULT   17 inner@@GLIBC_PRIVATE\n"
               "   7: 0000000000001000    10 FUNC    GLOBAL DEFAULT   17 of_an_archive@GCC_4.8.0\n")
    found = floor.names_of(listing)
    assert {name: row[2] for name, row in found.items()} == {"work": "GLIBC_2.17", "value": "GLIBC_2.28"}
    assert floor.version_script(found) == "GLIBC_2.17 { global: work; };\nGLIBC_2.28 { global: value; };\n"


def test_a_program_of_newer_parts_asks_for_no_version_above_the_floor_and_runs(floor, folder, tmp_path):
    source, program = tmp_path / "program.cc", tmp_path / "program"
    source.write_text(PROGRAM)
    apart = ",".join(str(folder / name) for name in floor.ONCE_APART)
    # Link-time optimisation, as the core has: it is what draws needless members out of an archive.
    said("g++-12", "-std=c++20", "-O2", "-flto", source, "-o", program, f"-L{folder}", "-Wl,--exclude-libs,ALL",
         f"-Wl,--push-state,--no-as-needed,{apart},--pop-state")
    asked = re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", said("readelf", "-V", "-W", program))
    assert asked and [row for row in asked if floor.numbers(row[1]) > floor.FLOOR[row[0]]] == []
    own = said("nm", "-C", "--defined-only", program)
    assert "std::filesystem" in own and "__cxa_begin_catch" not in own and "operator new" not in own
    assert {"libpthread.so.0", "libdl.so.2"} <= set(re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-d", program)))
    assert said(program) == "constructed\nchosen 2\nwaited 1\n1250 3 /a\ncaught\ntoo long\n"
