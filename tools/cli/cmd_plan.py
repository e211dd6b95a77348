# SPDX-License-Identifier: Apache-2.0
"""`plan`: builds what is missing, then becomes the program that plans (tools/plan), so exit status and words are its own."""

import os

import ensure
from layout import ASCEND


def plan(argv):
    ensure.ready()
    program = str(ASCEND / "bin" / "millpond-plan")
    os.execv(program, [program, *argv])
