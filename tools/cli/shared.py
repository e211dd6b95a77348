# SPDX-License-Identifier: Apache-2.0
"""Processes of one `run` share the capacity of their devices: the files that they meet in (src/device/memory/shared_quota.h).

`run` names a file and becomes the program, so nobody is left to remove it: the next `run` removes those that no process has locked.
"""

import contextlib
import fcntl
import os
import struct
from collections import namedtuple
from pathlib import Path

VARIABLE = "MILLPOND_SHARED_DEVICES"
OPTION = "--private-devices"
# SharedQuota::File and its locks.
MAGIC = 0x313071706D6D706D
MAX_DEVICES, MAX_PROCESSES = 64, 256
HEAD = struct.Struct("<QQQ104s")
ROW = struct.Struct(f"<{MAX_PROCESSES}Q")
FIRST_LOCK = 1 << 30

Process = namedtuple("Process", "pid used peak")  # bytes by device
Machine = namedtuple("Machine", "path says total processes")


def add_option(parser):
    parser.add_argument(OPTION, action="store_true", help="each process has devices of its own; without it the processes of one run share the capacity of a device, as on a card")


def folder():
    """A folder of this user in memory; None where there is none to be had."""
    for top in ("/dev/shm", os.environ.get("TMPDIR") or "/tmp"):
        path = Path(top) / f"millpond-{os.geteuid()}"
        try:
            path.mkdir(mode=0o700, exist_ok=True)
            state = os.lstat(path)
        except OSError:
            continue
        if os.path.isdir(path) and not os.path.islink(path) and state.st_uid == os.geteuid() and not state.st_mode & 0o022:
            return path
    return None


def variables(arguments):
    """What the environment of a program gets. One that runs within another `run` stays with that."""
    if arguments.private_devices:
        return {VARIABLE: ""}
    if os.environ.get(VARIABLE):
        return {}
    place = folder()
    if place is None:
        return {}
    sweep(place)
    return {VARIABLE: str(place / f"run-{os.getpid()}-{os.urandom(4).hex()}")}


def sweep(place):
    """Removes the files of runs that are over: no process has a lock on a row."""
    for path in place.glob("run-*"):
        with contextlib.suppress(OSError), open(path, "r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, MAX_PROCESSES + 1, FIRST_LOCK)
            path.unlink()


def _lives(file, row):
    """A process that is there has its row locked."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, FIRST_LOCK + row)
    except OSError:
        return True
    fcntl.lockf(file, fcntl.LOCK_UN, 1, FIRST_LOCK + row)
    return False


def read(path):
    """A Machine with its living processes, or None."""
    with open(path, "r+b") as file:
        data = file.read(HEAD.size + ROW.size * (1 + 2 * MAX_DEVICES))
        if len(data) < HEAD.size + ROW.size * (1 + 2 * MAX_DEVICES):
            return None
        magic, total, rows, says = HEAD.unpack_from(data)
        if magic != MAGIC:
            return None
        table = [ROW.unpack_from(data, HEAD.size + ROW.size * number) for number in range(1 + 2 * MAX_DEVICES)]
        pids, used, peak = table[0], table[1:1 + MAX_DEVICES], table[1 + MAX_DEVICES:]
        processes = [Process(pids[row], [line[row] for line in used], [line[row] for line in peak])
                     for row in range(min(rows, MAX_PROCESSES)) if pids[row] and _lives(file, row)]
    return Machine(path, says.rstrip(b"\0").decode(errors="replace"), total, processes)


def machines():
    """Of all runs of this user that have a living process."""
    place = folder()
    found = []
    for path in sorted(place.glob("run-*")) if place else ():
        with contextlib.suppress(OSError):
            machine = read(path)
            if machine and machine.processes:
                found.append(machine)
    return found
