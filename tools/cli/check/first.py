# SPDX-License-Identifier: Apache-2.0
"""`check --until-first`: the process with the first error ends itself; here the others of the run are ended too, which would wait for it."""

import json
import os
import signal
import time

import program

from . import model, session

GRACE = 2.0  # seconds that processes have to end by themselves, and again after SIGTERM
PATIENCE = 5 * GRACE  # what the kernel itself cannot end is left alone
PROC = "/proc"


class First:
    """Asked by program.watch now and then. The lines of the run are read once, as they come."""

    def __init__(self, lines):
        self._file = lines.variables[session.VARIABLE]
        self._offset = 0
        self._found_at = None
        self._asked_to_end = False

    def __call__(self):
        """Outcome(66) once the program was told to end: how it ended then says nothing."""
        if self._found_at is None and self._has_error():
            self._found_at = time.monotonic()
        if self._found_at is None:
            return None
        waited = time.monotonic() - self._found_at
        if waited > GRACE and not self._asked_to_end:
            self._asked_to_end = True
            self._send(signal.SIGTERM)
        if waited > 2 * GRACE:
            self._send(signal.SIGKILL)
        return program.Outcome(model.FOUND) if self._asked_to_end else None

    def end_rest(self):
        """The program has ended; what it has left behind goes as well."""
        while self._found_at is not None and time.monotonic() - self._found_at < PATIENCE and self._processes():
            self()
            time.sleep(program.LOOKS)

    def _has_error(self):
        if not self._file:
            return False
        try:
            with open(self._file, "rb") as file:
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._offset += len(line)
                    is_finding = b'"finding"' in line[:64]
                    if is_finding and json.loads(line).get("severity") == "error":
                        return True
        except (OSError, *model.MALFORMED, RecursionError):
            pass
        return False

    def _processes(self):
        """Processes of this run: those that were given the name of its file, which no other run has."""
        wanted = f"{session.VARIABLE}={self._file}".encode()
        found = []
        for name in os.listdir(PROC):
            if not name.isdecimal() or int(name) == os.getpid():
                continue
            try:
                with open(f"{PROC}/{name}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:  # gone, or not ours
                continue
        return found

    def _send(self, number):
        for process in self._processes():
            try:
                os.kill(process, number)
            except OSError:
                continue
