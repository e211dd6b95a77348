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


def text_of(error):
    text = str(error)
    for pattern in NOISE:
        text = pattern.sub("", text)
    text = " ".join(text.split())
    return f"{type(error).__name__}: {text}"[:MAX_TEXT]


def queue_died(reason):
    """True when the error came from torch_npu's launch queue, whose thread ends with its first error."""
    return QUEUE_DIED in reason
