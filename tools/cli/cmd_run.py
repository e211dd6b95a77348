# SPDX-License-Identifier: Apache-2.0
"""`run` and `env`: the environment of the virtual NPU, around a program or as export lines."""

import os
import shutil

import ensure
import environment
import program
import pytorch
import shared
import ui
from arguments import Parser
from layout import COMMAND


def run_parser():
    parser = Parser("run", usage="[OPTIONS] -- PROGRAM ARGS...",
                    description="Runs any unmodified Ascend program on the virtual NPU. Its exit status is the program's; "
                                "a program that dies by a signal looks so to the caller.")
    environment.add_options(parser)
    shared.add_option(parser)
    parser.add_argument("--report", metavar="FILE", type=environment.parse_output,
                        help="write a page (HTML): device memory over time by owner, and the largest blocks that were left")
    return parser


def run(argv):
    parser = run_parser()
    arguments, command = program.parse(parser, argv)
    program.require(parser, command)
    environment.check_inherited()
    ensure.ready()
    variables = {**environment.for_program(arguments), **shared.variables(arguments)}
    say_other_python(command[0], variables["PATH"])
    if arguments.report:
        return reported(command, variables, arguments.report)
    return program.become(command, variables)


def reported(command, variables, path):
    """Runs it and writes the page of `check` without checking anything."""
    from check import output, page, session
    with session.Session() as lines:
        outcome = program.watch(command, {**variables, **lines.variables, "MILLPOND_REPORT": "1"})
        found = lines.read()
    output.write(path, page.render(found, page.Heading(command, outcome, checked=False)), "the page")
    if not found.processes:
        ui.say("--report: the page is empty, because no process of the program used the runtime")
    return program.end_as(outcome)


def say_other_python(name, path):
    """An active environment without the right torch steps back behind .venv: then say so, or its packages are missed."""
    python = pytorch.active()
    if python is None or python == pytorch.chosen() or shutil.which(name, path=path) == shutil.which(name):
        return
    ui.say(f"'{name}' is .venv's: the active environment {python.parent.parent} has {' and '.join(pytorch.probe(python).complaints())} "
           f"({pytorch.SWITCH}=off uses it anyway; {COMMAND} build-kernels makes operators for its torch)")


def env_parser():
    parser = Parser("env", description=f'Prints export lines for a shell: eval "$({COMMAND} env)". '
                                       "The same variables as set_env.sh of the tree of libraries, and the options'.")
    environment.add_options(parser)
    return parser


def env(argv):
    import shlex
    arguments = env_parser().parse_args(argv)
    environment.check_inherited()
    ensure.ready()
    for name, value in {**environment.ascend(), **environment.of_torch(os.environ), **environment.chosen(arguments)}.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0
