# SPDX-License-Identifier: Apache-2.0
"""The short form of tools/no_false_alarm_tests.py: a few of the tree's suites under the checker."""

import os
import subprocess
import sys

import pytest

SECONDS = 300


@pytest.mark.parametrize("suites", ["acl_capture", "acl_memory"])
def test_suites_earn_only_the_errors_that_they_are_about(root, suites):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MILLPOND_")}
    done = subprocess.run([sys.executable, root / "tools" / "no_false_alarm_tests.py", "--only", suites], capture_output=True, text=True, env=environment,
                          timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "silent with" in done.stdout
