# SPDX-License-Identifier: Apache-2.0
"""The page of `check --html` and `run --report`: what is in it, and that a browser shows it, wide, narrow and dark."""

import json
import re
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import rendered
from check_lines import HOSTILE, again, end, finding, frame, hostile, largest, live, memory, stack, start

CHECKED = Path(__file__).with_name("checked.py")
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
MEMORY = [memory(1000, 4096), memory(1_001_000, 1 << 20, "graph <bert>"), memory(2_001_000, 8192), memory(3_001_000, 0, "graph <bert>")]


def page_of(tree, lines, *options, command=("check", "--html"), ending=None):
    spec, path = tree.root / "spec.json", tree.root / "page.html"
    spec.write_text(json.dumps({"lines": lines, **(ending or {})}))
    outcome = tree.call(*command, path, *options, "--", sys.executable, CHECKED, spec)
    assert path.exists(), outcome.stderr
    return path


def data_of(page):
    return json.loads(DATA.search(page)[1])


class Outline(HTMLParser):
    """Elements that are open at the end, ids, and words of the page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.words, self.tags = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


def test_the_page_has_everything_about_a_finding_and_needs_nothing_else(tree):
    lines = [start(rank=3), finding(), again(12), *MEMORY, largest((3 << 30, "constants of bert", 4)), live((1 << 30, "torch"), (4096, "aclrtMalloc")),
             end(1, ["2 ranges were forgotten"])]
    page = page_of(tree, lines).read_text()
    assert not re.search(r"https?:|\bsrc=|\bhref=|@import|url\((?!#)", page), "it would load something"
    outline = Outline(page)
    assert outline.open == [] and len(set(outline.ids)) == len(outline.ids)
    words = " ".join(" ".join(outline.words).split())
    for part in ("MP304 free-in-flight", "Trim, pool.cpp:140", "12 times", finding()["message"], "aclrtFree releases at once", 'page "aclrtFree"',
                 "Synchronise the stream first.", "no order", "stream 1: Memset, MatMul, Add (earlier).", "host: aclrtFree (later).", "Nothing orders the later",
                 "/src/net.cpp:77", "0x7f0000001000", "3.99 MiB between", "1.00 MiB freed", "offset 64", "fingerprint=0123456789abcdef", "(rank 3)",
                 "peak 1.01 MiB", "graph <bert>", "Largest blocks of the run", "3.00 GiB 4 constants of bert", "Reserve cache.cpp:31", "1.00 GiB", "2 ranges were forgotten", "The program exited with 0"):
        assert part in words, part


def test_names_stay_text(tree):
    lines = [start(program=HOSTILE, arguments=[HOSTILE]), hostile(), memory(5, 7, HOSTILE), live((9, HOSTILE)), end(1, [HOSTILE])]
    page = page_of(tree, lines).read_text()
    outline = Outline(page)
    assert outline.open == [] and outline.tags.count("script") == 2 == page.count("</script>")
    assert "c" not in outline.tags
    assert data_of(page)[0]["owners"] == [HOSTILE]


def test_a_stack_and_a_block_are_headed_by_the_users_line(tree):
    """A framework's own frames come first in a stack; they unfold with the rest."""
    frames = [frame("clip_grad_norm_", f"{tree.root}/venv/lib/site-packages/torch/clip_grad.py", 95), frame("step", f"{tree.root}/train.py", 13)]
    block = {"bytes": 4096, "owner": "torch", "device": 0, "count": 1, "frames": frames}
    lines = [start(), finding(stacks=[stack("Norm", "later", "the norm", *frames), stack("Mul", "earlier", "the product", *frames)]),
             {"event": "largest", "blocks": [block]}, {"event": "live", "blocks": [block]}, end(1)]
    words = " ".join(" ".join(Outline(page_of(tree, lines).read_text()).words).split())
    assert "the norm (Norm) step train.py:13 · thread 1" in words and "the product (Mul) step train.py:13" in words
    assert words.count("step train.py:13") == 4 == words.count("clip_grad_norm_")  # two stacks, two tables; the other once in each list of frames


def test_memory_is_summed_by_owner_and_follows_the_clock(tree):
    lines = [start(), memory(5_001_000, 10, device=1), *MEMORY, end()]  # lines of two threads may come in either order
    (series,) = data_of(page_of(tree, lines).read_text())
    assert series["owners"] == ["graph <bert>, device 0", "aclrtMalloc, device 0", "aclrtMalloc, device 1"]
    assert series["steps"] == [[0, [0, 4096, 0]], [1, [1 << 20, 4096, 0]], [2, [1 << 20, 8192, 0]], [3, [0, 8192, 0]], [5, [0, 8192, 10]]]


def test_a_chart_of_many_moments_keeps_the_peak(tree):
    lines = [start(), *(memory(1000 + at * 1000, 1 << 30 if at == 7777 else at) for at in range(20000)), end()]
    page = page_of(tree, lines).read_text()
    (series,) = data_of(page)
    assert len(series["steps"]) <= 601 and max(sums[0] for _, sums in series["steps"]) == 1 << 30
    assert series["steps"][-1][1] == [19999] and "more moments than the chart has room for" in page


def test_many_owners_share_a_colour_and_lose_no_byte(tree):
    lines = [start(), *(memory(1000 + at, 100 - at, f"owner {at}") for at in range(20)), end()]
    (series,) = data_of(page_of(tree, lines).read_text())
    assert len(series["owners"]) == 8 and series["owners"][-1] == "others"
    assert sum(series["steps"][-1][1]) == sum(100 - at for at in range(20))


def test_a_long_lane_is_cut_around_its_mark(tree):
    tasks = [{"count": at, "order": 2 * at, "name": f"Task{at}", "mark": "earlier" if at == 30 else ""} for at in range(1, 41)]
    lanes = [{"stream": 1, "label": "stream 1", "tasks": tasks}, {"stream": -1, "label": "host", "tasks": [{"count": 0, "order": 77, "name": "Free", "mark": "later"}]}]
    words = Outline(page_of(tree, [start(), finding(lanes=lanes), end(1)]).read_text()).words
    shown = {word for word in words if re.fullmatch(r"Task\d+", word)}
    assert shown == {f"Task{at}" for at in (28, 29, 30, 31, 32, 37, 38, 39)}
    boxes = [word for word in words if word in ("Task30", "Free")]
    assert boxes[:2] == ["Task30", "Free"]


def boxes_of(page):
    """By name, where the left and the upper edge of each box are."""
    found = re.findall(r'<g class="task[^"]*"><title>(?:#\d+ )?([^<,]*)[^<]*</title><rect x="(\d+)" y="(\d+)"', page)
    return {name: (int(x), int(y)) for name, x, y in found}


@pytest.mark.parametrize("earlier, later", [(0, 0), (5, 0), (0, 5), (2, 2)])
def test_the_later_operation_stands_to_the_right_of_the_earlier(tree, earlier, later):
    tasks = lambda count, mark, first: [{"count": at, "order": first + 2 * at, "name": mark if at == count else "T", "mark": mark if at == count else ""} for at in range(7)]
    lanes = [{"stream": 1, "label": "one", "tasks": tasks(earlier, "earlier", 2)}, {"stream": 2, "label": "two", "tasks": tasks(later, "later", 20)}]
    place = boxes_of(page_of(tree, [start(), finding(lanes=lanes), end(1)]).read_text())
    assert place["later"][0] > place["earlier"][0] + 132


def test_all_busy_lanes_are_drawn_in_the_order_of_calls_with_their_waits(tree):
    tasks = lambda *rows: [{"count": count, "order": order, "name": name, "mark": mark, **({"after": after} if after else {})}
                           for count, order, name, mark, after in rows]
    lanes = [{"stream": 1, "label": "one", "tasks": tasks((1, 2, "Write", "earlier", None), (2, 4, "Record", "", None))},
             {"stream": 2, "label": "two", "tasks": tasks((1, 12, "Read", "later", None))},
             {"stream": 3, "label": "three", "tasks": tasks((1, 1, "Long ago", "", None), (2, 6, "Wait", "", [1, 2]), (3, 8, "Add", "", None))},
             {"stream": -1, "label": "the host", "tasks": tasks((0, 11, "waits for stream 3", "", None))}]
    page = page_of(tree, [start(), finding(lanes=lanes), end(1)]).read_text()
    place = boxes_of(page)
    columns = {name: x for name, (x, _) in place.items()}
    assert columns["Long ago"] < columns["Write"] < columns["Record"] < columns["Wait"] < columns["Add"] < columns["Read"]
    assert columns["Write"] < columns["waits for stream 3"] < columns["Read"]
    assert len({y for _, y in place.values()}) == 4
    # One arrow that is there, from the record to the wait, and the one that is missing.
    assert page.count('class="order-line"') == page.count('class="missing-line"') == 1


def test_no_more_lanes_are_drawn_than_fit_and_the_marked_ones_always(tree):
    lanes = [{"stream": at, "label": f"s{at}", "tasks": [{"count": 1, "order": at, "name": f"Task{at}", "mark": {18: "earlier", 19: "later"}.get(at, "")}]} for at in range(20)]
    place = boxes_of(page_of(tree, [start(), finding(lanes=lanes), end(1)]).read_text())
    assert len(place) == 8 and {"Task18", "Task19"} <= set(place)


def test_a_program_without_findings_says_so(tree):
    assert "Nothing was found." in page_of(tree, [start(), end()]).read_text()
    assert "nothing was checked" in page_of(tree, []).read_text()


@pytest.mark.parametrize("last, says", [([end()], "Nothing: all memory was given back."), ([], "Not known: a process left without a last line.")])
def test_a_page_without_live_blocks_says_why(tree, last, says):
    assert says in page_of(tree, [start(), *MEMORY, *last]).read_text()


def test_run_writes_the_page_without_checking(tree):
    environment = tree.root / "environment.json"
    lines = [start(), *MEMORY, live((4096, "aclrtMalloc")), end()]
    page = page_of(tree, lines, command=("run", "--report"), ending={"environment": str(environment), "exit": 0}).read_text()
    assert "Largest blocks that were live" in page and "peak 1.01 MiB" in page and "Findings" not in page
    values = json.loads(environment.read_text())
    assert values["MILLPOND_REPORT"] == "1" and "MILLPOND_CHECK" not in values and "TASK_QUEUE_ENABLE" not in values


def test_pinned_memory_of_the_host_is_no_memory_of_a_device(tree):
    page = page_of(tree, [start(), memory(5, 1 << 20), memory(6, 1 << 30, "aclrtMallocHost", -1), end()]).read_text()
    assert "peak 1.00 MiB" in page and "aclrtMallocHost" not in page and "device -1" not in page


@pytest.mark.parametrize("ending, expected", [({"exit": 0}, 0), ({"exit": 9}, 9), ({"kill": 15}, -15)])
def test_run_with_a_report_still_ends_as_the_program(tree, ending, expected):
    spec = json.dumps({"lines": [start(), finding(), end(1)], **ending})
    outcome = tree.call("run", "--report", "page.html", "--", sys.executable, CHECKED, spec)
    assert outcome.returncode == expected and (tree.root / "page.html").exists()
    assert tree.call("run", "--report", "/dev/full", "--", sys.executable, CHECKED, spec).returncode == expected


LINES = [start(), finding(), finding(rule="MP502", severity="warning", fingerprint="1" * 16, lanes=[], memory=[]), *MEMORY, live((1 << 20, "aclrtMalloc")), end(1)]


@pytest.mark.parametrize("size", ["1600,1000", "390,800"])
@pytest.mark.parametrize("scheme", ["0", "1"])  # dark, light
def test_a_browser_shows_the_page_without_script_errors(tree, size, scheme):
    shown = rendered(page_of(tree, LINES), f"--window-size={size}", f"--blink-settings=preferredColorScheme={scheme}")
    assert 'data-state="ready"' in shown and "data-errors" not in shown
    assert 'id="tools" hidden' not in shown, "the script shows what it serves"


def test_a_browser_shows_hostile_names(tree):
    shown = rendered(page_of(tree, [start(), hostile(), memory(5, 7, HOSTILE), end(1)]))
    assert 'data-state="ready"' in shown and "data-errors" not in shown


def probed(page, script):
    """What a script finds on the page when its own has run."""
    probe = f"<script>document.documentElement.dataset.probe = JSON.stringify((() => {{ {script} }})());</script></body>"
    page.write_text(page.read_text().replace("</body>", probe))
    return page


def answer(shown):
    text = re.search(r'data-probe="([^"]*)"', shown)[1]
    return json.loads(unescape(text))


@pytest.mark.parametrize("size", ["1600,1000", "500,800"])
def test_nothing_is_wider_than_the_window(tree, size):
    page = probed(page_of(tree, LINES), "document.getElementById('unfold').click(); const root = document.documentElement;"
                                        "return [root.scrollWidth, root.clientWidth];")
    wide, window = answer(rendered(page, f"--window-size={size}"))
    assert wide <= window


def test_the_later_operation_is_in_view_in_a_narrow_window(tree):
    page = probed(page_of(tree, LINES), "const later = document.querySelector('.lanes .later').getBoundingClientRect();"
                                        "return [later.left >= 0, later.right <= innerWidth];")
    assert answer(rendered(page, "--window-size=500,800")) == [True, True]


def test_the_filter_hides_what_does_not_match_and_tells_how_many_are_left(tree):
    page = probed(page_of(tree, LINES), "const box = document.getElementById('search'); box.value = 'mp502'; box.dispatchEvent(new Event('input'));"
                                        "const first = [...document.querySelectorAll('.finding')].map((each) => each.hidden);"
                                        "document.querySelector('.kind[value=warning]').click();"
                                        "return [first, document.getElementById('shown').textContent];")
    assert answer(rendered(page)) == [[True, False], "0 of 2 shown"]


def test_arrow_keys_read_out_the_chart(tree):
    page = probed(page_of(tree, LINES), "const chart = document.querySelector('.timeline'); const told = [];"
                                        "for (const key of ['ArrowRight', 'ArrowRight', 'End', 'Home']) {"
                                        "  chart.dispatchEvent(new KeyboardEvent('keydown', { key }));"
                                        "  told.push(document.querySelector('.tip').textContent); } return told;")
    told = answer(rendered(page))
    assert told == ["0.00 ms: 4.00 KiB (aclrtMalloc 4.00 KiB)", "1.00 ms: 1.00 MiB (graph <bert> 1.00 MiB, aclrtMalloc 4.00 KiB)",
                    "3.00 ms: 8.00 KiB (aclrtMalloc 8.00 KiB)", "0.00 ms: 4.00 KiB (aclrtMalloc 4.00 KiB)"]


def test_a_link_to_a_finding_unfolds_it(tree):
    shown = rendered(page_of(tree, LINES), fragment="#finding-2")
    assert re.search(r'<details[^>]*id="finding-2"[^>]*open', shown)
