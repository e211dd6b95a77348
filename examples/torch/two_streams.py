# SPDX-License-Identifier: Apache-2.0
"""Two streams: one makes data, the other uses it, joined by events; record_stream keeps memory until both are done.

On a CPU the same sums are done in order.
"""

import contextlib

import torch

from common import arguments, synchronize

ROUNDS = 20
SIZE = 512


def in_order(device, weight, inputs):
    total = torch.zeros(SIZE, SIZE, device=device)
    for batch in inputs:
        total += torch.relu(batch.to(device) @ weight)
    return total


def on_two_streams(device, weight, inputs):
    makes, uses = torch.npu.Stream(device), torch.npu.Stream(device)
    total = torch.zeros(SIZE, SIZE, device=device)
    for stream in (makes, uses):
        stream.wait_stream(torch.npu.current_stream(device))
    for batch in inputs:
        with torch.npu.stream(makes):
            product = batch.pin_memory().to(device, non_blocking=True) @ weight
            ready = makes.record_event()
        with torch.npu.stream(uses):
            uses.wait_event(ready)
            total += torch.relu(product)
        # The block came from `makes`; without this line it could be reused while `uses` still reads it.
        product.record_stream(uses)
        del product
    torch.npu.current_stream(device).wait_stream(uses)
    return total


@contextlib.contextmanager
def timed():
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    begin.record()
    yield
    end.record()
    end.synchronize()
    print(f"the events say it took {'some' if begin.elapsed_time(end) > 0 else 'no'} time")


def main():
    options = arguments(__doc__)
    weight = torch.randn(SIZE, SIZE).to(options.device)
    inputs = [torch.randn(SIZE, SIZE) for _ in range(ROUNDS)]
    expected = in_order(options.device, weight, inputs)
    if options.device.type == "npu":
        with timed():
            total = on_two_streams(options.device, weight, inputs)
        print("two streams give what one gives:", torch.allclose(total, expected, rtol=1e-5, atol=1e-3))
    synchronize(options.device)
    print(f"sum {expected.sum(dtype=torch.float64).item():.6g} on {options.device}")


if __name__ == "__main__":
    main()
