# SPDX-License-Identifier: Apache-2.0
"""`plan`: builds what is missing, then execs the planner (tools/plan), so exit status and output are its own."""

import os

import ensure
from arguments import Parser
from layout import ASCEND


def plan_parser():
    """For help, completions and typos: the program reads the arguments itself, and says what is wrong with a value."""
    parser = Parser("plan", description="Places the buffers of a planning problem in one block of memory and prints peak, bound (the peak of live "
                    "bytes), ratio and time. Exit status: 0 the plan fits the capacity (or none was given), 1 it does not, "
                    "2 the call or the file is wrong.")
    parser.add_argument("file", metavar="FILE.csv", nargs="?", help="a problem in MiniMalloc's format: a header id,lower,upper,size and optionally "
                        "alignment, then one buffer per line, live from lower up to but not including upper; - reads standard input")
    parser.add_argument("--capacity", metavar="BYTES", help="stop at the first plan that fits (e.g. 1048576, 64K, 1.5G); for at most 60 seconds")
    parser.add_argument("--seconds", metavar="S", help="search for at most S seconds")
    parser.add_argument("--steps", metavar="N", help="search for at most N steps: the same plan on every machine (default 20000)")
    parser.add_argument("--html", metavar="FILE", help="write an interactive page: zoom, search, what is live at the peak (docs/plan.md)")
    parser.add_argument("--svg", metavar="FILE", help="draw the plan as a static image")
    parser.add_argument("--out", metavar="FILE", help="write the problem with an added offset column")
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead")
    parser.add_argument("--method", metavar="NAME", help="use one greedy order instead of the search: size, area, pressure, lifetime or birth, "
                        "followed by -best or -first for the gap it takes")
    return parser


def plan(argv):
    parser = plan_parser()
    if "-h" in argv or "--help" in argv:
        parser.print_help()
        return 0
    unknown = [word for word in argv if word.startswith("--") and word.partition("=")[0] not in parser._option_string_actions]
    if unknown:
        parser.unknown(unknown)
    ensure.ready()
    program = str(ASCEND / "bin" / "millpond-plan")
    return os.execv(program, [program, *argv])
