# SPDX-License-Identifier: Apache-2.0
"""millpond-plan as `./millpond plan` calls it: figures, exit status, messages with line and column, and the chart."""

import json
import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "plan"))
import problems

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(name="plan")
def plan_fixture(ascend):
    def call(*arguments, text=None, status=0):
        outcome = subprocess.run([str(ascend / "bin" / "millpond-plan"), *map(str, arguments)], input=text,
                                 capture_output=True, text=True, timeout=120, check=False)
        assert outcome.returncode == status, outcome.stdout + outcome.stderr
        return outcome.stdout if status != 2 else outcome.stderr
    return call


def puzzle(seed, height, end, count):
    """A block of memory and time cut into buffers without a gap: fits at exactly `height`, and that is hard to see."""
    rows = problems.puzzle(seed, height, end, count)
    return "\n".join(["id,lower,upper,size", *(f"{i},{low},{high},{size}" for i, (low, high, size) in enumerate(rows))]) + "\n"


def figures(text):
    return json.loads(text)


def test_prints_peak_bound_ratio_and_time(plan):
    text = plan("-", text="id,lower,upper,size\na,0,2,100\nb,1,3,60\nc,2,4,100\n")
    words = {line.split()[0]: line.split()[1] for line in text.splitlines()}
    assert (words["buffers"], words["peak"], words["bound"], words["ratio"]) == ("3", "160", "160", "1.0000")
    assert float(words["time"]) >= 0
    assert "fits" not in words


@pytest.mark.parametrize("seed", range(4))
def test_hard_puzzles_are_solved_at_their_capacity_and_above(plan, tmp_path, seed):
    file = tmp_path / "puzzle.csv"
    file.write_text(puzzle(seed, 1024, 5000, 160))
    for factor in (1, 1.01, 1.1):
        found = figures(plan("--json", "--capacity", int(1048576 * factor), file))
        assert found["bound"] == 1048576
        assert found["fits"] and found["peak"] <= 1048576 * factor


def test_exit_status_tells_whether_the_plan_fits(plan):
    text = "id,lower,upper,size\na,0,2,100\nb,1,3,60\n"
    assert "fits     yes" in plan("--capacity", 160, "-", text=text)
    assert "no plan can: more is live at once" in plan("--capacity", 159, "-", text=text, status=1)


def test_steps_give_the_same_plan_each_time(plan, tmp_path):
    file, first, second = tmp_path / "p.csv", tmp_path / "1.csv", tmp_path / "2.csv"
    file.write_text(puzzle(9, 1024, 5000, 200))
    plan("--steps", 2000, "--out", first, file)
    plan("--steps", 2000, "--out", second, file)
    assert first.read_text() == second.read_text()
    rows = [line.split(",") for line in first.read_text().splitlines()]
    assert rows[0] == ["id", "lower", "upper", "size", "offset"]
    boxes = [tuple(map(int, row[1:])) for row in rows[1:]]
    for i, (low, high, size, at) in enumerate(boxes):
        for other_low, other_high, other_size, other_at in boxes[:i]:
            assert low >= other_high or other_low >= high or at >= other_at + other_size or other_at >= at + size


def test_greedy_orders_are_there_for_comparison_and_never_better(plan, tmp_path):
    file = tmp_path / "p.csv"
    file.write_text(puzzle(5, 1024, 5000, 120))
    best = figures(plan("--json", file))["peak"]
    for order in ("size", "area", "pressure", "lifetime", "birth"):
        for fit in ("best", "first"):
            assert figures(plan("--json", "--method", f"{order}-{fit}", file))["peak"] >= best


def test_columns_in_any_order_with_alignment_and_old_names(plan):
    text = "size,start,end,alignment,buffer_id\n100,0,1,64,a\n100,1,2,64,b\n"
    assert figures(plan("--json", "-", text=text))["peak"] == 228  # `end` is the last moment, so both live at 1


def test_degenerate_buffers_are_planned(plan):
    for text, peak in (("id,lower,upper,size\n", 0), ("id,lower,upper,size\na,5,5,100\nb,0,9,0\n", 0),
                       ("\ufeffid,lower,upper,size\r\na,-4,2,7\r\n\r\n", 7),
                       (f"id,lower,upper,size\na,{-2**63},{2**63 - 1},9\nb,0,1,{2**61}\n", 2**61 + 9)):
        assert figures(plan("--json", "-", text=text))["peak"] == peak


@pytest.mark.parametrize("text, said", [
    ("", "-:1:1: the file is empty"),
    ("id,lower,upper\n", "-:1:1: the header has no column 'size'"),
    ("id,lower,upper,size,colour\n", "-:1:21: unknown column 'colour'"),
    ("id,lower,lower,size\n", "-:1:10: a second column 'lower'"),
    ("id,lower,upper,size\na,1,2\n", "-:2:5: 3 fields; the header has 4"),
    ("id,lower,upper,size\na,1,2,3\nb,1,2,3x\n", "-:3:7: size is '3x', which is not a whole number"),
    ("id,lower,upper,size\na,1,99999999999999999999,3\n", "-:2:5: upper is '99999999999999999999', which is beyond 64 bits"),
    ("id,lower,upper,size\na,7,2,3\n", "-:2:5: the buffer ends at 2, before it begins at 7"),
    ("id,lower,upper,size\na,1,2,-3\n", "-:2:7: the size -3 is negative"),
    ("id,lower,upper,size,alignment\na,1,2,3,48\n", "-:2:9: the alignment 48 is not a power of two"),
    (f"id,lower,upper,size\na,1,2,{2**61}\nb,1,2,{2**61}\n", "-:3:7: all sizes together reach 2^62 bytes"),
])
def test_bad_files_are_refused_with_line_and_column(plan, text, said):
    assert said in plan("-", text=text, status=2)


@pytest.mark.parametrize("arguments, said", [
    ((), "no file given"), (("a", "b"), "two files were given"), (("--capacity", "-"), "expected a size above 0"),
    (("--seconds", "0", "x"), "expected a number above 0"), (("--depth", "3", "x"), "unknown option '--depth'"),
    (("--steps",), "--steps needs a value"), (("no_such_file.csv",), "cannot be opened: No such file"),
    (("--method", "luck", "-"), "--method luck: expected"),
])
def test_bad_calls_are_refused(plan, arguments, said):
    assert said in plan(*arguments, text="id,lower,upper,size\n", status=2)


def test_the_picture_has_a_box_with_a_title_for_each_buffer(plan, tmp_path):
    svg = tmp_path / "plan.svg"
    plan("--capacity", 400, "--svg", svg, "-", text="id,lower,upper,size\n<a>,0,2,100\nb,1,3,60\nc,2,4,0\n")
    root = ElementTree.parse(svg).getroot()
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert sorted(title.split(":")[0] for title in titles) == ["<a>", "b"]
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert any("capacity" in word for word in words) and any("ratio 1.0000, optimal" in word for word in words)


def test_a_picture_of_very_many_buffers_merges_the_smallest(plan, tmp_path):
    dice = random.Random(1)
    lines = ["id,lower,upper,size"]
    for i in range(30000):
        start = dice.randrange(30000)
        lines.append(f"{i},{start},{start + 1 + dice.randrange(40)},{16 * dice.randrange(1, 4096)}")
    svg = tmp_path / "plan.svg"
    found = figures(plan("--json", "--svg", svg, "-", text="\n".join(lines)))
    assert found["ratio"] <= 1.02
    assert svg.stat().st_size < 8_000_000
    root = ElementTree.parse(svg).getroot()
    assert any("18000 smallest" in (text.text or "") for text in root.iter(f"{SVG}text"))


def test_a_problem_is_read_from_a_file_alone_and_a_page_follows_no_link(plan, tmp_path):
    """Issue 13: a pipe held the planner for ever, and a planted link led its output into another file."""
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is not a file but a pipe" in plan(tmp_path / "pipe.csv", status=2)
    assert "is not a file but a device" in plan("/dev/zero", status=2)
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "out.csv").symlink_to(tmp_path / "victim")
    plan("--out", tmp_path / "out.csv", "-", text="id,lower,upper,size\na,0,2,100\n")
    assert (tmp_path / "victim").read_text() == "precious" and "offset" in (tmp_path / "out.csv").read_text()
