# SPDX-License-Identifier: Apache-2.0
"""Branches and loops of Python around GE graphs.

torch.compile cuts a function where a tensor's value decides how it goes on: each part is a GE graph, Python decides between them. torchair has no
converter for torch.cond and says so; a choice by element (torch.where) and a loop of known length stay inside one graph.
"""

import torch
from common import DEVICE, backend, report, start


def by_value(x):
    if x.sum() > 0:
        return torch.sqrt(x.abs()) + 1
    return x * x - 1


def until_small(x):
    while x.abs().max() > 1:
        x = x / 2 + 0.1
    return x.sin()


def by_element(x):
    y = x
    for i in range(3):
        y = torch.where(y > 0, y * 0.5, y - i)
    return y


def main():
    start()
    x = torch.randn(6, 7)
    for function, given in ((by_value, x.abs()), (by_value, -x.abs()), (until_small, 9 * x), (by_element, x), (by_element, -x)):
        compiled = torch.compile(function, backend=backend(), dynamic=False)
        npu = given.to(DEVICE)
        report(f"control flow {function.__name__} {'+' if given.sum() > 0 else '-'}", compiled(npu), function(npu), function(given))

    chosen = torch.compile(lambda p, a: torch.cond(p, torch.sin, torch.cos, (a,)), backend=backend(), dynamic=False)
    try:
        chosen(x.sum().to(DEVICE) > 0, x.to(DEVICE))
        print("torch.cond: compiled")
    except Exception as error:
        print("torch.cond: refused:", next(line for line in str(error).splitlines() if "cond" in line)[:200])


if __name__ == "__main__":
    main()
