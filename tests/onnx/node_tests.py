#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the node tests of the onnx package through parse -> session -> compare.

    node_tests.py --runner FILE [--only PATTERN] [--json FILE] [--verbose]

Each test ends as pass, wrong (an answer that is not the expected one), refused (an error that says why) or crash. Exit 1 when one is wrong
or crashed, or fewer pass than --least. The models run in worker processes, many in each; one that dies loses one test.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

# Numbers of ge::DataType by numpy's names (ml_dtypes has the narrow ones).
TYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8, "int64": 9, "uint64": 10,
         "float64": 11, "bool": 12, "complex64": 16, "complex128": 17, "bfloat16": 27, "float8_e5m2": 35, "float8_e4m3fn": 36, "float8_e8m0fnu": 37}
NAMES = {number: name for name, number in TYPES.items()}
# ONNX types that sessions are fed in bytes, one element in each: numbers, or a small float's bits (docs/onnx.md).
BYTES = {"uint4": "uint8", "uint2": "uint8", "int2": "int8", "float4_e2m1fn": "uint8", "float8_e4m3fnuz": "uint8", "float8_e5m2fnuz": "uint8"}
INT4 = 29  # ge::DataType: two elements in a byte
# Neighbours of these types lie further apart than the tests' tolerance: two steps are allowed, for the order in which a chain of operators
# rounds is not guaranteed (we round once where numpy rounds after each).
HALF_STEP = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
SECONDS = 60  # for one test


class NotTensors(Exception):
    """A sequence, an optional, strings or a type that a session cannot be fed."""


def numpy_type(name):
    if name in ("bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu"):
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def as_array(value):
    from onnx import TensorProto, numpy_helper
    if isinstance(value, TensorProto):
        value = numpy_helper.to_array(value)
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray) or value.dtype.name not in {*TYPES, *BYTES, "int4"}:
        raise NotTensors(str(getattr(value, "dtype", type(value).__name__)))
    return value


def fed(array):
    """The number of the type and the bytes that stand for it in a session."""
    name = array.dtype.name
    if name == "int4":
        halves = np.append(array.astype(np.int8).reshape(-1).view(np.uint8) & 15, np.zeros(array.size % 2, np.uint8)).astype(np.uint8)
        return INT4, (halves[0::2] | halves[1::2] << 4).tobytes()
    if name in BYTES:
        array = array.view(np.uint8) if name.startswith("float") else array.astype(BYTES[name])
    return TYPES[array.dtype.name], array.tobytes()


def told(array, expected):
    """A session's answer in the type of the expected one, where that has none there."""
    name = expected.dtype.name
    if array.dtype.name != BYTES.get(name):
        return array
    return array.view(expected.dtype) if name.startswith("float") else array.astype(expected.dtype)


def write_inputs(path, arrays):
    with open(path, "wb") as file:
        for array in arrays:
            array = np.ascontiguousarray(array).reshape(array.shape)
            number, data = fed(array)
            words = [number, array.ndim, *array.shape, len(data)]
            file.write((" ".join(map(str, words)) + "\n").encode() + data)


class Worker:
    """One process that runs models; restarted when it dies."""

    def __init__(self, runner):
        self.runner = runner
        self.process = None

    def ask(self, model, inputs):
        if self.process is None:
            self.process = subprocess.Popen([self.runner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        timer = threading.Timer(SECONDS, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(f"{model} {inputs}\n".encode())
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            if not line.endswith(b"\n"):
                raise EOFError
            stage, _, rest = line.decode(errors="replace").strip().partition(" ")
            if stage != "ok":
                return stage, rest
            return stage, [self.tensor() for _ in range(int(rest))]
        except (EOFError, BrokenPipeError, OSError):
            code = self.process.wait()
            self.process = None
            return "crash", f"the worker ended with {code}"
        finally:
            timer.cancel()

    def tensor(self):
        words = list(map(int, self.process.stdout.readline().split()))
        if len(words) < 3:
            raise EOFError
        data = self.process.stdout.read(words[-1])
        if words[0] == INT4:
            import ml_dtypes
            packed = np.frombuffer(data, np.uint8)
            halves = np.stack([packed & 15, packed >> 4], -1).reshape(-1)[:int(np.prod(words[2:-1], dtype=int))].astype(np.int8)
            return (halves - 16 * (halves > 7)).astype(ml_dtypes.int4).reshape(words[2:-1])
        dtype = numpy_type(NAMES[words[0]]) if words[0] in NAMES else np.dtype("V1")
        return np.frombuffer(data, dtype).reshape(words[2:-1])

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def difference(expected, actual, rtol, atol):
    """None, or the difference."""
    if expected.dtype != actual.dtype:
        return f"type {actual.dtype}, expected {expected.dtype}"
    if expected.shape != actual.shape:
        return f"shape {list(actual.shape)}, expected {list(expected.shape)}"
    if expected.dtype.kind in "biu":
        same = np.array_equal(expected, actual)
        return None if same else f"{int(np.sum(expected != actual))} of {expected.size} elements differ"
    if expected.dtype.name in HALF_STEP:
        rtol = max(rtol, 2 * HALF_STEP[expected.dtype.name])
    if expected.dtype.kind not in "fc":  # the narrow types of ml_dtypes
        expected, actual = expected.astype(np.float32), actual.astype(np.float32)
    # Sums that cancel (Fourier transforms) leave one rounding of the largest element where the result is 0.
    finite = np.abs(expected[np.isfinite(expected)])
    if expected.dtype == np.float32 and finite.size:
        atol = max(atol, float(np.finfo(np.float32).eps * finite.max()))
    if np.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        return f"differs by up to {np.nanmax(np.abs(actual.astype(np.complex128) - expected.astype(np.complex128))):.3g}"


def run_case(case, worker, folder):
    """(outcome, reason)"""
    path = Path(folder) / f"{case.name}.onnx"
    path.write_bytes(case.model.SerializeToString())
    inputs_path = Path(folder) / f"{case.name}.inputs"
    outcome = ("pass", "")
    try:
        for inputs, expected in case.data_sets:
            skipped = None
            try:
                write_inputs(inputs_path, [as_array(one) for one in inputs])
            except NotTensors as error:
                skipped = str(error)
                write_inputs(inputs_path, [])
            stage, answer = worker.ask(path, inputs_path)
            if stage == "crash":
                return stage, answer
            if stage != "ok":
                return "refused", f"{stage}: {answer}"
            if skipped:
                return "wrong", f"ran without its input of {skipped}"
            if len(answer) != len(expected):
                return "wrong", f"{len(answer)} outputs, expected {len(expected)}"
            for number, (want, have) in enumerate(zip(expected, answer)):
                try:
                    want = as_array(want)
                    found = difference(want, told(have, want), case.rtol, case.atol)
                except NotTensors as error:
                    found = f"expected {error}"
                if found:
                    return "wrong", f"output {number}: {found}"
    finally:
        path.unlink(missing_ok=True)
        inputs_path.unlink(missing_ok=True)
    return outcome


def load(pattern):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests
        cases = load_model_tests(kind="node")
    return [case for case in cases if re.search(pattern, case.name)]


def run_all(cases, runner, workers):
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        pool = [Worker(runner) for _ in range(workers)]
        free = list(pool)
        lock = threading.Lock()

        def one(case):
            with lock:
                worker = free.pop()
            try:
                results[case.name] = run_case(case, worker, folder)
            finally:
                with lock:
                    free.append(worker)

        with ThreadPoolExecutor(workers) as threads:
            list(threads.map(one, cases))
        for worker in pool:
            worker.close()
    return results


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runner", required=True, help="the program made from model_runner.cc")
    parser.add_argument("--only", default="", help="a regular expression of test names")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--least", type=int, default=0, help="how many must pass")
    parser.add_argument("--json", help="where the results go, by test")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args(argv)
    begin = time.monotonic()
    cases = load(arguments.only)
    results = run_all(cases, arguments.runner, arguments.workers)
    counts = {}
    for name in sorted(results):
        outcome, reason = results[name]
        counts[outcome] = counts.get(outcome, 0) + 1
        if outcome in ("wrong", "crash") or (arguments.verbose and outcome != "pass"):
            print(f"{outcome} {name}: {reason}")
    if arguments.json:
        kinds = {case.name: case.model.graph.node[-1].op_type for case in cases}
        Path(arguments.json).write_text(json.dumps({name: [*results[name], kinds[name]] for name in sorted(results)}, indent=0))
    print(f"{len(results)} tests, {', '.join(f'{number} {outcome}' for outcome, number in sorted(counts.items()))}, "
          f"{time.monotonic() - begin:.0f} s")
    return 1 if counts.get("wrong") or counts.get("crash") or counts.get("pass", 0) < arguments.least else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
