# SPDX-License-Identifier: Apache-2.0
"""Which of our figures is held against which peer's, what is to be reached, and how a row is made of samples."""

import math
import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    name: str  # in the bin directory; a script's path below bench/
    google_benchmark: bool = False
    flags: tuple[str, ...] = ()
    preload: str | None = None  # a shared library by its soname
    script: bool = False  # for the Python that has torch
    model: str | None = None  # of bench/graph/models.py: run.py makes it and gives --model FILE
    once: bool = False  # repeats its work by itself and prints medians
    needs: str | None = None  # built only where the machine has this

    @property
    def title(self):
        return " ".join([self.name, *self.flags])


@dataclass(frozen=True)
class Comparison:
    metric: str
    peer: str
    goal: float | None = None  # least ratio to reach; None: shown for orientation
    peer_metric: str | None = None  # where the peer's figure has another name
    bound: float | None = None  # instead of a ratio: the most that ours may be


WITHIN_2 = 1 / 2
WITHIN_1_5 = 1 / 1.5
WITHIN_1_3 = 1 / 1.3
WITHIN_1_03 = 1 / 1.03
WITHIN_1_05 = 1 / 1.05
WITHIN_1_10 = 1 / 1.10
AHEAD = 1 / 0.95

PROGRAMS = {
    "launch": [
        Program("mp_bench_launch_ours"),
        Program("mp_bench_launch_pocl"),
        Program("mp_bench_launch_tbb"),
        Program("mp_bench_launch_ring"),
    ],
    "memory": [
        Program("mp_bench_memory_copies"),
        Program("mp_bench_memory_pages"),
        Program("mp_bench_memory_alloc", google_benchmark=True),
    ],
    "pool": [
        Program("mp_bench_pool_ours"),
        Program("mp_bench_pool_plan"),
        Program("mp_bench_pool_torch"),
        Program("mp_bench_pool_malloc", flags=("--library", "tcmalloc"), preload="libtcmalloc_minimal.so.4"),
        Program("mp_bench_pool_malloc", flags=("--library", "mimalloc"), preload="libmimalloc.so.2"),
        Program("mp_bench_pool_malloc", flags=("--library", "jemalloc"), preload="libjemalloc.so.2"),
        Program("mp_bench_pool_malloc", flags=("--library", "glibc")),
    ],
    "torch": [
        Program("mp_bench_torch_small_op"),
        Program("torch/training.py", flags=("--device", "npu"), script=True),
        Program("torch/training.py", flags=("--device", "cpu"), script=True),
    ],
    "acl": [
        Program("acl/python_calls.py", script=True),
        Program("mp_bench_acl_models", model="resnet50_dynamic"),
    ],
    "graph": [Program("graph/compare.py", flags=("--subject", subject), script=True)
              for subject in ("onnxruntime", "openvino", "eager", "ours")],
    "check": [Program("check/compare.py", flags=("--part", part), script=True, once=part != "program")
              for part in ("program", "torch", "graphs", "models")],
    "ranks": [
        Program("mp_bench_ranks_ours"),
        Program("mp_bench_ranks_plain"),
        Program("ranks/gloo.py", script=True),
        Program("mp_bench_ranks_mpi", needs="Debian's openmpi-bin and libopenmpi-dev"),
        Program("ranks/ddp.py", flags=("--device", "npu"), script=True),
        Program("ranks/ddp.py", flags=("--device", "cpu"), script=True),
    ],
    "compile": [Program("compile/growth.py", script=True, once=True)],
    "start": [Program("start/start.py", flags=("--part", part), script=True, once=True) for part in ("process", "kernel", "tree")],
    "plan": [
        Program("plan/compare.py", flags=("--subject", "ours"), script=True),
        Program("plan/compare.py", flags=("--subject", "greedy"), script=True),
        Program("plan/compare.py", flags=("--subject", "omnimalloc"), script=True),
    ],
}

GREEDY = [f"greedy_{order}" for order in ("size", "area", "pressure", "lifetime", "birth", "best_of_ten")]
OMNIMALLOC = ["omnimalloc_super", "omnimalloc_omni"]


def plan_comparisons(problem, peers=(*GREEDY, *OMNIMALLOC), ratio=None, milliseconds=None):
    """Of one planning problem: peak over bound, and time. Greedy times are those of both fits, or of all ten."""
    timed = [peer for peer in peers if peer in ("greedy_best_of_ten", *OMNIMALLOC)]
    return [*[Comparison(f"{problem}_ratio", peer, bound=ratio) for peer in peers],
            *[Comparison(f"{problem}_ms", peer, bound=milliseconds) for peer in timed]]


NO_PEER = "-"
GRAPHS = ["resnet50", "bert", "gpt2"]
RUNTIMES = ["onnxruntime", "openvino"]


def graph_comparisons(model):
    """Of one network: latency with 1 and 2 threads against the best of three, then what a run costs besides."""
    return [
        *[Comparison(f"{model}_{threads}t", peer, AHEAD) for threads in (1, 2) for peer in (*RUNTIMES, "eager")],
        Comparison(f"{model}_overhead", NO_PEER, bound=2),
        Comparison(f"{model}_memory_over_allowed", NO_PEER, bound=1),
        *[Comparison(f"{model}_memory_over_weights", peer) for peer in (*RUNTIMES, "eager")],
        *[Comparison(f"{model}_busy_over_quiet", peer, bound=2.5) for peer in RUNTIMES],
        *[Comparison(f"{model}_{what}", peer) for peer in RUNTIMES
          for what in ("busy", "first", "dynamic_repeat", "dynamic_new_shape", "dynamic_new_over_repeat")],
    ]


COLLECTIVES = ["allreduce", "allgather", "alltoall", "broadcast"]
SMALL_MESSAGES, LARGE_MESSAGES = ["4B", "64KiB"], ["4MiB", "64MiB"]


def ranks_comparisons():
    """Of each collective with 2 and 4 ranks: what a wait costs when bytes are few, what a copy costs when they are many."""
    rows = []
    for ranks in (2, 4):
        for collective in COLLECTIVES:
            for size in (*SMALL_MESSAGES, *LARGE_MESSAGES):
                metric, large = f"{collective}_{ranks}r_{size}", size in LARGE_MESSAGES
                rows += [Comparison(metric, "gloo", 2 if large else 4),
                         Comparison(metric, "plain", WITHIN_1_5 if large else None),
                         Comparison(metric, "openmpi")]
    # Two hosts with two ranks each, beside Gloo among four ranks, which takes every pair of them for two hosts.
    for collective in COLLECTIVES:
        for size in (*SMALL_MESSAGES, *LARGE_MESSAGES):
            metric = f"{collective}_4r_{size}"
            goal = 1 / 0.7 if (collective, size) == ("allreduce", "64MiB") else None
            rows.append(Comparison(f"{metric}_2hosts", "gloo", goal, peer_metric=metric))
    return [*rows, Comparison("ddp_resnet18_2r", "torch_ddp", WITHIN_1_05)]


# MiniMalloc's own problems, by file: the capacity over the most that is live, and half of the milliseconds that MiniMalloc
# took for it on a machine with two cores.
MINIMALLOC = {"A.1048576": (1.0, 3550), "B.1048576": (1.0, 2650), "C.1048576": (1048576 / 1039360, 460),
              "D.1048576": (1048576 / 986112, 2350)}


def given_problem(stem):
    """The comparisons for a file of --problems; those of MiniMalloc have goals."""
    ratio, milliseconds = MINIMALLOC.get(stem, (None, None))
    return plan_comparisons(stem.split(".")[0], ratio=ratio, milliseconds=milliseconds)


CHECKED_LAUNCHES = ["empty_task", "memset8", "copy1k", "replayed_node"]
CHECKED_MODELS = ["resnet50_graph", "bert_graph", "resnet50_model", "resnet50_dynamic_model", "resnet50_external_model"]
SANITIZERS = ["asan", "tsan"]
COMPILED = ["chain", "small_chain", "dynamic_chain", "residual", "small_residual", "folded", "dag", "large_dag", "sizes", "casts", "tower",
            "fan", "concat", "dense", "nest", "ifs", "views"]
COPY_SIZES = ["4KiB", "64KiB", "1MiB", "16MiB", "64MiB", "256MiB"]
STREAM_COUNTS = [1, 8, 64, 512, 1984]
MANY_STREAMS = 64
PAIR_SIZES = ["512B", "4KiB", "64KiB", "1MiB", "16MiB", "64MiB"]
TORCH = ["torch", "torch_expandable"]
# Recorded runs of bench/traces and random mixes; those that nobody looked at while the pool was tuned.
FAMILY = ["resnet18_train", "gpt2_train", "gpt2_accumulate", "bert_train", "two_streams", "llama_serve", "llama_speculate"]
UNSEEN_FAMILY = ["vit_train", "llama_serve_narrow"]
MIXES = ["mix_1MiB", "mix_4MiB", "mix_32MiB"]
UNSEEN_MIXES = ["mix_2MiB_unseen", "mix_8MiB_unseen"]
LIVE_BLOCKS = ["live_1e3", "live_1e4", "live_1e5", "live_1e6"]
PYTHON_CALLS = ["python_one_int", "python_tuple", "python_query", "python_idle_sync", "python_five_ints"]
HOST_ALLOCATORS = ["tcmalloc", "mimalloc", "jemalloc", "glibc"]



def family_comparisons():
    """The worst and the geometric mean first, then each run and mix."""
    rows = []
    for group in ("family", "unseen"):
        for what in ("worst", "geomean"):
            rows += [Comparison(f"{group}_reserved_{what}", peer, bound=1.04) for peer in TORCH]
            rows.append(Comparison(f"{group}_reserved_plan_{what}", NO_PEER, bound=1.005))
            rows.append(Comparison(f"{group}_ns_over_torch_{what}", NO_PEER, bound=0.5))
            rows.append(Comparison(f"{group}_first_ns_over_torch_{what}", NO_PEER, bound=1.5))
            rows.append(Comparison(f"{group}_plan_ns_{what}", NO_PEER, bound=30))
    for group in ("mixes", "unseen_mixes"):
        for what in ("worst", "geomean"):
            rows.append(Comparison(f"{group}_reserved_over_best_peer_{what}", NO_PEER, bound=1))
            rows.append(Comparison(f"{group}_ns_over_torch_{what}", NO_PEER, bound=1))
    rows += [Comparison(f"{run}_{what}", peer) for run in (*FAMILY, *UNSEEN_FAMILY) for what in ("reserved", "ns", "first_ns") for peer in TORCH]
    rows += [Comparison(f"{mix}{what}", peer) for mix in (*MIXES, *UNSEEN_MIXES) for what in ("_reserved", "") for peer in TORCH]
    rows.append(Comparison("live_growth", "torch", bound=2))
    return [*rows, *[Comparison(live, peer) for live in LIVE_BLOCKS for peer in TORCH]]


def add_family(samples):
    """The rows that sum up the family, made of the medians of its members."""
    def add(group, members, ours, peers=(), suffix="", unit="x"):
        values = []
        for member in members:
            mine = samples.median("ours", member + ours)
            theirs = [samples.median(peer, member + ours) for peer in peers]
            if mine is None or None in theirs:
                return
            values.append(mine / min(theirs) if theirs else mine)
        samples.add("ours", f"{group}{suffix}_worst", unit, max(values))
        samples.add("ours", f"{group}{suffix}_geomean", unit, statistics.geometric_mean(values))

    for group, members in (("family", FAMILY), ("unseen", UNSEEN_FAMILY)):
        add(group, members, "_reserved", suffix="_reserved")
        add(group, members, "_reserved_plan", suffix="_reserved_plan")
        add(group, members, "_plan_ns", suffix="_plan_ns", unit="ns")
        add(group, members, "_ns", ["torch"], "_ns_over_torch")
        add(group, members, "_first_ns", ["torch"], "_first_ns_over_torch")
        for peer in TORCH:
            values = [samples.median(peer, member + "_reserved") for member in members]
            if None not in values:
                samples.add(peer, f"{group}_reserved_worst", "x", max(values))
                samples.add(peer, f"{group}_reserved_geomean", "x", statistics.geometric_mean(values))
    for group, members in (("mixes", MIXES), ("unseen_mixes", UNSEEN_MIXES)):
        add(group, members, "_reserved", TORCH, "_reserved_over_best_peer")
        add(group, members, "", ["torch"], "_ns_over_torch")
    for subject in ("ours", *TORCH):
        ends = [samples.median(subject, live) for live in (LIVE_BLOCKS[0], LIVE_BLOCKS[-1])]
        if None not in ends:
            samples.add(subject, "live_growth", "x", ends[1] / ends[0])


COMPARISONS = {
    "launch": [
        Comparison("task", "pocl", 50),
        Comparison("task", "pocl", None, "task_native"),
        Comparison("task", "tbb"),
        Comparison("task", "ring", WITHIN_2),
        Comparison("task_memset8", "pocl", 50, "task"),
        Comparison("launch_sync", "pocl", 20),
        Comparison("launch_sync", "pocl", None, "launch_sync_native"),
        Comparison("launch_sync", "ring", WITHIN_1_5),
        Comparison("launch_sync", "tbb"),
        Comparison("launch_sync_memset8", "pocl", 20, "launch_sync"),
        Comparison("launch_sync_memset8", "ring", WITHIN_1_5, "launch_sync"),
        Comparison("event_record", "pocl"),
        Comparison("hop", "ring", WITHIN_1_3),
        Comparison("hop", "pocl"),
        Comparison("hop_launched", "pocl"),
        Comparison("replay_chain", "tbb", 1),
        Comparison("replay_chain", "tbb_light"),
        Comparison("replay_fork4", "tbb", 1),
        Comparison("replay_fork4", "tbb_light"),
        *[Comparison(f"streams_{n}", peer, 1 if peer == "tbb" and n >= MANY_STREAMS else None) for n in STREAM_COUNTS for peer in ("pocl", "tbb")],
    ],
    "memory": [
        *[
            Comparison(f"{kind}_{size}", "memcpy", WITHIN_1_05 if size == "64MiB" else None)
            for kind in ("h2d", "d2h", "d2d")
            for size in COPY_SIZES
        ],
        Comparison("h2d_pinned_async_64MiB", "memcpy", WITHIN_1_05),
        *[Comparison(m, p) for m in ("first_touch", "second_touch", "give_back", "cycle") for p in ("anon", "memfd")],
        *[Comparison(m, "memfd") for m in ("vmm_create", "vmm_map", "vmm_unmap", "vmm_release")],
        *[Comparison(f"malloc_free_{s}", p) for s in ("4KiB", "2MiB", "64MiB") for p in ("malloc", "mmap")],
    ],
    "pool": [
        Comparison("replay_ns", "tcmalloc", 1),
        Comparison("replay_ns", "torch", 2),
        *[Comparison("replay_ns", peer) for peer in ("torch_expandable", "mimalloc", "jemalloc", "glibc")],
        Comparison("replay_plan_ns", "tcmalloc", None, "replay_ns", bound=30),
        *[Comparison("replay_first_ns", peer, WITHIN_1_5 if peer == "torch" else None) for peer in (*TORCH, *HOST_ALLOCATORS)],
        Comparison("replay_2threads_ns", "ours", 1 / 1.3, "replay_ns"),
        *[Comparison("replay_2threads_ns", peer) for peer in (*TORCH, *HOST_ALLOCATORS)],
        *[Comparison("reserved_over_live", peer, bound=1.04) for peer in TORCH],
        *[Comparison("reserved_over_live_first", peer) for peer in TORCH],
        *[Comparison("reserved_over_live_plan", peer, None, "reserved_over_live", bound=1.005) for peer in TORCH],
        *[Comparison(f"pair_{size}", "tcmalloc", None, "pair_512B", bound=10) for size in PAIR_SIZES],
        *[Comparison(f"pair_{size}", "tcmalloc") for size in PAIR_SIZES[1:]],
        *[Comparison(f"pair_{size}", peer) for size in PAIR_SIZES for peer in (*TORCH, *HOST_ALLOCATORS[1:])],
        *[Comparison(mixed, peer, 1 if peer == "torch" else None) for mixed in ("mixed", "mixed_wide") for peer in (*TORCH, *HOST_ALLOCATORS)],
        *[Comparison(f"{mixed}_reserved_over_live", peer, 1) for mixed in ("mixed", "mixed_wide") for peer in TORCH],
        *family_comparisons(),
    ],
    "torch": [
        Comparison("add10_own", "aten", None, "add10", bound=300),
        Comparison("add10", "aten"),
        Comparison("add10_calling", "aten", None, "add10"),
        Comparison("replay100_own", "aten", None, "replay100", bound=80),
        Comparison("replay100", "aten"),
        Comparison("gpt2_step", "torch_cpu", WITHIN_1_03),
        Comparison("resnet18_step", "torch_cpu", WITHIN_1_03),
    ],
    "acl": [
        *[Comparison(metric, "ctypes", bound=400) for metric in PYTHON_CALLS],
        Comparison("resnet50", "ge", WITHIN_1_03),
        Comparison("resnet50_dynamic", "ge", WITHIN_1_03),
        Comparison("resnet50_external", "ours", WITHIN_1_05, "resnet50_dynamic"),
    ],
    "graph": [row for model in GRAPHS for row in graph_comparisons(model)],
    "check": [
        *[Comparison(metric, "unchecked", WITHIN_2) for metric in ("empty_task", "memset8")],
        Comparison("copy1k", "unchecked"),
        Comparison("replayed_node", "unchecked", WITHIN_1_10),
        *[Comparison(metric, peer) for metric in CHECKED_LAUNCHES for peer in SANITIZERS],
        *[Comparison(metric, peer) for metric in ("ranges_1e4", "ranges_1e5", "ranges_1e6")
          for peer in ("unchecked", *SANITIZERS)],
        Comparison("ranges_growth", NO_PEER, bound=2),
        Comparison("memory_over_allowed", NO_PEER, bound=1),
        *[Comparison(step, peer, WITHIN_1_03 if peer == "unchecked" else None)
          for step in ("gpt2_step", "resnet18_step") for peer in ("unchecked", "unchecked_queue", "npu_sanitizer")],
        *[Comparison(metric, "unchecked", WITHIN_1_03) for metric in CHECKED_MODELS],
    ],
    "ranks": ranks_comparisons(),
    "compile": [
        Comparison("worst_10k", NO_PEER, bound=3),
        Comparison("worst_100k", NO_PEER, bound=40),
        Comparison("worst_exponent", NO_PEER, bound=1.25),
        Comparison("worst_memory_exponent", NO_PEER, bound=1.1),
        *[Comparison(f"{family}_{what}", NO_PEER) for family in COMPILED for what in ("10k", "exponent", "memory_exponent")],
    ],
    "start": [
        Comparison("include_all_ops", NO_PEER, bound=3),
        Comparison("import_acl", NO_PEER, bound=30),
        Comparison("run_true", NO_PEER, bound=60),
        Comparison("init_to_memset", NO_PEER, bound=50),
        Comparison("init_to_kernel_beyond", NO_PEER, bound=150),
        Comparison("init_to_kernel", "libtorch"),
        Comparison("init_resident", NO_PEER, bound=12),
        Comparison("idle_stream", NO_PEER, bound=8),
        Comparison("trace_growth", NO_PEER, bound=16),
    ],
    "plan": [
        *plan_comparisons("puzzle160", ratio=1.0),
        *plan_comparisons("puzzle250", ratio=1.0),
        *plan_comparisons("training"),
        *plan_comparisons("mixed2k", milliseconds=300),
        *plan_comparisons("mixed100k", OMNIMALLOC, ratio=1.005, milliseconds=1000),
    ],
}

# The trace hooks' price: our own figures against those of a build without the hooks, in nanoseconds per launch.
TRACE_PROGRAM = Program("mp_bench_launch_trace")
TRACE_METRICS = ["enqueue", "launch_and_run"]
TRACE_GOAL_NS = 2.0

HIGHER_IS_BETTER = {"GB/s"}


# The mixed load: 8,000 live blocks of 512 B to 64 MiB are 43 GiB, more than most hosts have.
MIXED_LEAST = 512
MIXED_LARGEST = 64 << 20
MIXED_LIVE = 8000
MIXED_SLACK = 1.4  # what the worst policy reserves beyond what is live


def log_uniform_mean(least, largest):
    return (largest - least) / math.log(largest / least)


def mixed_sizes(device_bytes):
    """(largest size for MIXED_LIVE blocks, number of blocks for the full range), powers of two, within the device."""
    largest = MIXED_LARGEST
    while largest > 1 << 20 and MIXED_LIVE * log_uniform_mean(MIXED_LEAST, largest) * MIXED_SLACK > device_bytes:
        largest //= 2
    live = MIXED_LIVE
    while live > 250 and live * log_uniform_mean(MIXED_LEAST, MIXED_LARGEST) * MIXED_SLACK > device_bytes:
        live //= 2
    return largest, live


class Samples:
    """Every value seen, by (subject, metric)."""

    def __init__(self):
        self._values = {}
        self._units = {}

    def add(self, subject, metric, unit, value):
        self._values.setdefault((subject, metric), []).append(float(value))
        self._units[(subject, metric)] = unit

    def unit(self, subject, metric):
        return self._units.get((subject, metric))

    def median(self, subject, metric):
        values = self._values.get((subject, metric))
        return statistics.median(values) if values else None

    def count(self, subject, metric):
        return len(self._values.get((subject, metric), []))

    def bounds(self, subject, metric):
        values = self._values.get((subject, metric))
        return [min(values), max(values)] if values else None


def ratio_of(unit, ours, peer):
    """How many times better ours is: above 1 ours is better, whatever the unit's direction."""
    if ours is None or peer is None or ours <= 0 or peer <= 0:
        return None
    return ours / peer if unit in HIGHER_IS_BETTER else peer / ours


def make_row(bench, comparison, samples):
    peer_metric = comparison.peer_metric or comparison.metric
    ours = samples.median("ours", comparison.metric)
    peer_value = samples.median(comparison.peer, peer_metric)
    unit = samples.unit("ours", comparison.metric) or samples.unit(comparison.peer, peer_metric)
    ratio = ratio_of(unit, ours, peer_value)
    verdict = None
    goal = None
    if comparison.bound is not None:
        goal = f"ours <= {comparison.bound:g}"
        if ours is not None:
            verdict = "ok" if ours <= comparison.bound else "short"
    elif comparison.goal is not None:
        goal = f"ratio >= {comparison.goal:.3g}"
        if ratio is not None:
            verdict = "ok" if ratio >= comparison.goal else "short"
    return {
        "bench": bench,
        "metric": comparison.metric,
        "unit": unit,
        "ours": ours,
        "peer": comparison.peer if peer_metric == comparison.metric else f"{comparison.peer}:{peer_metric}",
        "peer_value": peer_value,
        "ratio": ratio,
        "better": "higher" if unit in HIGHER_IS_BETTER else "lower",
        "goal": goal,
        "verdict": verdict,
        "samples": [samples.count("ours", comparison.metric), samples.count(comparison.peer, peer_metric)],
        "range": [samples.bounds("ours", comparison.metric), samples.bounds(comparison.peer, peer_metric)],
    }


def missed(all_rows):
    """The rows whose goal is not reached: short of it, or without a figure."""
    return [row for row in all_rows if row["goal"] is not None and row["verdict"] != "ok"]


def make_trace_row(metric, samples):
    """`samples` holds subjects "ours" (hooks in, no sink) and "no_trace" (hooks compiled out)."""
    with_hooks = samples.median("ours", metric)
    without = samples.median("no_trace", metric)
    known = with_hooks is not None and without is not None
    cost = with_hooks - without if known else None
    return {
        "bench": "launch",
        "metric": f"trace_off_{metric}",
        "unit": "ns",
        "ours": with_hooks,
        "peer": "no_trace",
        "peer_value": without,
        "ratio": ratio_of("ns", with_hooks, without),
        "better": "lower",
        "goal": f"ours - peer <= {TRACE_GOAL_NS:g} ns",
        "verdict": None if cost is None else "ok" if cost <= TRACE_GOAL_NS else "short",
        "difference_ns": cost,
        "samples": [samples.count("ours", metric), samples.count("no_trace", metric)],
        "range": [samples.bounds("ours", metric), samples.bounds("no_trace", metric)],
    }
