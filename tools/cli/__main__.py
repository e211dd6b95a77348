# SPDX-License-Identifier: Apache-2.0
"""./millpond, the Python half: picks the command. Standard library only; one file per command."""

import sys

import ui
from cmd_bench import bench
from cmd_check import check
from cmd_demo import demo
from cmd_doctor import doctor
from cmd_graph import graph
from cmd_plan import plan
from cmd_run import env, run
from cmd_test import test
from layout import HERE

COMMANDS = {"demo": demo, "test": test, "run": run, "check": check, "env": env, "doctor": doctor, "graph": graph,
            "plan": plan, "bench": bench}


def main(argv):
    if not argv or argv[0] in ("-h", "--help", "help"):
        print((HERE / "usage.txt").read_text(), end="")
        return 0
    command = COMMANDS.get(argv[0])
    if command is None:
        known = ", ".join(COMMANDS)
        raise ui.Stop(f"unknown command '{argv[0]}'; known: {known}. See ./millpond --help", code=2)
    return command(argv[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ui.Stop as stop:
        ui.say(str(stop))
        sys.exit(stop.code)
    except KeyboardInterrupt:
        ui.say("interrupted")
        sys.exit(130)
