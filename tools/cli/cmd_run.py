# SPDX-License-Identifier: Apache-2.0
"""`run` and `env`: the environment of the virtual NPU, around a program or as export lines."""

import argparse
import os
import shlex
import shutil

import ensure
import environment
import pytorch
import ui


def run(argv):
    parser = argparse.ArgumentParser(
        prog="./millpond run", usage="./millpond run [OPTIONS] -- PROGRAM ARGS...",
        description="Runs any unmodified Ascend program on the virtual NPU. Its exit status is the program's; "
                    "a program that dies by a signal looks so to the caller.")
    environment.add_options(parser)
    parser.add_argument("program", nargs="*", metavar="PROGRAM", help="the program and its arguments, after --")
    options, program = _split(argv)
    arguments = parser.parse_args(options)
    if program is None:
        program = arguments.program
    elif arguments.program:
        parser.error(f"'{arguments.program[0]}' stands before --; the program goes after it")
    if not program:
        parser.error("no program given; the form is: ./millpond run [OPTIONS] -- PROGRAM ARGS...")
    environment.check_inherited()
    ensure.ready()
    variables = environment.for_program(arguments)
    _say_other_python(program[0], variables["PATH"])
    return execute(program, variables)


def _say_other_python(name, path):
    """An active environment without the right torch steps back behind .venv: then say so, or its packages are missed."""
    python = pytorch.active()
    if python is None or python == pytorch.chosen() or shutil.which(name, path=path) == shutil.which(name):
        return
    ui.say(f"'{name}' is .venv's: the active environment {python.parent.parent} has {' and '.join(pytorch.probe(python).complaints())} "
           f"({pytorch.SWITCH}=off takes it as it is)")


def _split(argv):
    if "--" not in argv:
        return argv, None
    place = argv.index("--")
    return argv[:place], argv[place + 1:]


def execute(program, variables):
    """Becomes the program, so exit status and death by signal are its own. Codes 126 and 127 are the shell's."""
    found = shutil.which(program[0], path=variables["PATH"])
    if found is None:
        if os.path.exists(program[0]):
            raise ui.Stop(f"'{program[0]}' is there but cannot be executed; is it marked executable (chmod +x)?", code=126)
        raise ui.Stop(f"no program '{program[0]}' on the PATH or at that place", code=127)
    try:
        os.execve(found, program, variables)
    except OSError as error:
        raise ui.Stop(f"cannot execute '{found}': {error.strerror}", code=126) from None


def env(argv):
    parser = argparse.ArgumentParser(
        prog="./millpond env", description='Prints export lines for a shell: eval "$(./millpond env)". '
                                           "The same variables as build/ascend/set_env.sh, and the options'.")
    environment.add_options(parser)
    arguments = parser.parse_args(argv)
    environment.check_inherited()
    ensure.ready()
    for name, value in {**environment.ascend(), **environment.chosen(arguments)}.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0
