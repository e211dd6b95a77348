# SPDX-License-Identifier: Apache-2.0
"""`plan`: builds what is missing, then execs the planner (tools/plan), so exit status and output are its own."""

import os

import ensure
from layout import ASCEND


def plan(argv):
    ensure.ready()
    program = str(ASCEND / "bin" / "millpond-plan")
    os.execv(program, [program, *argv])
