# SPDX-License-Identifier: Apache-2.0
"""Tests of how samples become rows; no time is measured here."""

import contextlib
import io
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import rows
import run


def samples_of(**values):
    samples = rows.Samples()
    for name, (unit, numbers) in values.items():
        subject, metric = name.split("__")
        for number in numbers:
            samples.add(subject, metric, unit, number)
    return samples


class RowTest(unittest.TestCase):
    def test_row_takes_medians_and_has_every_promised_key(self):
        samples = samples_of(ours__task=("ns", [10, 900, 20]), pocl__task=("ns", [1000, 2000, 1]))
        row = rows.make_row("launch", rows.Comparison("task", "pocl", 50), samples)
        for key in ("bench", "metric", "unit", "ours", "peer", "peer_value", "ratio"):
            self.assertIn(key, row)
        self.assertEqual((row["ours"], row["peer_value"], row["ratio"]), (20, 1000, 50))
        self.assertEqual(row["verdict"], "ok")

    def test_ratio_above_one_means_ours_is_better_in_either_direction(self):
        self.assertEqual(rows.ratio_of("ns", 10, 20), 2)
        self.assertEqual(rows.ratio_of("GB/s", 20, 10), 2)

    def test_goal_just_missed_is_short(self):
        samples = samples_of(ours__hop=("ns", [151]), ring__hop=("ns", [100]))
        row = rows.make_row("launch", rows.Comparison("hop", "ring", rows.WITHIN_1_5), samples)
        self.assertEqual(row["verdict"], "short")

    def test_missing_peer_gives_no_ratio_and_no_verdict(self):
        row = rows.make_row("launch", rows.Comparison("hop", "ring", 1), samples_of(ours__hop=("ns", [1])))
        self.assertIsNone(row["ratio"])
        self.assertIsNone(row["verdict"])

    def test_a_bound_judges_ours_alone_and_the_peer_is_for_orientation(self):
        comparison = rows.Comparison("reserved_over_live", "torch", bound=1.03)
        good = rows.make_row("pool", comparison, samples_of(ours__reserved_over_live=("x", [1.03])))
        self.assertEqual((good["verdict"], good["goal"], good["ratio"]), ("ok", "ours <= 1.03", None))
        samples = samples_of(ours__reserved_over_live=("x", [1.031]), torch__reserved_over_live=("x", [1.17]))
        self.assertEqual(rows.make_row("pool", comparison, samples)["verdict"], "short")

    def test_ours_on_two_threads_is_held_against_ours_on_one(self):
        comparison = next(c for c in rows.COMPARISONS["pool"] if c.metric == "replay_2threads_ns" and c.peer == "ours")
        samples = samples_of(ours__replay_2threads_ns=("ns", [129.0]), ours__replay_ns=("ns", [100.0]))
        self.assertEqual(rows.make_row("pool", comparison, samples)["verdict"], "ok")
        samples = samples_of(ours__replay_2threads_ns=("ns", [131.0]), ours__replay_ns=("ns", [100.0]))
        self.assertEqual(rows.make_row("pool", comparison, samples)["verdict"], "short")

    def test_mixed_sizes_fit_the_device(self):
        self.assertEqual(rows.mixed_sizes(64 << 30), (64 << 20, 8000))
        for gib in (2, 4, 8, 18, 32):
            largest, live = rows.mixed_sizes(gib << 30)
            self.assertLessEqual(rows.MIXED_LIVE * rows.log_uniform_mean(512, largest) * rows.MIXED_SLACK, gib << 30)
            self.assertLessEqual(live * rows.log_uniform_mean(512, 64 << 20) * rows.MIXED_SLACK, gib << 30)

    def test_trace_row_judges_the_difference_not_the_ratio(self):
        samples = samples_of(ours__task=("ns", [103.0]), no_trace__task=("ns", [100.0]))
        self.assertEqual(rows.make_trace_row("task", samples)["verdict"], "short")
        samples = samples_of(ours__task=("ns", [11.0]), no_trace__task=("ns", [10.0]))
        self.assertEqual(rows.make_trace_row("task", samples)["verdict"], "ok")

    def test_table_takes_whole_numbers_and_missing_figures(self):
        whole = rows.make_row("launch", rows.Comparison("task", "pocl"), samples_of(ours__task=("ns", [7])))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            run.print_table([whole])
        self.assertRegex(out.getvalue(), r"launch\s+task\s+ns\s+7\s+pocl\s+-\s+-")

    def test_google_benchmark_names_become_subject_and_size(self):
        output = ('{"benchmarks": [{"name": "mmap/malloc_free/65536/real_time", "run_type": "iteration", '
                  '"real_time": 7.5, "time_unit": "ns"}, {"name": "x", "run_type": "aggregate"}]}')
        self.assertEqual(list(run.read_google_benchmark(output)), [("mmap", "malloc_free_64MiB", "ns", 7.5)])

    def status(self, *options, rows_of_run):
        """The exit status of run.py and what it says to the user, when the programs give these rows."""
        made = mock.Mock(rows=rows_of_run, notes=[], skips=[], failures=[])
        with mock.patch.object(run, "Run", return_value=made), contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            return run.main(["pool", "--bin-dir", ".", *options]), said.getvalue()

    def test_a_missed_goal_ends_a_checked_run_with_1_and_is_named(self):
        samples = samples_of(ours__task=("ns", [20]), ring__task=("ns", [10]))
        short = rows.make_row("launch", rows.Comparison("task", "ring", 0.667), samples)
        reached = rows.make_row("launch", rows.Comparison("task", "ring", 0.5), samples)
        no_figure = rows.make_row("launch", rows.Comparison("task", "pocl", 1), samples)
        no_goal = rows.make_row("launch", rows.Comparison("task", "ring"), samples)
        self.assertEqual(self.status("--check", rows_of_run=[reached, no_goal]), (0, ""))
        self.assertEqual(self.status(rows_of_run=[short, no_figure]), (0, ""))
        status, said = self.status("--check", rows_of_run=[reached, short, no_figure])
        self.assertEqual(status, 1)
        self.assertIn("goal missed: launch task against ring: ratio >= 0.667, but ours is 20 ns, theirs 10, the ratio 0.5\n", said)
        self.assertIn("goal missed: launch task against pocl: ratio >= 1, but there is no figure\n", said)

    def test_missing_program_fails_the_run_and_says_what_to_do(self):
        with self.assertRaisesRegex(run.Failure, "MILLPOND_BENCH=ON"):
            run.run_program(pathlib.Path("no_such_directory/mp_bench_x"), [])


if __name__ == "__main__":
    unittest.main()
