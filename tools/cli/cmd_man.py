# SPDX-License-Identifier: Apache-2.0
"""`man`: the manual page, written from the help of each command."""

import re

import commands
import version
from arguments import Parser
from layout import COMMAND, HERE, IN_TREE


def man_parser():
    return Parser("man", description=f"Prints the manual page: {COMMAND} man | man -l -")


def man(argv):
    man_parser().parse_args(argv)
    print(page(), end="")
    return 0


def _roff(text):
    """Text as roff shows it: no line of it is a request, and a hyphen is one."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)


def page():
    facts = version.facts()
    usage = (HERE / ("usage.txt" if IN_TREE else "usage_installed.txt")).read_text()
    about = usage.split("\n\n")[1]
    lines = [f'.TH MILLPOND 1 "" "millpond {facts["version"]}" "Millpond"', ".SH NAME",
             "millpond \\- Ascend (CANN) programs on an ordinary Linux CPU", ".SH SYNOPSIS", f".B {_roff(COMMAND)}",
             "COMMAND [OPTIONS]", ".SH DESCRIPTION", _roff(about), ".SH COMMANDS"]
    for name in commands.here():
        parser = commands.parser(name)
        lines += [f".SS {name}", ".nf", _roff(re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage: ")).strip()), ".fi", ".PP",
                  _roff(parser.description)]
        for action in parser._actions:
            if action.help:
                value = f" {action.metavar}" if action.metavar and action.option_strings else ""
                names = ", ".join(action.option_strings) or action.metavar or action.dest
                lines += [".TP", f".B {_roff(names + value)}", _roff(action.help.replace("%%", "%"))]
    lines += [".SH EXIT STATUS",
              _roff("run ends as the program does; check with 66 where it found an error and the program itself ended with 0. 2: the call is "
                    "wrong. 126 and 127: the program cannot be executed or is not there."),
              ".SH SEE ALSO", _roff("docs/check.md, docs/rules.md and docs/options.md of the sources.")]
    return "\n".join(lines) + "\n"
