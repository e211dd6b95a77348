# SPDX-License-Identifier: Apache-2.0
"""Short and stable reasons from what torch_npu says: no times, process numbers or addresses."""

import re

# torch_npu says so when it runs an operator on CPU by itself.
FALLBACK = re.compile(r"operator '?(?:aten::)?([\w.:]+)'?.*(?:fall ?back to run on the CPU|fall back to CPU)", re.S)
NOISE = (
    re.compile(r"\[ERROR\] [\d: -]+\(PID:\d+, Device:-?\d+, RankID:-?\d+\)\s*"),
    re.compile(r"\[PID: \d+\]\s*[\d\-:. ]*"),
    re.compile(r"0x[0-9a-fA-F]+"),
    re.compile(r"Exception raised from .*", re.S),
    re.compile(r"\n?C\+\+ CapturedTraceback:.*", re.S),
)
QUEUE_DIED = "The Inner error is reported as above"
MAX_TEXT = 600


def fallbacks(caught):
    """The operators that torch_npu sent to CPU, from the warnings of one call."""
    names = []
    for warning in caught:
        match = FALLBACK.search(str(warning.message))
        if match and match[1] not in names:
            names.append(match[1])
    return names


def text_of(error):
    text = str(error)
    for pattern in NOISE:
        text = pattern.sub("", text)
    text = " ".join(text.split())
    return f"{type(error).__name__}: {text}"[:MAX_TEXT]


def queue_died(reason):
    """True when the error came from torch_npu's launch queue, whose thread ends with its first error."""
    return QUEUE_DIED in reason
