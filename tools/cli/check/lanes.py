# SPDX-License-Identifier: Apache-2.0
"""The lanes of a finding as SVG: a row per stream and one for the host, the arrows that order them, and the one that is missing.

Columns go by the order of calls: what was called before the earlier operation stands to its left, what was called before the later one to the
left of that. They carry no time: what stands below each other need not have run together.
"""

from .markup import e

LABEL, COLUMN, ROW, BOX_HEIGHT, GAP = 96, 132, 58, 34, 14
MAX_LANES = 8
BEFORE, BETWEEN, BEHIND = 2, 4, 1  # tasks of a lane before, between and behind the two operations
LABEL_LETTERS, TASK_LETTERS, MARK_LETTERS = 12, 15, 19
BELOW = 8  # the arrow's label, should both be in the last lane
MARKS = ("earlier", "later")


class Box:
    """A task in the picture: its column, and whether tasks of its lane were left out before it."""

    def __init__(self, task, stream, row, skips):
        self.task, self.key, self.row, self.skips, self.column = task, (stream, task.count), row, skips, 0

    @property
    def left(self):
        return LABEL + self.column * COLUMN

    @property
    def top(self):
        return 4 + self.row * ROW + (ROW - BOX_HEIGHT) // 2


def draw(lanes, number):
    """The picture and its words; number makes its ids unique on the page."""
    lanes = _chosen(lanes)
    marks = sorted(task.order for lane in lanes for task in lane.tasks if task.mark in MARKS)
    first, last = (marks[0], marks[-1]) if marks else (0, 0)
    rows = [_kept(lane, row, first, last) for row, lane in enumerate(lanes)]
    columns = _place([box for boxes in rows for box in boxes], first, last)
    at = {}
    for box in (box for boxes in rows for box in boxes if box.task.mark in MARKS):
        at.setdefault(box.task.mark, box)
    width, height = LABEL + columns * COLUMN + 10, len(lanes) * ROW + 8 + BELOW
    parts = [_row(lane, boxes, row, width) for row, (lane, boxes) in enumerate(zip(lanes, rows))]
    parts.append(_orders(rows, number))
    if len(at) == 2:
        parts.append(_missing(at["earlier"], at["later"], number))
    title = e("title", "Streams and host around the two operations", id=f"lanes-{number}")
    words = e("desc", in_words(lanes, rows, at), id=f"lanes-words-{number}")
    return e("svg", title, words, *parts, class_="lanes", width=width, height=height, viewBox=f"0 0 {width} {height}", role="img",
             aria_labelledby=f"lanes-{number} lanes-words-{number}")


def in_words(lanes, rows, at):
    told = [f"{lane.label}: {', '.join(box.task.name + (f' ({box.task.mark})' if box.task.mark else '') for box in boxes)}."
            for lane, boxes in zip(lanes, rows)]
    if len(at) == 2:
        told.append("Nothing orders the later operation behind the earlier one.")
    return " ".join(told)


def _chosen(lanes):
    """Lanes with a mark first when there are too many, in their own order."""
    marked = [lane for lane in lanes if any(task.mark for task in lane.tasks)]
    rest = [lane for lane in lanes if lane not in marked]
    kept = (marked + rest)[:MAX_LANES]
    return [lane for lane in lanes if lane in kept]


def _kept(lane, row, first, last):
    """The boxes of a lane: marked ones, and of the rest those next to the two operations."""
    tasks = lane.tasks
    plain = lambda inside: [place for place, task in enumerate(tasks) if task.mark not in MARKS and inside(task.order)]
    before, between, behind = plain(lambda at: at < first), plain(lambda at: first <= at <= last), plain(lambda at: at > last)
    if len(between) > BETWEEN:
        between = between[:BETWEEN // 2] + between[-BETWEEN // 2:]
    places = sorted({*before[-BEFORE:], *between, *behind[:BEHIND], *(place for place, task in enumerate(tasks) if task.mark in MARKS)})
    return [Box(tasks[place], lane.stream, row, place > (places[index - 1] + 1 if index else 0)) for index, place in enumerate(places)]


def _place(boxes, first, last):
    """Gives each box its column; how many columns there are."""
    used = _pack([box for box in boxes if box.task.order < first], 0)
    used = _pack([box for box in boxes if box.task.order == first], used)
    begin = used
    used = _pack([box for box in boxes if first < box.task.order < last], used)
    if last > first:
        used = max(used, begin + 1)  # room for the arrow
    used = _pack([box for box in boxes if first < last == box.task.order], used)
    return max(1, _pack([box for box in boxes if box.task.order > last], used))


def _pack(boxes, begin):
    """One behind the other in its lane, and behind what it waits for, from a column on; the first column that is free in all lanes."""
    ends, columns = {}, {}
    for box in sorted(boxes, key=lambda box: box.task.order):
        box.column = max(ends.get(box.row, begin), columns.get(box.task.after, begin - 1) + 1)
        ends[box.row] = box.column + 1
        columns[box.key] = box.column
    return max(ends.values(), default=begin)


def _short(text, letters):
    return text if len(text) <= letters else text[:letters - 1] + "…"


def _row(lane, boxes, row, width):
    middle = 4 + row * ROW + ROW / 2
    parts = [e("text", _short(lane.label, LABEL_LETTERS), e("title", lane.label), x=4, y=middle, class_="lane-name"),
             e("line", x1=LABEL - 8, y1=middle, x2=width - 2, y2=middle, class_="lane-line")]
    for box in boxes:
        task, x, y = box.task, box.left, box.top
        name = task.name or "task"
        order = f"#{task.count} " if task.count > 0 else ""
        if box.skips:
            parts.append(e("text", "…", x=x - GAP + 1, y=middle - 7, class_="lane-name"))
        parts.append(e("g", e("title", f"{order}{name}" + (f", the {task.mark} operation" if task.mark else "")),
                       e("rect", x=x, y=y, width=COLUMN - GAP, height=BOX_HEIGHT, rx=5),
                       e("text", _short(name, TASK_LETTERS), x=x + (COLUMN - GAP) / 2, y=y + (14 if task.mark else BOX_HEIGHT / 2), class_="task-name"),
                       e("text", _short(f"{task.mark}, {lane.label}", MARK_LETTERS), x=x + (COLUMN - GAP) / 2, y=y + 26, class_="task-mark") if task.mark else None,
                       class_=f"task {task.mark if task.mark in MARKS else ''}".strip()))
    return e("g", *parts)


def _arrow(start, end, aside=0):
    """From the end of one box to the beginning of another, between rows and columns of boxes; where it runs across, and between which ends."""
    x0, y0 = start.left + COLUMN - GAP, start.top + BOX_HEIGHT / 2
    x1, y1 = end.left - 1, end.top + BOX_HEIGHT / 2
    between = (y1 - ROW / 2 if y1 > y0 else y1 + ROW / 2) + aside
    return f"M{x0} {y0}H{x0 + GAP / 2 + aside}V{between}H{end.left - GAP / 2 + aside}V{y1}H{x1}", between, (x0 + x1) / 2


def _head(name):
    return e("defs", e("marker", e("path", d="M0 0 8 4 0 8Z"), id=name, viewBox="0 0 8 8", refX=8, refY=4, markerWidth=8, markerHeight=8,
                       orient="auto", markerUnits="userSpaceOnUse"))


def _orders(rows, number):
    """Arrows of the waits whose both ends are shown."""
    shown = {box.key: box for boxes in rows for box in boxes if box.task.count > 0}
    head = f"order-{number}"
    lines = [e("path", d=_arrow(shown[box.task.after], box, aside=3)[0], marker_end=f"url(#{head})", class_="order-line")
             for box in shown.values() if box.task.after in shown]
    return e("g", _head(head), *lines, class_="orders") if lines else None


def _missing(start, end, number):
    """The dashed arrow from the earlier operation to the later one."""
    head = f"head-{number}"
    path, between, x = _arrow(start, end)
    line = e("path", d=path, marker_end=f"url(#{head})", class_="missing-line")
    label = e("g", e("rect", x=x - 34, y=between - 10, width=68, height=20, rx=10), e("text", "no order", x=x, y=between), class_="missing-label")
    return e("g", _head(head), line, label, class_="missing")
