# SPDX-License-Identifier: Apache-2.0
"""`doctor`: looks, changes nothing. One line per fact with ok, warn or FAIL and, where it helps, what to do."""

import argparse
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import ensure
import environment
import nearest
import pytorch
import version
from arguments import Parser
from doctor_torch import torch
from layout import HERE, INSTALLED, IN_TREE, PACKAGING, STAMPS
from ui import Stop

GIB = 1 << 30
# Run in a child: loading the libraries must not be able to take the doctor down.
LOAD_CHECK = str(HERE / "load_check.py")


class Report:
    def __init__(self):
        self.failed = 0
        self.warned = 0

    def ok(self, fact):
        print(f"  ok    {fact}")

    def warn(self, fact, hint):
        self.warned += 1
        print(f"  warn  {fact}\n        -> {hint}")

    def fail(self, fact, hint):
        self.failed += 1
        print(f"  FAIL  {fact}\n        -> {hint}")

    def judge(self, good, fact, hint):
        if good:
            self.ok(fact)
        else:
            self.warn(fact, hint)


def doctor_parser():
    return Parser("doctor", description="Reports what this machine has, what is installed and whether the libraries load. "
                                        "Changes nothing. Exit status 1 if anything failed.")


def doctor(argv):
    doctor_parser().parse_args(argv)
    report = Report()
    for title, check in (("machine", machine), ("kernel settings", kernel), ("settings", settings),
                         ("installed", installed), ("libraries", libraries), ("PyTorch", torch)):
        print(title)
        check(report)
    print(f"{report.failed} failed, {report.warned} warnings")
    return 1 if report.failed else 0


def read(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def memory_limit():
    """The cgroup's limit in bytes, v2 or v1, or None."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = read(path)
        if text and text.isdecimal() and int(text) < 1 << 60:
            return int(text)
    return None


def machine(report):
    name = os.uname()
    report.judge(name.machine == "x86_64", f"{name.sysname} {name.release} on {name.machine}",
                 "only x86-64 is built and tested today")
    cores = len(os.sched_getaffinity(0))
    report.judge(cores >= 2, f"{cores} cores usable", "with one core, streams take turns: right results, no overlap")
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = memory_limit()
    usable = min(total, limit or total)
    limit_text = f"cgroup limit {limit / GIB:.1f} GiB" if limit else "no cgroup limit"
    report.judge(usable >= 2 * GIB, f"memory {total / GIB:.1f} GiB, {limit_text}",
                 "devices offer a share of this; --memory SIZE sets it by hand")
    shm = shutil.disk_usage("/dev/shm").total if os.path.isdir("/dev/shm") else 0
    report.judge(shm >= 64 << 20, f"/dev/shm {shm / (1 << 20):.0f} MiB",
                 "device memory is a memfd and does not need it, but PyTorch data loaders do")
    try:
        handle = os.memfd_create("millpond-doctor")
        os.ftruncate(handle, 64 * GIB)
        os.close(handle)
        report.ok("memfd: a sparse file of 64 GiB can be made")
    except OSError as error:
        report.fail(f"memfd: {error.strerror}", "device memory lives in a memfd; allow memfd_create and raise ulimit -f")


def kernel(report):
    setting = read("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    chosen = setting[setting.index("[") + 1:setting.index("]")] if setting and "[" in setting else "unknown"
    report.judge(chosen in ("advise", "always", "within_size", "force"), f"shmem_enabled: {chosen}",
                 "device memory gets 4 KiB pages, so first touch is slower; "
                 "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled as root helps")
    bits = read("/proc/sys/vm/mmap_rnd_bits") or "unknown"
    report.judge(bits.isdecimal() and int(bits) <= 28, f"vm.mmap_rnd_bits: {bits}",
                 "gcc's TSan needs 28 or less; our TSan tests run under setarch -R, so they work all the same")
    overcommit = read("/proc/sys/vm/overcommit_memory") or "unknown"
    report.judge(overcommit != "2", f"vm.overcommit_memory: {overcommit}",
                 "strict accounting (2) can refuse the sparse reservations of device memory")
    maps = read("/proc/sys/vm/max_map_count") or "0"
    report.judge(int(maps) >= 65530, f"vm.max_map_count: {maps}", "virtual memory management maps chunks one by one; raise it")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    report.judge(soft >= 1024, f"open files (ulimit -n): {soft} of {hard}", "physical handles are files; ulimit -n 4096 helps")
    reserve = resource.getrlimit(resource.RLIMIT_AS)[0]
    report.judge(reserve == resource.RLIM_INFINITY, "address space: " + ("unlimited" if reserve == resource.RLIM_INFINITY
                                                                         else f"{reserve / GIB:.1f} GiB (ulimit -v)"),
                 "a device reserves twice its memory in addresses; ulimit -v unlimited")


def settings(report):
    known = environment.known_settings()
    given = {name: value for name, value in sorted(os.environ.items()) if name.startswith("MILLPOND_")}
    for name, value in given.items():
        hint = nearest.hint(name, known, "MILLPOND_")
        report.judge(name in known, f"{name}={value}", f"no setting of that name{hint}; docs/options.md has them all")
    try:
        environment.check_inherited(typos=False)
    except Stop as stop:
        report.fail(str(stop), "correct or unset it")
    if not given:
        report.ok("no MILLPOND_ variable is set: all defaults")


def package_names(list_name):
    lines = (PACKAGING / list_name).read_text().splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def missing_packages(names):
    query = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names],
                           capture_output=True, text=True, check=False)
    have = {line.split()[0] for line in query.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in names if name not in have]


def installed(report):
    report.ok(version.line())
    report.ok(f"python {sys.version.split()[0]} ({sys.executable})")
    if not IN_TREE:
        report.ok(f"installed in {INSTALLED}")
        return
    if shutil.which("dpkg-query"):
        for list_name, use in (("debian-packages.txt", "builds"), ("debian-packages-test.txt", "test only"), ("debian-packages-lint.txt", "test only"),
                               ("debian-packages-long.txt", "test --long only"), ("debian-packages-bench.txt", "bench only")):
            names = package_names(list_name)
            gone = missing_packages(names)
            if not gone:
                report.ok(f"Debian packages for {use}: all {len(names)}")
            else:
                hint = f"apt-get install -y --no-install-recommends {' '.join(gone)}"
                (report.warn if use.endswith("only") else report.fail)(f"Debian packages for {use}: {len(gone)} missing", hint)
    else:
        report.warn("not a Debian system", "the package check is skipped; install what packaging/debian-packages.txt names")
    held = pytorch.venv_holds("requirements.txt")
    report.judge(held, ".venv holds requirements.txt" if held else ".venv: not made, or old", "./millpond demo makes it")
    built = STAMPS / f"release-{ensure.INSTALL_TARGET}"
    current = built.exists() and built.read_text().split()[0] == ensure.fingerprint(ensure.SOURCES)
    report.judge(current, "build/release is " + ("up to date" if current else "not built, or older than the sources"),
                 "./millpond demo builds it")


def libraries(report):
    library = INSTALLED / "lib64" / "libascendcl.so"
    if not library.exists():
        report.fail("build/ascend/lib64/libascendcl.so is not there", "./millpond demo builds and installs it" if IN_TREE
                    else "the wheel is damaged: pip install --force-reinstall millpond")
        return
    variables = environment.for_program(argparse.Namespace())
    child = subprocess.run([sys.executable, LOAD_CHECK, str(library)], env=variables, capture_output=True, text=True,
                           timeout=60, check=False)
    for line in child.stdout.splitlines():
        if line.startswith("ok "):
            report.ok(line[3:])
        else:
            report.fail(line, "./millpond test -k Init shows more; CANN's log: ASCEND_GLOBAL_LOG_LEVEL=1 ASCEND_SLOG_PRINT_TO_STDOUT=1")
    if child.returncode != 0 and not any(not line.startswith("ok ") for line in child.stdout.splitlines()):
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        report.fail(f"loading ended with status {child.returncode}: {last}", "rebuild: rm -r build/release build/ascend, ./millpond demo")
