# SPDX-License-Identifier: Apache-2.0
"""Tests of the pool benchmark's own parts: traces, the preload check, the reimplemented policy's segments. Nothing is timed."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import picture

MIB = 1 << 20
bin_dir = None


def run(program, *flags, trace=None):
    with tempfile.TemporaryDirectory() as folder:
        if trace is not None:
            path = pathlib.Path(folder) / "trace.csv"
            path.write_text(trace, encoding="ascii")
            flags = (*flags, "--trace", str(path))
        return subprocess.run([bin_dir / program, *flags], capture_output=True, text=True, timeout=60, check=False)


class TraceTest(unittest.TestCase):
    def refused(self, trace, *expected):
        done = run("mp_bench_pool_malloc", "--smoke", trace=trace)
        self.assertEqual(done.returncode, 1, done.stderr)
        for text in expected:
            self.assertIn(text, done.stderr)

    def test_a_bad_line_is_refused_by_number(self):
        self.refused("op,id,size,stream\na,0,512,0\nx,0,512,0\n", "line 3", "neither a nor f")
        self.refused("a,0,lots,0\n", "line 1", "size is not a number")
        self.refused("a,0,512\n", "line 1", "stream is not a number")

    def test_a_trace_that_cannot_be_replayed_is_refused(self):
        self.refused("a,0,512,0\na,0,512,0\n", "line 2", "allocated already")
        self.refused("a,0,512,0\nf,1,512,0\n", "line 2", "not allocated")
        self.refused("op,id,size,stream\n", "no allocation")

    def test_blocks_left_behind_are_freed_and_named(self):
        done = run("mp_bench_pool_malloc", "--smoke", "--wide-live", "10", trace="a,7,512,0\na,8,0,0\na,9,512,1\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 blocks", done.stderr)
        self.assertIn("1 allocations of 0 bytes", done.stderr)


class PreloadTest(unittest.TestCase):
    def test_a_library_that_is_not_loaded_is_a_skip_with_its_package(self):
        done = run("mp_bench_pool_malloc", "--smoke", "--library", "tcmalloc", trace="a,0,512,0\n")
        self.assertEqual(done.returncode, 77)
        self.assertIn("libtcmalloc-minimal4", done.stderr)

    def test_an_unknown_library_is_refused(self):
        done = run("mp_bench_pool_malloc", "--library", "hoard", trace="a,0,512,0\n")
        self.assertEqual(done.returncode, 2)


class TorchPolicyTest(unittest.TestCase):
    def reserved(self, subject, *requests):
        """MiB that the policy takes for allocations of these sizes, all live, stream 0."""
        trace = "".join(f"a,{i},{size},0\n" for i, size in enumerate(requests))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "fragments.json"
            done = run("mp_bench_pool_torch", "--fragments", str(path), trace=trace)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(path.read_text(encoding="ascii"))[subject]["statistics"]["reserved_bytes"] / MIB

    def test_segments_of_the_fixed_kind(self):
        self.assertEqual(self.reserved("torch", 1), 2)
        self.assertEqual(self.reserved("torch", MIB, MIB), 2)
        self.assertEqual(self.reserved("torch", MIB, MIB, 512), 4)
        self.assertEqual(self.reserved("torch", MIB + 1), 20)
        self.assertEqual(self.reserved("torch", 9 * MIB, 9 * MIB), 20)
        self.assertEqual(self.reserved("torch", 9 * MIB, 9 * MIB, 3 * MIB), 40)
        self.assertEqual(self.reserved("torch", 10 * MIB), 10)
        self.assertEqual(self.reserved("torch", 31 * MIB), 32)

    def test_a_rest_of_one_mib_is_not_split_off_a_large_block(self):
        self.assertEqual(self.reserved("torch", 9 * MIB, 9 * MIB, 2 * MIB), 20)
        self.assertEqual(self.reserved("torch", 9 * MIB, 8 * MIB, 2 * MIB, 3 * MIB // 2), 40)

    def test_expandable_segments_grow_by_granules(self):
        self.assertEqual(self.reserved("torch_expandable", 512, MIB + 512), 2 + 20)
        self.assertEqual(self.reserved("torch_expandable", 31 * MIB, 9 * MIB), 40)


class ReportTest(unittest.TestCase):
    def test_blocks_become_runs_and_holes_take_no_room(self):
        blocks = [{"address": "0x1000", "bytes": 512, "state": "live"},
                  {"address": "0x1200", "bytes": 512, "state": "hole"},
                  {"address": "0x1400", "bytes": 512, "state": "cached"}]
        snapshot = {"statistics": {"reserved_bytes": 1024}, "spans": [{"address": "0x1000", "blocks": blocks}]}
        self.assertEqual(picture.runs_of(snapshot), [[(512, True)], [(512, False)]])

    def test_the_svg_says_reserved_over_live(self):
        spans = [{"address": "0x0", "blocks": [{"address": "0x0", "bytes": 100 * MIB, "state": "live"}]}]
        svg = picture.draw([("One", {"statistics": {"reserved_bytes": 117 * MIB}, "spans": spans})], 100 * MIB)
        self.assertIn("1.170", svg)
        self.assertTrue(svg.startswith("<svg"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin-dir", type=pathlib.Path, required=True)
    known, rest = parser.parse_known_args()
    bin_dir = known.bin_dir
    unittest.main(argv=[sys.argv[0], *rest])
