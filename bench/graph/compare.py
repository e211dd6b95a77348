#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ResNet-50, BERT-base and GPT-2 small, one sample at a time, with one runtime; JSON lines for bench/run.py.

Every runtime gets the same ONNX file (models.py) and the same inputs, with 1 and 2 threads; its result is held against
that of the first that ran. `ours` is the program mp_bench_graph_ours, in a process of its own for each figure.
"""

import argparse
import contextlib
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

SKIP = 77
THREADS = (1, 2)
RUNS = {"resnet50": 15, "bert": 7, "gpt2": 7}
TOLERANCE = 1e-3  # of the largest number in the result: float32 sums in another order


def skip(reason):
    print(reason, file=sys.stderr)
    raise SystemExit(SKIP)


try:
    import numpy

    import models
except ImportError as error:
    skip(f"no numpy or onnx in {sys.executable}: {error}")


class Case:
    """A model's file and inputs. `shapes`: of the first input, the later ones for models that take any."""

    def __init__(self, name, folder, tiny, dynamic=False):
        self.name = name
        self.file = models.ready(name + ("_dynamic" if dynamic else ""), folder, tiny)
        self.folder = self.file.parent
        self.shapes = [(1, 3, 224, 224), (2, 3, 160, 192)] if name == "resnet50" else [(1, 128), (1, 96)]

    def feed(self, number=0):
        random = numpy.random.default_rng(7 + number)
        shape = self.shapes[number]
        if self.name == "resnet50":
            return {"x": random.standard_normal(shape, dtype=numpy.float32)}
        ids = {"ids": random.integers(0, models.MIN_WORDS, shape, dtype=numpy.int64)}
        if self.name == "gpt2":
            return ids
        mask = numpy.ones(shape, numpy.int64)
        mask[:, shape[1] - 28:] = 0
        return {**ids, "mask": mask}

    def check(self, subject, result):
        """The first runtime's result is the reference of the others."""
        reference = self.folder / f"{self.file.stem}.reference.npy"
        if not reference.exists():
            numpy.save(reference, result)
            return
        expected = numpy.load(reference)
        worst = float(numpy.abs(result.reshape(expected.shape) - expected).max())
        if not worst <= TOLERANCE * float(numpy.abs(expected).max()):
            raise SystemExit(f"{subject} computes {self.file.name} wrong: off by {worst:g} (reference: {reference})")


@contextlib.contextmanager
def neighbour():
    """A process that does nothing but compute."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.2)
        yield
    finally:
        process.kill()
        process.wait()


def milliseconds(action):
    start = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - start)


def repeated(run, feed, count):
    times = [milliseconds(lambda: run(feed)) for _ in range(count + count // 4)]
    return statistics.median(times[count // 4:])


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


class Peer:
    """A runtime within this process."""

    def __init__(self, subject):
        self.subject = subject
        self._load = getattr(self, f"_{subject}")
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # plain torch, without the wheel
        try:
            importlib.import_module("torch" if subject == "eager" else subject)
        except ImportError as error:
            skip(f"no {subject} in {sys.executable} ({error}); ./millpond bench graph installs it")

    @staticmethod
    def _onnxruntime(case, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(case.file), options, providers=["CPUExecutionProvider"])
        return lambda feed: session.run(None, feed)[0]

    @staticmethod
    def _openvino(case, threads):
        import openvino

        settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
        request = openvino.Core().compile_model(str(case.file), "CPU", settings).create_infer_request()
        return lambda feed: request.infer(list(feed.values()))[0]

    @staticmethod
    def _eager(case, threads):
        import eager

        return eager.load(case.name, case.file, threads)

    def measure(self, case, threads, runs):
        """Yields (metric, milliseconds)."""
        before = resident()
        holder = []
        yield "first", milliseconds(lambda: holder.append(self._first(case, threads)))
        run, feed = holder[0], case.feed()
        yield "repeat", repeated(run, feed, runs)
        yield "resident", resident() - before
        if threads == max(THREADS) and self.subject != "eager":
            with neighbour():
                yield "busy", repeated(run, feed, runs)

    def _first(self, case, threads):
        run = self._load(case, threads)
        case.check(self.subject, run(case.feed()))
        return run

    def shapes(self, case, threads, runs):
        run = self._load(case, threads)
        first, second = case.feed(), case.feed(1)
        run(first)
        yield "repeat", repeated(run, first, runs)
        yield "new_shape", milliseconds(lambda: run(second))
        yield "repeat_1", repeated(run, second, runs)


class Ours:
    subject = "ours"

    def __init__(self, program):
        self._program = program

    def run(self, case, threads, runs, sets=1, **environment):
        inputs = []
        for number in range(sets):
            parts = []
            for name, value in case.feed(number).items():
                path = case.folder / f"{case.file.stem}.{name}.{number}.bin"
                value.tofile(path)
                kind = "i64" if value.dtype == numpy.int64 else "f32"
                parts.append(f"{kind}:{'x'.join(map(str, value.shape))}:{path}")
            inputs.append(",".join(parts))
        output = case.folder / f"{case.file.stem}.ours.bin"
        done = subprocess.run([self._program, "--model", case.file, "--inputs", ";".join(inputs), "--output", output,
                               "--runs", str(runs)], capture_output=True, text=True, check=False,
                              env={**os.environ, "OMP_NUM_THREADS": str(threads), **environment})
        if done.returncode != 0:
            raise SystemExit(f"mp_bench_graph_ours ended with {done.returncode}: {done.stderr.strip()}")
        case.check(self.subject, numpy.fromfile(output, numpy.float32))
        return {line["metric"]: line["value"] for line in map(json.loads, done.stdout.splitlines())}

    def measure(self, case, threads, runs):
        found = self.run(case, threads, runs)
        found["first"] += found["parse"]
        yield from ((metric, found[metric]) for metric in ("first", "repeat", "resident", "features"))
        if threads != max(THREADS):
            return
        with neighbour():
            yield "busy", self.run(case, threads, runs)["repeat"]
        trace = case.folder / "trace.json"
        self.run(case, threads, runs, MILLPOND_TRACE=str(trace))
        yield "overhead", overhead(trace)

    def shapes(self, case, threads, runs):
        found = self.run(case, threads, runs, sets=2)
        return [("repeat", found["repeat"]), ("new_shape", found["new_shape_1"]), ("repeat_1", found["repeat_1"])]


def overhead(path):
    """What of a graph's run is not its kernels', in percent: the median over the runs of a trace."""
    events = [event for event in json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
              if event.get("ph") == "X" and event.get("cat") == "task"]
    shares = []
    for whole in (event for event in events if event["name"] == "GraphExecute"):
        end = whole["ts"] + whole["dur"]
        inside = sum(event["dur"] for event in events
                     if event is not whole and whole["ts"] <= event["ts"] and event["ts"] + event["dur"] <= end + 1)
        shares.append(100 * (whole["dur"] - inside) / whole["dur"])
    return statistics.median(shares)


def apart(action, *arguments):
    """In a process of its own: a runtime's memory and threads end with it."""
    child = os.fork()
    if child == 0:
        try:
            action(*arguments)
            os._exit(0)
        except SystemExit as failure:
            print(failure, file=sys.stderr, flush=True)
        except Exception:
            traceback.print_exc()
        os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit(1)


def say(subject, metric, unit, value):
    print(json.dumps({"subject": subject, "metric": metric, "unit": unit, "value": value}), flush=True)


def report(runtime, case, threads, runs):
    found = dict(runtime.measure(case, threads, runs))
    say(runtime.subject, f"{case.name}_{threads}t", "ms", found["repeat"])
    if threads != max(THREADS):
        return
    say(runtime.subject, f"{case.name}_first", "ms", found["first"])
    if "busy" in found:
        say(runtime.subject, f"{case.name}_busy", "ms", found["busy"])
        say(runtime.subject, f"{case.name}_busy_over_quiet", "x", found["busy"] / found["repeat"])
    if "overhead" in found:
        say(runtime.subject, f"{case.name}_overhead", "%", found["overhead"])
    weights = case.file.stat().st_size
    say(runtime.subject, f"{case.name}_memory_over_weights", "x", found["resident"] / weights)
    if "features" in found:
        allowed = 1.2 * weights + 1.1 * found["features"]
        say(runtime.subject, f"{case.name}_memory_over_allowed", "x", found["resident"] / allowed)


def report_shapes(runtime, case, runs):
    found = dict(runtime.shapes(case, max(THREADS), runs))
    say(runtime.subject, f"{case.name}_dynamic_repeat", "ms", found["repeat"])
    say(runtime.subject, f"{case.name}_dynamic_new_shape", "ms", found["new_shape"])
    say(runtime.subject, f"{case.name}_dynamic_new_over_repeat", "x", found["new_shape"] / found["repeat_1"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subject", choices=["ours", "onnxruntime", "openvino", "eager"], required=True)
    parser.add_argument("--program", help="mp_bench_graph_ours")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where the models are, or are made")
    parser.add_argument("--smoke", action="store_true", help="tiny models, one run of each")
    arguments = parser.parse_args()
    runtime = Ours(arguments.program) if arguments.subject == "ours" else Peer(arguments.subject)
    for name, runs in RUNS.items():
        runs = 1 if arguments.smoke else runs
        case = Case(name, arguments.folder, arguments.smoke)
        for threads in THREADS:
            apart(report, runtime, case, threads, runs)
        if arguments.subject != "eager":
            apart(report_shapes, runtime, Case(name, arguments.folder, arguments.smoke, dynamic=True), runs)


if __name__ == "__main__":
    main()
