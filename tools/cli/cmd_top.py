# SPDX-License-Identifier: Apache-2.0
"""`top`: what runs on virtual devices now, and who holds how much of which."""

import argparse
import sys
import time
from pathlib import Path

import shared
from arguments import Parser

CLEAR = "\033[H\033[J"
MIB = 1 << 20


def top_parser():
    parser = Parser("top", description="Shows the runs of this user that are under way: their devices, what each process holds of them and the most it held. "
                    "Renews itself each second until Ctrl-C; prints once where standard output is no terminal. Runs with --private-devices, and programs started "
                    "by `env`, are not seen.")
    parser.add_argument("--once", action="store_true", help="print once and end")
    parser.add_argument("--every", metavar="SECONDS", type=_seconds, default=1.0, help="how often it is renewed (default 1)")
    return parser


def _seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0.1 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time between 0.1 and 3600 seconds")
    return value


def top(argv):
    arguments = top_parser().parse_args(argv)
    if arguments.once or not sys.stdout.isatty():
        print(text(shared.machines()))
        return 0
    try:
        while True:
            print(CLEAR + text(shared.machines()), flush=True)
            time.sleep(arguments.every)
    except KeyboardInterrupt:
        return 0


def text(machines):
    return "\n\n".join(map(_machine, machines)) if machines else "no process uses a virtual device (of a `run` or `check` of this user)"


def _machine(machine):
    lines = [machine.says]
    used = [sum(column) for column in zip(*[process.used for process in machine.processes])]
    peaks = [max(column) for column in zip(*[process.peak for process in machine.processes])]
    for device in [number for number, most in enumerate(peaks) if most] or [0]:
        lines.append(f"  device {device}: {_bar(used[device], machine.total)} {_mib(used[device])} of {_mib(machine.total)} MiB")
        for process in sorted(machine.processes, key=lambda one: -one.used[device]):
            if process.peak[device] or len(machine.processes) == 1:
                lines.append(f"    {process.pid:>8} {_mib(process.used[device]):>10} MiB   most {_mib(process.peak[device]):>10} MiB   {_name(process.pid)}")
    return "\n".join(lines)


def _bar(used, total, width=30):
    full = round(width * used / total) if total else 0
    return "[" + "#" * full + "." * (width - full) + "]"


def _mib(count):
    return f"{count / MIB:,.1f}"


def _name(pid):
    """The command line; printable characters alone, for it is another program's."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        words = ""
    return "".join(letter if letter.isprintable() else "?" for letter in words.strip())[:80]
