# SPDX-License-Identifier: Apache-2.0
"""Made-up entries that misbehave in every way the suite must see; prints {name: state} as JSON.

    harness_check.py [cpu | npu]

On cpu each entry is called first for the reference and then as the device; on npu the tensor says which.
"""

import json
import os
import signal
import sys
import time

import run


class Entry:
    """As much of an OpInfo as the judge uses."""
    decorators = ()
    has_nondeterministic_output = False

    def __init__(self, name, call, reference=lambda x: x * 2):
        self.name, self.call, self.reference = name, call, reference
        self.calls = 0

    def sample_inputs(self, device, dtype, requires_grad):
        import torch
        from torch.testing._internal.opinfo.core import SampleInput
        generator = torch.Generator().manual_seed(3)
        yield SampleInput(torch.randn(5, 7, generator=generator).to(dtype).requires_grad_(requires_grad))

    def __call__(self, x):
        self.calls += 1
        on_device = x.device.type != "cpu" or self.calls % 2 == 0
        return (self.call if on_device else self.reference)(x)


def die(x):
    os.kill(os.getpid(), signal.SIGSEGV)


def refuse(x):
    raise RuntimeError("aclnnMadeUp failed. Reason: it is made up")


def change_input(x):
    result = x * 2
    x.detach().add_(1)
    return result


def fall_back(x):
    os.write(2, b"Warning: CAUTION: The operator 'aten::made_up' is not currently supported on the NPU backend and will fall back "
                b"to run on the CPU.\n")
    return x * 2


def never_the_same(x):
    import torch
    return torch.rand(x.shape, generator=torch.Generator().manual_seed(time.monotonic_ns() % (1 << 40)))


def entries_for(device):
    import torch
    if device == "npu":
        return [Entry("right", lambda x: x * 2), Entry("did_nothing", lambda x: torch.empty_like(x)),
                Entry("did_nothing_again", lambda x: torch.empty_like(x)), Entry("wrong_value", lambda x: x * 2.001)]
    draw, normal = (lambda x: torch.rand(x.shape)), (lambda x: torch.randn(x.shape))
    return [
        Entry("right", lambda x: x * 2), Entry("wrong_value", lambda x: x * 2.001), Entry("nan", lambda x: x * float("nan")),
        Entry("wrong_shape", lambda x: (x * 2)[:4]), Entry("wrong_type", lambda x: (x * 2).double()),
        Entry("two_outputs", lambda x: (x * 2, x)), Entry("no_tensor", lambda x: 2.0), Entry("refused", refuse),
        Entry("changes_input", change_input), Entry("crash", die), Entry("hang", lambda x: time.sleep(600)),
        Entry("cpu", fall_back), Entry("no_reference", lambda x: x, reference=refuse), Entry("random", draw, draw),
        Entry("random_never_the_same", never_the_same, draw), Entry("random_same_for_all_seeds", torch.zeros_like, draw),
        Entry("random_other_distribution", normal, draw),
    ]


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    options = run.parse(["--device", device, "--seconds", "3"])
    run.in_our_environment(options)
    import workers
    import judge
    import pairs
    if device == "npu":
        import torch_npu  # noqa: F401
    known = {entry.name: entry for entry in entries_for(device)}
    states = {}

    def serve(job, tell):
        pair = pairs.Pair(job["op"], "float32", job["direction"])
        return judge.Comparison(known[job["op"]], pair, device).verdict(8, lambda index: tell({"sample": index}))
    jobs = [{"op": name, "direction": "forward"} for name in known]
    jobs += [{"op": name, "direction": "backward"} for name in ("right", "wrong_value")]
    workers.STARTING = 20.0 if device == "npu" else 1.0
    workers.run_all(jobs, serve, 2, options.seconds,
                    lambda job, result: states.update({f"{job['op']} {job['direction']}": result["state"]}))
    print(json.dumps(states))


if __name__ == "__main__":
    main()
