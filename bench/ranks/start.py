# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a script that calls itself, and hands them a file to meet at."""

import ctypes
import pathlib
import signal
import subprocess
import sys
import tempfile

PR_SET_PDEATHSIG = 1


def add_options(parser):
    parser.add_argument("--smoke", action="store_true", help="few repetitions: does it still run?")
    parser.add_argument("--rank", type=int, help="set by this program itself")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--meet")


def end_with_parent():
    """No rank outlives a run that was given up."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start_ranks(script, ranks, flags):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, script, "--ranks", str(ranks), "--meet", str(pathlib.Path(folder) / "meet"), *flags]
        started = [subprocess.Popen([*command, "--rank", str(rank)]) for rank in range(ranks)]
        failed = [process for process in started if process.wait() != 0]
        if failed:
            sys.exit(f"{len(failed)} of {ranks} ranks failed")
