# SPDX-License-Identifier: Apache-2.0
"""`check --explore N`: runs the program again under orders that hold back the earlier of two operations that nothing orders, to show
what that does. Shown is: the program ends otherwise, or prints something else, than in a run that nobody disturbs."""

import contextlib
import hashlib
import os
import random
import shlex
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

import program
import ui

from . import places, summary

VARIABLE = "MILLPOND_SCHEDULE"
MAX_HELD = 8  # orders of a finding that are aimed
CHANGES = 2  # a mistake of three events is met too
USUAL_STEPS = 1000  # of a program whose end is not known
PATIENCE = 60  # seconds for a run, or ten times what an undisturbed one takes
MAX_COMPARED = 16 << 20  # bytes of output that are looked at line by line
# A circle of waits is a deadlock in every order.
NO_ORDER = {"MP606"}


@dataclass(frozen=True)
class Result:
    status: int  # negative: the signal, as subprocess has it
    out: object  # digests
    err: object
    text: bytes = b""  # of standard output, if it is not too long
    seconds: float = 0.0
    ended: bool = True


def held(finding):
    """Orders that hold the earlier operation of a finding back, and then each task behind it on its stream: a block may be written first and
    read next, and only the reader is hurt. None if the earlier operation is no task."""
    for lane in finding.lanes if finding.rule not in NO_ORDER else ():
        earlier = next((task.count for task in lane.tasks if task.mark == "earlier" and lane.stream >= 0 and task.count > 0), None)
        if earlier is not None:
            return [f"hold:{lane.stream}:{count}" for count in sorted({task.count for task in lane.tasks}) if count >= earlier][:MAX_HELD]
    return []


def drawn(number, steps):
    """One of the random orders: everybody's priority from a seed, and steps after which whoever made them waits for all others."""
    draw = random.Random(number)
    changes = sorted(draw.sample(range(1, steps + 1), min(CHANGES, steps)))
    return written(number, changes)


def written(seed, changes):
    return f"pct:{seed}" + (":" + ",".join(map(str, changes)) if changes else "")


def shorter(schedule):
    """The same with one change less, each in turn."""
    kind, seed, *rest = schedule.split(":")
    changes = [int(step) for step in rest[0].split(",")] if kind == "pct" and rest else []
    return [written(seed, changes[:i] + changes[i + 1:]) for i in range(len(changes))]


class Explorer:
    def __init__(self, command, variables, base):
        self._command = command
        self._file = program.find(command[0], variables)
        self._base = base
        dropped = ("MILLPOND_CHECK", "MILLPOND_REPORT", "MILLPOND_SEED", "MILLPOND_TRACE", VARIABLE)
        self._variables = {name: value for name, value in variables.items() if not name.startswith(dropped)}
        self._patience = PATIENCE

    def explore(self, run, limit):
        """Tells what was shown; the findings have it afterwards as `witness`. True if there is anything new."""
        targets = [(finding, held(finding)) for finding in run.findings]
        targets = [(finding, own) for finding, own in targets if own]
        if not targets:
            ui.say("check: explore: no finding is about the order of tasks, so there is no other order to try")
            return False
        try:
            return self._explore(run, targets, limit)
        except KeyboardInterrupt:
            ui.say("check: explore: interrupted")
            return any(finding.witness for finding, _ in targets)

    def _explore(self, run, targets, limit):
        references = [self._once(None), self._once(None)]
        if not all(reference.ended for reference in references):
            ui.say(f"check: explore: the program alone does not end within {self._patience} s; nothing was tried")
            return False
        self._patience = max(PATIENCE, 10 * max(reference.seconds for reference in references))
        if references[0].status != references[1].status:
            ui.say("check: explore: two undisturbed runs end in different ways already: the order matters, and no other was tried")
            return False
        tried = self._try_all(run, targets, limit, references)
        self._sum_up(targets, references, tried)
        return any(finding.witness for finding, _ in targets)

    def _try_all(self, run, targets, limit, references):
        steps = max((2 * process.tasks for process in run.processes if process.tasks), default=USUAL_STEPS)
        tried = unended = 0
        # The first of each finding before the second of any.
        schedules = [*dict.fromkeys(own[rank] for rank in range(MAX_HELD) for _, own in targets if rank < len(own))]
        while tried < limit and not all(finding.witness for finding, _ in targets):
            schedule = schedules[tried] if tried < len(schedules) else drawn(tried - len(schedules), steps)
            tried += 1
            result = self._once(schedule)
            unended += not result.ended
            difference = self._difference(references, result)
            if not difference:
                continue
            schedule, difference = self._shrunk(schedule, difference, references)
            for finding, own in targets:
                # A random order shows that the result depends on it, and on one of the findings only if there is but one.
                if not finding.witness and (schedule in own or schedule.startswith("pct:")):
                    finding.witness = {"schedule": schedule, "shown": difference, "sure": schedule in own or len(targets) == 1}
        if unended:
            ui.say(f"check: explore: {summary.plural(unended, 'run')} did not end within {self._patience:.0f} s and {'was' if unended == 1 else 'were'} stopped, "
                   "which shows nothing")
        return tried

    def _shrunk(self, schedule, difference, references):
        """Without the changes that it does not take."""
        progress = True
        while progress:
            progress = False
            for candidate in shorter(schedule):
                found = self._difference(references, self._once(candidate))
                if found:
                    schedule, difference, progress = candidate, found, True
                    break
        return schedule, difference

    def _sum_up(self, targets, references, tried):
        if references[0].out != references[1].out:
            ui.say("check: explore: what the program prints differs between two undisturbed runs and was not compared")
        shown = [finding for finding, _ in targets if finding.witness]
        for finding in shown:
            (_, frame), _ = places.of(finding, self._base)
            where = f" at {places.short(frame)}" if frame else ""
            doubt = "" if finding.witness["sure"] else ", or another finding, which this order cannot tell apart"
            ui.say(summary.visible(f"check: explore: {finding.rule}{where}{doubt}: with {finding.witness['schedule']} {finding.witness['shown']}"))
        for schedule in dict.fromkeys(finding.witness["schedule"] for finding in shown):
            ui.say(summary.visible(f"check: explore: again: ./millpond run --schedule {schedule} -- {shlex.join(self._command)}"))
        if len(shown) < len(targets):
            ui.say(f"check: explore: {summary.plural(tried, 'order')} tried; for {summary.plural(len(targets) - len(shown), 'finding')} none changed how the program "
                   "ends or what it prints: an effect was not shown, which does not make the program right")

    def _difference(self, references, result):
        """In words, or None."""
        before = references[0]
        if not result.ended:
            return None
        if result.status != before.status:
            return f"the program {_ended(result.status)} instead of {_ended(before.status).replace('was ended', 'being ended').replace('exited', 'exiting')}"
        if result.out != before.out and references[0].out == references[1].out:
            return "the program prints something else" + _first_difference(before.text, result.text)
        if result.err != before.err and references[0].err == references[1].err:
            return "the program prints something else on standard error"
        return None

    def _once(self, schedule):
        variables = {**self._variables, **({VARIABLE: schedule} if schedule else {})}
        began = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            # A session of its own: what does not end is stopped with all its children.
            with subprocess.Popen(self._command, executable=self._file, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True) as process:
                ended = True
                try:
                    process.wait(self._patience)
                except subprocess.TimeoutExpired:
                    ended = False
                finally:
                    _stop(process.pid)
            return Result(process.returncode, _digest(out), _digest(err), _text(out), time.monotonic() - began, ended)


def _stop(group):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _digest(file):
    file.seek(0)
    return hashlib.file_digest(file, "sha256").digest()


def _text(file):
    file.seek(0, os.SEEK_END)
    if file.tell() > MAX_COMPARED:
        return b""
    file.seek(0)
    return file.read()


def _ended(status):
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with {status}"


def _first_difference(before, after):
    """: line 3 is 'b' instead of 'a'."""
    old, new = ([line.decode("utf-8", "replace") for line in text.split(b"\n")] for text in (before, after))
    for number, (was, now) in enumerate(zip([*old, ""] if len(old) < len(new) else old, [*new, ""] if len(new) < len(old) else new), 1):
        if was != now:
            return f": line {number} is '{now[:80]}' instead of '{was[:80]}'"
    return ""
