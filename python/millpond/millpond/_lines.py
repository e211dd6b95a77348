# SPDX-License-Identifier: Apache-2.0
"""The checker's lines (docs/check.md has the format), read while the process that writes them runs."""

import json
import os
import re
from dataclasses import dataclass, replace

from millpond import _checker

SEVERITIES = ("error", "warning", "advice")
MALFORMED = (TypeError, ValueError, KeyError, AttributeError, RecursionError)
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
MAX_FRAMES = 12


def visible(value):
    """Names come from the program: none may move the cursor or end the line."""
    return CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", str(value)).encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class Finding:
    """One finding of a test. `count`: how often the test made it; `stacks` and `objects` are as the lines have them."""
    rule: str
    severity: str
    message: str
    advice: str
    page: str
    objects: list
    stacks: list
    fingerprint: str
    pid: int
    count: int = 1

    @staticmethod
    def of(row):
        if row["severity"] not in SEVERITIES:
            raise ValueError("not a finding")
        made = Finding(str(row["rule"]), row["severity"], str(row["message"]), str(row.get("advice", "")), str(row.get("page", "")),
                       list(row.get("objects", [])), list(row.get("stacks", [])), str(row["fingerprint"]), int(row["pid"]))
        made.text()  # what cannot be told is refused here, not in the middle of a report
        return made

    def text(self):
        """The finding as a person reads it."""
        times = f" ({self.count} times)" if self.count > 1 else ""
        lines = [visible(f"{self.severity} {self.rule}{times}: {self.message}")]
        for stack in self.stacks:
            lines.append(visible(f"  {stack.get('label') or stack.get('role') or stack.get('operation', '')}:"))
            frames = stack.get("frames", [])
            lines += [visible(f"    #{number} {frame.get('function', '')} {_place(frame)}") for number, frame in enumerate(frames[:MAX_FRAMES])]
            if len(frames) > MAX_FRAMES:
                lines.append(f"    and {len(frames) - MAX_FRAMES} more")
        if self.page:
            lines.append(visible(f'  rule: docs/rules.md, page "{self.page}"'))
        if self.advice:
            lines.append(visible(f"  do:   {self.advice}"))
        lines.append(visible(f"  fingerprint: {self.fingerprint}"))
        return "\n".join(lines)


def _place(frame):
    if frame.get("file"):
        return f"{frame['file']}:{frame.get('line', 0)}"
    return f"{frame.get('module', '')}+{frame.get('offset', '')}"


class Lines:
    """What is new in the file since the last look. `family`: only this process and those that it, or one of them, started."""

    def __init__(self, path, family):
        self._path = path
        self._offset = 0
        self._family = {os.getpid()} if family else None
        self._starts = {}  # by pid: numbers of processes come again, and a file may have lines of an earlier run
        self._first = {}  # by pid, its start and fingerprint
        self._counts = {}
        self.unreadable = 0
        self.untold = None
        self.span = {}  # the newest of this process

    def new(self, memory=False):
        """The findings that were made since the last call, each with how often. memory: asks for a new span, too."""
        _checker.tell(memory)
        made = {}
        for line in self._whole_lines():
            try:
                self._take(json.loads(line.decode("utf-8", "replace")), made)
            except MALFORMED:
                self.unreadable += 1
        return [replace(self._first[key], count=count) for key, count in made.items() if count > 0]

    def tell_expected(self, findings):
        """Lines for `millpond check`, which takes no expected finding for an error."""
        rows = [{"event": "expected", "pid": each.pid, "fingerprint": each.fingerprint, "count": each.count} for each in findings]
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                os.write(handle, "".join(json.dumps(row) + "\n" for row in rows).encode())
            finally:
                os.close(handle)
        except OSError as error:
            self.untold = error

    def _whole_lines(self):
        """A last line without its end is still being written, and waits for the next call."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return []  # no process has used the runtime yet
        whole = text[:text.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()

    def _take(self, row, made):
        event, pid = row["event"], int(row["pid"])
        if event == "start":
            if self._family is not None and int(row.get("ppid", 0)) in self._family:
                self._family.add(pid)
            self._starts[pid] = self._starts.get(pid, 0) + 1
        if event == "span" and pid == os.getpid():
            self.span = row
        if event not in ("finding", "again") or (self._family is not None and pid not in self._family):
            return
        key = (pid, self._starts.get(pid, 0), str(row["fingerprint"]))
        if event == "finding":
            self._first[key] = Finding.of(row)
        count = max(int(row.get("count", 1)), self._counts.get(key, 0)) if key in self._first else 0
        made[key] = made.get(key, 0) + count - self._counts.get(key, 0)
        self._counts[key] = count
