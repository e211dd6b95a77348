# SPDX-License-Identifier: Apache-2.0
"""`--cann VERSION`: every package is of the CANN that the user wants to be on; one that is not there stays unknown."""

import subprocess
import sys

import pytest

ASK = """
import acl
print(acl.get_version_str("runtime"), acl.get_version_str("ops_math"), acl.get_cann_version(0)[0]["version"], acl.get_version_str("nobodys")[1] != 0)
"""


@pytest.mark.parametrize("version", ["8.5.0", "8.3.RC1"])
def test_every_package_reports_the_version_that_is_asked_for(ascend_env, tmp_path, version):
    done = subprocess.run([sys.executable, "-c", ASK], env={**ascend_env, "MILLPOND_CANN": version}, cwd=tmp_path, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.stdout == f"('{version}', 0) ('{version}', 0) {version} True\n", done.stderr
