# SPDX-License-Identifier: Apache-2.0
"""The states of pairs, their table, and the files they are kept in.

pass     every sample gives what CPU gives
cpu      the same, but torch_npu itself sent part of the work to CPU
refused  an error with a reason
differs  another result than CPU's, because the wheel asks for another one: reviewed, see wheel_differs.tsv
wrong    another result than CPU's
crash    the process ended
hang     no answer in time
none     CPU itself refuses every sample: not counted
"""

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pairs import BACKWARD, FORWARD, Pair

STATES = ("pass", "cpu", "refused", "differs", "wrong", "crash", "hang", "none")
FAILING = ("wrong", "crash", "hang")
# Of the pairs that torch_npu does not send to CPU, this share must pass. A ratchet: the figure of the last run, rounded down to a
# tenth; it only goes up (test_conformance.py says when).
FLOAT32_FORWARD, FLOAT32_BACKWARD, OTHERS = "float32 forward", "float32 backward", "other types forward"
MIN_PERCENT = {FLOAT32_FORWARD: 95.3, FLOAT32_BACKWARD: 96.5, OTHERS: 95.0}
ACLNN = re.compile(r"\b(aclnn\w+|aclStft|aclRfft1D)\b")
GE_TYPE = re.compile(r"(?:OPS function error: |working operator name is )(\w+)")


@dataclass
class Record:
    pair: Pair
    state: str
    sample: int
    reason: str
    counts: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)
    aclnn_only_reason: str = ""
    queue_died: bool = False
    complaints: list = field(default_factory=list)
    wrong_samples: list = field(default_factory=list)


@dataclass(frozen=True)
class Known:
    """One line of wheel_differs.tsv."""
    op: str
    dtype: str
    direction: str
    complaint: str  # a regular expression that every complaint about the pair must match
    reason: str
    calls: str  # the kernels that the sample launched, the evidence that the wheel asked for just this

    def covers(self, record):
        return (self.op == record.pair.op and (self.dtype == "*" or record.pair.dtype in self.dtype.split(","))
                and self.direction == record.pair.direction)

    def explains(self, record):
        return self.covers(record) and all(re.fullmatch(self.complaint, text) for text in record.complaints)


class Differs:
    """The reviewed list of pairs where the wheel itself asks for another result than CPU gives."""

    def __init__(self, rows):
        self.rows = rows
        self.used = {}

    def apply(self, record):
        for row in self.rows:
            if record.state == "wrong" and row.explains(record):
                self.used.setdefault(row, []).append(record)
                record.state, record.reason = "differs", row.reason

    def stale(self, records):
        """Complaints about the list: lines that explain nothing any more, evidence that is not what was recorded."""
        judged = {record.pair.op for record in records}
        for row in self.rows:
            if row.op in judged and row not in self.used:
                yield f"{row.op} {row.dtype} {row.direction} does not differ in this way any more; remove or correct the line"
            for record in self.used.get(row, ()):
                if record.calls and row.calls != " ".join(record.calls):
                    yield f"{record.pair} launched {' '.join(record.calls)}; the line says {row.calls}"


def read_differs(path):
    rows = []
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) != 6 or not all(columns):
                raise SystemExit(f"{path}:{number}: needs six columns: op, dtype, direction, complaint, reason, calls")
            rows.append(Known(*columns))
    return Differs(rows)


def write_json(path, records):
    Path(path).write_text(json.dumps([{**asdict(record), "pair": asdict(record.pair)} for record in records], indent=1) + "\n")


def read_json(path):
    return [Record(**{**row, "pair": Pair(**row["pair"])}) for row in json.loads(Path(path).read_text())]


def group(pair):
    if pair.dtype != "float32":
        return OTHERS
    return FLOAT32_BACKWARD if pair.direction == BACKWARD else FLOAT32_FORWARD


def count(records):
    counted = Counter(record.state for record in records)
    return {state: counted[state] for state in STATES}


def percent(counted):
    """Of the pairs that are checked and not sent to CPU, the share that passes."""
    judged = sum(number for state, number in counted.items() if state not in ("cpu", "none"))
    return 100.0 * counted["pass"] / judged if judged else 100.0


def table(records):
    columns = [state for state in STATES if state != "none"]
    rows = [("pairs", *columns, "pass %", "needed")]

    def add(name, chosen, needed=""):
        if chosen:
            counted = count(chosen)
            rows.append((name, *(str(counted[state]) for state in columns), f"{percent(counted):.1f}", needed))
    for name, least in MIN_PERCENT.items():
        add(name, [record for record in records if group(record.pair) == name], f"{least:.1f}")
    for dtype in dict.fromkeys(record.pair.dtype for record in records if record.pair.dtype != "float32"):
        add(f"  {dtype}", [r for r in records if r.pair.dtype == dtype and r.pair.direction == FORWARD])
    add("all", records)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def line(record):
    text = f"{record.state}: {record.pair}, sample {record.sample}: {record.reason}"
    return text + (f"\n    calls: {' '.join(record.calls)}" if record.calls else "")


def blamed(record):
    """The missing function that a refused pair names, as well as the texts tell."""
    for text in (record.aclnn_only_reason, record.reason):
        names = ACLNN.findall(text)
        if names:
            return names[0].removesuffix("GetWorkspaceSize")
    match = GE_TYPE.search(record.reason)
    return f"GE type {match[1]}" if match else "other: " + (record.reason or "?")[:110]


def missing(records):
    """Names ranked by how many pairs they refuse; the first one only, for a second may hide behind it."""
    refused = {}
    for record in records:
        if record.state == "refused":
            refused.setdefault(blamed(record), []).append(record.pair)
    lines = ["refused pairs: float32 forward, backward, others; what is missing (ops)"]
    for name, found in sorted(refused.items(), key=lambda item: (-len(item[1]), item[0])):
        ops = list(dict.fromkeys(pair.op for pair in found))
        groups = Counter(group(pair) for pair in found)
        lines.append(f"{len(found):5}: {groups[FLOAT32_FORWARD]:3} {groups[FLOAT32_BACKWARD]:3} {groups[OTHERS]:3}  {name}"
                     f"  ({', '.join(ops[:6])}{f' and {len(ops) - 6} more' if len(ops) > 6 else ''})")
    return "\n".join(lines)
