# SPDX-License-Identifier: Apache-2.0
"""The commands: one row each. A module is imported when its command is called, so that `run` pays for nothing else.

A module has a function of the command's name, which takes the arguments, and <name>_parser, which makes its parser: help,
completions and the manual come from that.
"""

import importlib
from collections import namedtuple

from layout import IN_TREE

Command = namedtuple("Command", "module says in_tree_only", defaults=(False,))

ALL = {
    "demo": Command("cmd_demo", "run the examples, explaining what happens"),
    "test": Command("cmd_test", "all tests; ends with one line \"N passed, N failed\"", True),
    "run": Command("cmd_run", "any Ascend program, unmodified, on the virtual NPU; exits as the program does"),
    "check": Command("cmd_check", "the same, and find wrong operations on memory and streams"),
    "env": Command("cmd_run", "the same environment as export lines"),
    "top": Command("cmd_top", "live: which processes are on virtual devices, and how much each holds"),
    "doctor": Command("cmd_doctor", "what this machine has, what is installed, whether the libraries load"),
    "graph": Command("cmd_graph", "compile a model: steps, fused nodes, weights, planned memory; as a page"),
    "plan": Command("cmd_plan", "plan memory: peak, bound, ratio, time; draws it"),
    "trace": Command("cmd_trace", "merge the traces of several ranks, with arrows between them"),
    "kernel": Command("cmd_kernel", "compile a kernel of your own (Ascend C) for this machine"),
    "bench": Command("cmd_bench", "benchmarks against their peers", True),
    "build-kernels": Command("cmd_build_kernels", "compile the kernels for the torch of another Python"),
    "package": Command("cmd_package", "build a wheel into dist/", True),
    "completion": Command("cmd_completion", "completions for bash, zsh or fish"),
    "man": Command("cmd_man", "the manual page"),
}


def here():
    """Those that this place can do: an install has nothing to build."""
    return {name: row for name, row in ALL.items() if IN_TREE or not row.in_tree_only}


def _module(name):
    return importlib.import_module(ALL[name].module)


def function(name):
    return getattr(_module(name), name.replace("-", "_"))


def parser(name):
    return getattr(_module(name), f"{name.replace('-', '_')}_parser")()
