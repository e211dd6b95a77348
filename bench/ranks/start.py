# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a script that calls itself, and hands them a file to meet at."""

import ctypes
import importlib.util
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
from skip import skip

PR_SET_PDEATHSIG = 1


def read_arguments(parser, be_rank):
    """The arguments of the process that is to start the ranks; a rank does its work in here and ends."""
    parser.add_argument("--smoke", action="store_true", help="few repetitions: does it still run?")
    parser.add_argument("--rank", type=int, help="set by this program itself")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--meet")
    arguments = parser.parse_args()
    if arguments.rank is not None:
        be_rank(arguments)
        sys.exit()
    if importlib.util.find_spec("torch") is None:
        skip(f"{sys.executable} has no torch")
    return arguments


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
