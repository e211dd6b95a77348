# SPDX-License-Identifier: Apache-2.0
"""A real browser for the pages: packaging/debian-packages-lint.txt has one, so a page that is not run is a failure, not a skip."""

import shutil
import subprocess

import pytest


def _run(page, *options):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.fail("no browser; packaging/debian-packages-lint.txt names chromium, ./millpond test installs it")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={page.parent / 'browser'}",
               "--virtual-time-budget=5000", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def rendered(page, *options, fragment=""):
    """The page as the browser has it after its scripts ran."""
    done = _run(page, *options, "--dump-dom", page.as_uri() + fragment)
    assert "<html" in done.stdout, f"the browser does not run here: {done.stderr.strip()[-300:]}"
    return done.stdout
