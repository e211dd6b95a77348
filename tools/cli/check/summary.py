# SPDX-License-Identifier: Apache-2.0
"""The end of a checked run, for the terminal. The processes have printed the first error in full and a line for each other."""

import re

from . import places, rules

MAX_LINES = 40
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def visible(text):
    """Names come from the program: none may move the cursor or end the line."""
    return CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def plural(count, word):
    return f"{count} {word}{'' if count == 1 or word == 'advice' else 's'}"


def lines(run, unused, suppress_file, base):
    """What to say, a line each."""
    if run.lost:
        return ["check: nothing is known of what was found: there was no place for it (see above)"]
    if not run.processes:
        return ["check: no process of the program used the runtime, so nothing was checked"]
    told = [f"check: {', '.join(plural(run.count(severity), severity) for severity in ('error', 'warning', 'advice'))} "
            f"in {len(run.processes)} process{'' if len(run.processes) == 1 else 'es'}"]
    told += [_line(finding, base) for finding in run.findings[:MAX_LINES]]
    if len(run.findings) > MAX_LINES:
        told.append(f"  and {len(run.findings) - MAX_LINES} more: --json, --html")
    if run.expected:
        told.append(f"check: {plural(run.expected, 'finding')} left out: tests expected {'it' if run.expected == 1 else 'them'}")
    if run.suppressed:
        told.append(f"check: {plural(sum(run.suppressed.values()), 'time')} suppressed by {suppress_file}")
    told += [f"check: {suppress_file}, line {number} matched nothing: {visible(line)}" for number, line in unused.items()]
    told += [f"check: {visible(note)}" for note in run.notes()]
    return told


def _line(finding, base):
    (_, frame), _ = places.of(finding, base)
    rule = rules.by_id().get(finding.rule)
    where = f" at {places.short(frame)}" if frame else ""
    processes = f" in {len(finding.processes)} processes" if len(finding.processes) > 1 else ""
    times = f" ({plural(finding.count, 'time')}{processes})" if finding.count > 1 else ""
    return visible(f"  {finding.severity} {finding.rule} {rule.name if rule else ''}{where}{times}: {finding.message}")
