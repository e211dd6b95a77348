# SPDX-License-Identifier: Apache-2.0
"""./millpond, the Python half: picks the command. Standard library only; one file per command (commands.py)."""

import sys

import commands
import ui
from layout import COMMAND, HERE, IN_TREE


def usage():
    return (HERE / ("usage.txt" if IN_TREE else "usage_installed.txt")).read_text()


def main(argv):
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage(), end="")
        return 0
    if argv[0] in ("-V", "--version", "version"):
        import version
        print(version.line())
        return 0
    if argv[0] not in commands.here():
        import nearest
        known = ", ".join(commands.here())
        if argv[0] in commands.ALL:
            raise ui.Stop(f"'{argv[0]}' needs Millpond's sources: ./millpond {argv[0]} in a checkout; known here: {known}", code=2)
        raise ui.Stop(f"unknown command '{argv[0]}'{nearest.hint(argv[0], commands.here())}; known: {known}. See {COMMAND} --help", code=2)
    return commands.function(argv[0])(argv[1:])


def guarded(argv):
    """main with the sentences of those who stop it; the exit status."""
    try:
        return main(argv)
    except ui.Stop as stop:
        ui.say(str(stop))
        return stop.code
    except KeyboardInterrupt:
        ui.say("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(guarded(sys.argv[1:]))
