# SPDX-License-Identifier: Apache-2.0
"""The lines of one run: the file that all its processes append to, and what they come to when the program has ended."""

import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import ui

from . import model

VARIABLE = "MILLPOND_CHECK_JSON"
FORMAT = 1


@dataclass
class Run:
    processes: list = field(default_factory=list)
    findings: list = field(default_factory=list)  # one per fingerprint, in the order in which they were made
    suppressed: dict = field(default_factory=dict)  # times, by the line of the suppression file
    expected: int = 0  # findings that are not there because tests expected them
    unreadable: int = 0
    lost: bool = False  # there was no place for lines: nothing is known, which is not the same as nothing found

    def count(self, severity):
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def has_errors(self):
        return self.count("error") > 0 or any(process.counts.get("errors") for process in self.processes)

    def notes(self):
        """What a reader must know about the lines themselves."""
        told = [f"{process.name}: {note}" for process in self.processes for note in process.notes]
        told += [f"{process.name} left no last line: it was killed, left by _exit, or still runs. Leaks were not looked for"
                 for process in self.processes if not process.ended]
        told += [f"{process.name} wrote format {process.format} and this command reads {FORMAT}: build both from one tree"
                 for process in self.processes if process.format > FORMAT]
        if self.unreadable:
            told.append(f"{self.unreadable} line(s) could not be read and are missing here; was the disk of {tempfile.gettempdir()} full?")
        return told


class Session:
    """A folder that only this user can look into, gone at the end. Without room for it the program runs all the same."""

    def __init__(self):
        try:
            self._folder = tempfile.mkdtemp(prefix="millpond-check-")
            self._file = Path(self._folder) / "lines"
            self.variables = {VARIABLE: str(self._file)}
        except OSError as error:
            ui.say(f"no folder for what the processes find ({error}): files will not be written; TMPDIR names another place")
            self._folder = None
            self.variables = {VARIABLE: ""}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)  # a child that outlived the program may still write

    def read(self):
        if self._folder is None:
            return Run(lost=True)
        try:
            with open(self._file, "rb") as file:
                return merge(file)
        except FileNotFoundError:
            return Run()


def merge(file):
    """A Run of the lines. The last one may be cut off: a process was killed, or a child that outlived the program still writes."""
    reader = _Reader()
    for line in file:
        if not line.endswith(b"\n"):
            break
        try:
            reader.take(json.loads(line.decode("utf-8", "replace")))
        except (*model.MALFORMED, RecursionError):
            reader.run.unreadable += 1
    reader.leave_out_expected()
    return reader.run


class _Reader:
    def __init__(self):
        self.run = Run()
        self.by_pid = {}  # the latest: a process that calls exec starts again under its number
        self.by_fingerprint = {}
        self.expected = {}  # times, by process and fingerprint
        self.owners = {}  # there may be a million lines with one
        self.events = {name.removeprefix("_on_"): getattr(self, name) for name in dir(self) if name.startswith("_on_")}

    def take(self, row):
        event = row["event"]
        process = self._process(int(row["pid"]), event == "start")
        if event in self.events:  # else a newer library's: not for us, and no mistake
            self.events[event](row, process)

    def _process(self, pid, starts):
        if starts or pid not in self.by_pid:
            self.by_pid[pid] = model.Process(pid, len(self.run.processes))
            self.run.processes.append(self.by_pid[pid])
        return self.by_pid[pid]

    def _on_start(self, row, process):
        process.ppid = int(row.get("ppid", 0))
        process.rank = None if row.get("rank") is None else int(row["rank"])
        process.program = model.text_of(row.get("program", ""))
        process.arguments = tuple(map(model.text_of, row.get("arguments", [])))
        process.started_ns = int(row.get("time_ns", 0))
        process.version = model.text_of(row.get("version", ""))
        process.format = int(row.get("format", 1))

    def _on_finding(self, row, process):
        made = model.Finding.of(row, process)
        if process.rank is None and row.get("rank") is not None:
            process.rank = int(row["rank"])  # known only after the start
        finding = self.by_fingerprint.setdefault(made.fingerprint, made)
        if finding is made:
            self.run.findings.append(made)
        self._count(finding, process, 1)

    def _on_again(self, row, process):
        finding = self.by_fingerprint.get(row["fingerprint"])
        if finding is None:
            raise ValueError("repeats a finding whose line is not there")
        self._count(finding, process, int(row["count"]))

    def _count(self, finding, process, total):
        if process.index not in finding.counts:
            finding.processes.append(process)
        finding.counts[process.index] = max(total, finding.counts.get(process.index, 0))

    def _on_suppressed(self, row, process):
        line = int(row["line"])
        self.run.suppressed[line] = self.run.suppressed.get(line, 0) + int(row["count"])

    def _on_expected(self, row, process):
        """A test of python/millpond's plugin wanted it."""
        key = (process.index, row["fingerprint"])
        self.expected[key] = self.expected.get(key, 0) + int(row["count"])

    def leave_out_expected(self):
        """What every test that made it expected is no finding of the run; once elsewhere, and it is."""
        for finding in self.run.findings:
            for process in list(finding.processes):
                if finding.counts[process.index] <= self.expected.get((process.index, finding.fingerprint), 0):
                    del finding.counts[process.index]
                    finding.processes.remove(process)
                    if finding.severity == "error" and process.counts:
                        process.counts["errors"] -= 1
        every = self.run.findings
        self.run.findings = [finding for finding in every if finding.processes]
        self.run.expected = len(every) - len(self.run.findings)

    def _on_memory(self, row, process):
        owner = self.owners.get(row["owner"])
        if owner is None:
            owner = self.owners[row["owner"]] = model.text_of(row["owner"])
        device = int(row.get("device", 0))
        if device >= 0:  # else the host's, which is no memory of a device
            process.memory.append((int(row["time_ns"]), device, owner, max(0, int(row["live"]))))

    def _on_live(self, row, process):
        process.live = tuple(map(model.LargeBlock.of, row["blocks"]))

    def _on_largest(self, row, process):
        process.largest = tuple(map(model.LargeBlock.of, row["blocks"]))

    def _on_end(self, row, process):
        process.ended = True
        process.counts = {key: int(row.get(key, 0)) for key in ("errors", "warnings", "advice")}
        process.tasks = max(0, int(row.get("tasks", 0)))
        process.notes = tuple(map(model.text_of, row.get("notes", [])))
