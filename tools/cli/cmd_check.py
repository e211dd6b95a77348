# SPDX-License-Identifier: Apache-2.0
"""`check`: runs a program under the checker, waits for it, and tells what all its processes found."""

import argparse
import os
import re
import sys

import ensure
import environment
import program
import shared
import ui
from arguments import Parser
from check import explore, first, github, junit_xml, model, output, page, places, plain_json, rules, sarif, session, summary, suppress
from cmd_run import say_other_python

DESCRIPTION = """Runs a program as `run` does and finds operations on memory and streams that break a rule of CANN's documents: both operations, \
their stacks, and what to do. Takes all options of `run`. Exits with 66 if there was an error and the program itself exited with 0, else as the program \
did. For torch_npu programs TASK_QUEUE_ENABLE is 0 unless it is set: torch's queue frees blocks before the tasks on them are launched. \
docs/check.md has the guide, docs/rules.md the rules."""


def _parse_sample(text):
    if not SAMPLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a share; known: 1/N with N from 1 to 999999999, such as 1/100")
    return text


def _parse_host_order(text):
    if text not in HOST_ORDERS:
        raise argparse.ArgumentTypeError(f"no order '{text}'; known: {', '.join(HOST_ORDERS)}")
    return text


def _parse_explore(text):
    if not text.isdecimal() or not 1 <= int(text) <= MAX_EXPLORED:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of runs; allowed: 1 to {MAX_EXPLORED}")
    return int(text)


SAMPLE = re.compile(r"1/[1-9]\d{0,8}", re.ASCII)
HOST_ORDERS = ("time", "threads")
MAX_EXPLORED = 100000
# The option, the variable that the process reads, its metavar, how it is read, and what it does.
VALUES = (
    ("--only", "MILLPOND_CHECK_ONLY", "RULES", rules.parse_list, "check these rules alone: ids, names or MP3*, with commas"),
    ("--except", "MILLPOND_CHECK_EXCEPT", "RULES", rules.parse_list, "check all rules but these"),
    ("--also", "MILLPOND_CHECK_ALSO", "RULES", rules.parse_list, "turn on rules that are off by default (--rules marks them)"),
    ("--sample", "MILLPOND_CHECK_SAMPLE", "1/N", _parse_sample, "rules that --also turns on look at one in N of what they could"),
    ("--host-order", "MILLPOND_CHECK_HOST_ORDER", "ORDER", _parse_host_order,
     "time: calls of all threads are ordered by when they happen (default); threads: a thread knows what it waited for itself"),
    ("--suppress", "MILLPOND_CHECK_SUPPRESS", "FILE", str, "findings not to report, one per line (docs/check.md has the form)"),
)
FLAGS = (
    ("--until-first", "MILLPOND_CHECK_UNTIL_FIRST", "end the program with 66 at the first error"),
    ("--break", "MILLPOND_CHECK_BREAK", "raise SIGTRAP at the offending call: run a debugger as the PROGRAM"),
)
# What a file is made of: the run, the program, how it ended, and the folder that file names are relative to.
FILES = (
    ("--json", "findings as a list of objects", lambda run, command, outcome, base: plain_json.render(run)),
    ("--sarif", "findings as SARIF 2.1.0, for code scanning and editors", sarif.render),
    ("--junit", "findings as JUnit test cases", junit_xml.render),
    ("--html", "a page to open: findings with lanes, memory map and stacks; memory over time",
     lambda run, command, outcome, base: page.render(run, page.Heading(command, outcome, checked=True))),
)


def check(argv):
    parser = check_parser()
    arguments, command = program.parse(parser, argv)
    if arguments.rules:
        sys.stdout.write(rules.printed())
        return 0
    program.require(parser, command)
    environment.check_inherited(VALUES)
    chosen = _chosen(arguments)
    suppress_file = chosen.get("MILLPOND_CHECK_SUPPRESS")
    suppressions = suppress.read(suppress_file) if suppress_file else {}
    ensure.ready()
    variables = {"TASK_QUEUE_ENABLE": "0", **environment.for_program(arguments), **shared.variables(arguments), **chosen}
    say_other_python(command[0], variables["PATH"])
    with session.Session() as lines:
        until_first = first.First(lines) if "MILLPOND_CHECK_UNTIL_FIRST" in chosen else None
        outcome = program.watch(command, {**_late(chosen, variables), **variables, **lines.variables}, until_first)
        if until_first:
            until_first.end_rest()
        run = lines.read()
    base = places.base_folder()
    ended_well = not outcome.signal and outcome.status in (0, model.FOUND)
    for line in summary.lines(run, suppress.unused(suppressions, run) if ended_well else {}, suppress_file, base):
        ui.say(line)
    if not run.lost:
        _write(arguments, run, command, outcome, base)
        if arguments.explore:
            _explore(arguments, run, command, variables, outcome, base)
    return program.end_as(_judged(outcome, run, arguments))


def _late(chosen, variables):
    """MP507 sees who writes before a copy has run: copies are not to hurry. Seed 0 runs a task when the program waits for it."""
    listed = rules.expand(chosen.get("MILLPOND_CHECK_ALSO", "")) | rules.expand(chosen.get("MILLPOND_CHECK_ONLY", ""))
    wanted = "MP507" in listed - rules.expand(chosen.get("MILLPOND_CHECK_EXCEPT", ""))
    ordered = variables.get("MILLPOND_SEED") or variables.get("MILLPOND_SCHEDULE")
    return {"MILLPOND_SEED": "0"} if wanted and not ordered else {}


def _explore(arguments, run, command, variables, outcome, base):
    """After the files are written: it takes time, and whoever ends it early has them. What was shown goes into the file for programs."""
    sys.stdout.flush()
    shown = explore.Explorer(command, variables, base).explore(run, arguments.explore)
    path = vars(arguments)["--json"]
    if shown and path:
        output.write(path, plain_json.render(run), "what --json asks for")


def check_parser():
    parser = Parser("check", usage="[OPTIONS] -- PROGRAM ARGS...", description=DESCRIPTION)
    environment.add_options(parser)
    shared.add_option(parser)
    group = parser.add_argument_group("what is reported where (a file is also written when the program dies)")
    for flag, text, _ in FILES:
        names = [flag, "--report"] if flag == "--html" else [flag]
        group.add_argument(*names, dest=flag, metavar="FILE", type=environment.parse_output, help=text)
    group.add_argument("--github", action="store_true", help="annotations of a GitHub job, on standard output at the end")
    group.add_argument("--write-suppressions", metavar="FILE", type=environment.parse_output,
                       help="add lines to FILE that suppress what was found, with the messages as comments")
    group = parser.add_argument_group("what is checked")
    group.add_argument("--rules", action="store_true", help="print the rules and exit")
    for flag, variable, metavar, parse, text in VALUES:
        group.add_argument(flag, dest=variable, metavar=metavar, type=parse, help=text)
    group.add_argument("--explore", metavar="N", type=_parse_explore,
                       help="after a finding about order, run the program again in up to N other orders, to show what goes wrong")
    for flag, variable, text in FLAGS:
        group.add_argument(flag, dest=variable, action="store_const", const="1", help=text)
    return parser


def _chosen(arguments):
    """The variables that the options set; one of the caller's environment stays unless an option replaces it."""
    names = [row[1] for row in VALUES] + [row[1] for row in FLAGS]
    chosen = {name: value for name, value in vars(arguments).items() if name in names and value is not None}
    for _, name, _, parse, _ in VALUES:
        if name not in chosen and os.environ.get(name):
            chosen[name] = parse(os.environ[name])  # the process knows ids alone, no names
    if "MILLPOND_CHECK_SUPPRESS" in chosen:
        chosen["MILLPOND_CHECK_SUPPRESS"] = os.path.abspath(chosen["MILLPOND_CHECK_SUPPRESS"])
    if vars(arguments)["--html"]:
        chosen["MILLPOND_REPORT"] = "1"
    # The command decides about 66 when it has heard of all processes and of what tests expected.
    return {"MILLPOND_CHECK": "1", "MILLPOND_CHECK_STATUS": "keep", **chosen}


def _write(arguments, run, command, outcome, base):
    for flag, _, render in FILES:
        path = vars(arguments)[flag]
        if path:
            output.write(path, render(run, command, outcome, base), f"what {flag} asks for")
    if arguments.write_suppressions:
        output.append_suppressions(arguments.write_suppressions, run.findings)
    if arguments.github:
        output.print_out(github.render(run, base), "the annotations")


def _judged(outcome, run, arguments):
    """66 takes the place of success; with --until-first, of whatever a launcher made of the process that was ended."""
    replaces = outcome.status == 0 or arguments.MILLPOND_CHECK_UNTIL_FIRST
    return program.Outcome(model.FOUND) if run.has_errors and not outcome.signal and replaces else outcome
