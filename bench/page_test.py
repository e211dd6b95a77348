# SPDX-License-Identifier: Apache-2.0
"""Tests of the page that is made of kept results; the tree's own page is what its results give."""

import pathlib
import sys
import unittest
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import page
import plots


def row(metric, ours, peer="tbb", peer_value=10.0, goal=None, verdict=None, unit="ns"):
    ratio = peer_value / ours if ours and peer_value else None
    return {"bench": "launch", "metric": metric, "unit": unit, "ours": ours, "peer": peer, "peer_value": peer_value, "ratio": ratio, "goal": goal, "verdict": verdict}


def kept(*rows, load=0.1):
    return {"launch": {"machine": "a CPU", "date": "2026-01-02", "commit": "abc", "repetitions": 7, "load": load, "rows": list(rows)}}


STREAMS = [row(f"streams_{n}", 10.0 * n, peer, 20.0 * n) for n in (1, 8, 64) for peer in ("tbb", "pocl")]


class PageTest(unittest.TestCase):
    def test_the_trees_page_is_what_its_results_give(self):
        self.assertEqual(page.stale(page.pages(page.kept_results())), [])

    def test_a_metrics_number_is_found_with_its_unit(self):
        self.assertEqual(page.number_of("pair_4KiB"), ("pair_SIZE", 4096, "bytes"))
        self.assertEqual(page.number_of("allreduce_2r_64MiB"), ("allreduce_2r_SIZE", 64 << 20, "bytes"))
        self.assertEqual(page.number_of("streams_1984"), ("streams_N", 1984, "streams"))
        self.assertEqual(page.number_of("ranges_1e6"), ("ranges_N", 10 ** 6, "ranges"))
        self.assertIsNone(page.number_of("resnet50_1t"))

    def test_three_sizes_make_a_curve_with_every_peer(self):
        unit, what, lines = page.families(STREAMS)["streams_N"]
        self.assertEqual((unit, what), ("ns", "streams"))
        self.assertEqual(lines, {"ours": {1: 10, 8: 80, 64: 640}, "tbb": {1: 20, 8: 160, 64: 1280}, "pocl": {1: 20, 8: 160, 64: 1280}})
        self.assertEqual(page.families(STREAMS[:4]), {})

    def test_the_page_has_machine_date_commit_and_what_is_short(self):
        text = page.pages(kept(row("task", 5.0, goal="ratio >= 3", verdict="short"), row("hop", 5.0, goal="ratio >= 2", verdict="ok")))[page.PAGE]
        for part in ("a CPU; 2026-01-02, commit abc, medians of 7", "1 of 2 goals are reached", "**short**", "performance/launch_goals.svg"):
            self.assertIn(part, text)

    def test_a_busy_machine_is_told(self):
        self.assertIn("others were computing", page.pages(kept(row("task", 5.0), load=2.0))[page.PAGE])
        self.assertNotIn("others were computing", page.pages(kept(row("task", 5.0)))[page.PAGE])

    def test_a_goal_without_a_figure_is_told(self):
        self.assertIn("no figure", page.pages(kept(row("task", None, goal="ratio >= 3")))[page.PAGE])

    def test_plots_are_well_formed_and_name_every_line(self):
        drawn = page.draw("launch", [*STREAMS, row("a<b", 5.0, goal="ratio >= 3", verdict="short")])
        self.assertEqual(sorted(drawn), ["launch_goals.svg", "launch_streams_N.svg"])
        words = [element.text for element in ElementTree.fromstring(drawn["launch_streams_N.svg"]).iter() if element.text]
        for word in ("ours", "tbb", "pocl", "streams", "64"):
            self.assertIn(word, words)
        self.assertIn("a<b / tbb", [element.text for element in ElementTree.fromstring(drawn["launch_goals.svg"]).iter()])

    def test_labels_of_lines_that_end_together_stand_apart(self):
        places = sorted(plots._spread({"a": 100.0, "b": 100.0, "c": 101.0}, 0, 110).values())
        self.assertTrue(all(later - earlier >= 15 for earlier, later in zip(places, places[1:])))
        self.assertLessEqual(places[-1], 110)


if __name__ == "__main__":
    unittest.main()
