# SPDX-License-Identifier: Apache-2.0
"""Short and stable reasons from what torch_npu says: no times, process numbers or addresses."""

import os
import re

# torch_npu says so when it runs an operator on CPU by itself.
FALLBACK = re.compile(r"operator '?(?:aten::)?([\w.]+)[^\n]*(?:fall ?back to run on the CPU|fall back to CPU)")
NOISE = (
    re.compile(r"\[ERROR\] [\d: -]+\(PID:\d+, Device:-?\d+, RankID:-?\d+\)\s*"),
    re.compile(r"\[PID: \d+\]\s*[\d\-:. ]*"),
    re.compile(r"0x[0-9a-fA-F]+"),
    re.compile(r"Exception raised from .*", re.S),
    re.compile(r"\n?C\+\+ CapturedTraceback:.*", re.S),
)
QUEUE_DIED = "The Inner error is reported as above"
MAX_TEXT = 600


class Stderr:
    """What this process writes to its stderr, a file, from now on."""

    def __init__(self):
        self.start = os.fstat(2).st_size

    def since(self):
        return os.pread(2, os.fstat(2).st_size - self.start, self.start).decode(errors="replace")


def fallbacks(said):
    """The operators that torch_npu says it sent to CPU. It says so once per operator and process."""
    return list(dict.fromkeys(FALLBACK.findall(said)))


def text_of(error, said=""):
    """The error's text; where it is a bare number, torch_npu has warned of the reason on stderr."""
    text = f"{type(error).__name__}: {cleaned(str(error))}"
    if not is_clear(text):
        warned = OURS.findall(cleaned(said))
        text += "".join(f". {name} failed. Reason: {reason}" for name, reason in warned[-1:])
    return text[:MAX_TEXT]


def cleaned(text):
    for pattern in NOISE:
        text = pattern.sub("", text)
    return " ".join(text.split())


def queue_died(reason):
    """True when the error came from torch_npu's launch queue, whose thread ends with its first error."""
    return QUEUE_DIED in reason


ABSENT = re.compile(r"only support aclnn operators, but (\w+)")
COMPILED = re.compile(r"(?:OPS function error: |working operator name is )(\w+).*aclopCompileAndExecute", re.S)
OURS = re.compile(r"(acl\w+) failed\. Reason: (?:task \w+ \(#[^)]*\): )?(.+?)(?: TraceBack|$)")
ONLY_A_NUMBER = re.compile(r"\w+: [\w ]*failed, error code: ?\d+\.?")
SHORT = 140


def short(text, aclnn_only=""):
    """One clause for a table."""
    absent = ABSENT.search(aclnn_only) or ABSENT.search(text)
    if absent:
        return f"{absent[1]} is missing"
    compiled = COMPILED.search(text)
    if compiled:
        return f"needs the operator compiler for {compiled[1]}"
    ours = OURS.search(text)
    clause = ours[2] if ours else text.partition(": ")[2] or text
    clause = re.split(r" ERR\d{5} |(?<=\w)\. (?=[A-Z])", clause)[0].rstrip(". ")
    return clause if len(clause) <= SHORT else clause[:SHORT].rsplit(" ", 1)[0] + " ..."


def is_clear(text):
    """False for an error that gives nothing but a number."""
    return not ONLY_A_NUMBER.fullmatch(text)
