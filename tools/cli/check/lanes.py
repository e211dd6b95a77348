# SPDX-License-Identifier: Apache-2.0
"""The lanes of a finding as SVG: a row per stream and one for the host, tasks in their order, and the arrow that is missing.

Nothing but the order inside a lane is known, so columns carry no time; the later operation only stands to the right of the
earlier one.
"""

from .markup import e

LABEL, COLUMN, ROW, BOX_HEIGHT, GAP = 96, 132, 58, 34, 14
MAX_TASKS, MAX_LANES = 9, 8
LABEL_LETTERS, TASK_LETTERS, MARK_LETTERS = 12, 15, 19
BELOW = 8  # the arrow's label, should both be in the last lane
AHEAD = 2  # columns from the earlier operation to the later one: room for the arrow


def draw(lanes, number):
    """The picture and its words; number makes its ids unique on the page."""
    lanes = [(lane, *_around_mark(lane.tasks)) for lane in _chosen(lanes)]
    at = {}
    for row, (_, tasks, _) in enumerate(lanes):
        for place, task in enumerate(tasks):
            if task.mark in ("earlier", "later") and task.mark not in at:
                at[task.mark] = (row, place)
    shifts = _shifts(at, len(lanes))
    columns = max((len(tasks) + shifts[row] for row, (_, tasks, _) in enumerate(lanes)), default=1)
    width, height = LABEL + columns * COLUMN + 10, len(lanes) * ROW + 8 + BELOW
    parts = [_row(lane, tasks, cut, row, shifts[row], width) for row, (lane, tasks, cut) in enumerate(lanes)]
    if len(at) == 2:
        parts.append(_missing(*(_corner(row, place + shifts[row]) for row, place in (at["earlier"], at["later"])), number))
    title = e("title", "Streams and host around the two operations", id=f"lanes-{number}")
    words = e("desc", in_words(lanes, at), id=f"lanes-words-{number}")
    return e("svg", title, words, *parts, class_="lanes", width=width, height=height, viewBox=f"0 0 {width} {height}", role="img",
             aria_labelledby=f"lanes-{number} lanes-words-{number}")


def in_words(lanes, at):
    told = [f"{lane.label}: {', '.join(task.name + (f' ({task.mark})' if task.mark else '') for task in tasks)}." for lane, tasks, _ in lanes]
    if len(at) == 2:
        told.append("Nothing orders the later operation behind the earlier one.")
    return " ".join(told)


def _chosen(lanes):
    """Lanes with a mark first when there are too many, in their own order."""
    marked = [lane for lane in lanes if any(task.mark for task in lane.tasks)]
    rest = [lane for lane in lanes if lane not in marked]
    kept = (marked + rest)[:MAX_LANES]
    return [lane for lane in lanes if lane in kept]


def _around_mark(tasks):
    """At most MAX_TASKS tasks, the marked ones among them; and whether some were left out before and behind."""
    if len(tasks) <= MAX_TASKS:
        return tasks, (False, False)
    mark = next((place for place, task in enumerate(tasks) if task.mark), len(tasks) - 1)
    first = min(max(0, mark - MAX_TASKS // 2), len(tasks) - MAX_TASKS)
    return tasks[first:first + MAX_TASKS], (first > 0, first + MAX_TASKS < len(tasks))


def _shifts(at, count):
    """Columns that each lane moves to the right, so that the later operation is AHEAD of the earlier."""
    shifts = [0] * count
    if len(at) == 2 and at["earlier"][0] != at["later"][0]:
        (earlier_row, earlier), (later_row, later) = at["earlier"], at["later"]
        shifts[earlier_row] = max(0, later - AHEAD - earlier)
        shifts[later_row] = max(0, earlier + AHEAD - later)
    return shifts


def _corner(row, column):
    return LABEL + column * COLUMN, 4 + row * ROW + (ROW - BOX_HEIGHT) // 2


def _short(text, letters):
    return text if len(text) <= letters else text[:letters - 1] + "…"


def _row(lane, tasks, cut, row, shift, width):
    _, top = _corner(row, 0)
    middle = top + BOX_HEIGHT / 2
    parts = [e("text", _short(lane.label, LABEL_LETTERS), e("title", lane.label), x=4, y=middle, class_="lane-name"),
             e("line", x1=LABEL - 8, y1=middle, x2=width - 2, y2=middle, class_="lane-line")]
    parts += [e("text", "…", x=x, y=middle - 6, class_="lane-name")
              for x, is_cut in ((LABEL - 14, cut[0]), (width - 14, cut[1])) if is_cut]
    for place, task in enumerate(tasks):
        x, y = _corner(row, place + shift)
        name = task.name or "task"
        order = f"#{task.count} " if task.count > 0 else ""
        parts.append(e("g", e("title", f"{order}{name}" + (f", the {task.mark} operation" if task.mark else "")),
                       e("rect", x=x, y=y, width=COLUMN - GAP, height=BOX_HEIGHT, rx=5),
                       e("text", _short(name, TASK_LETTERS), x=x + (COLUMN - GAP) / 2, y=y + (14 if task.mark else BOX_HEIGHT / 2), class_="task-name"),
                       e("text", _short(f"{task.mark}, {lane.label}", MARK_LETTERS), x=x + (COLUMN - GAP) / 2, y=y + 26, class_="task-mark") if task.mark else None,
                       class_=f"task {task.mark if task.mark in ('earlier', 'later') else ''}".strip()))
    return e("g", *parts)


def _missing(start, end, number):
    """The dashed arrow from the end of the earlier operation to the beginning of the later one, between rows and columns of boxes."""
    head = f"head-{number}"
    x0, y0 = start[0] + COLUMN - GAP, start[1] + BOX_HEIGHT / 2
    x1, y1 = end[0] - 1, end[1] + BOX_HEIGHT / 2
    between = y1 - ROW / 2 if y1 > y0 else y1 + ROW / 2
    marker = e("marker", e("path", d="M0 0 8 4 0 8Z"), id=head, viewBox="0 0 8 8", refX=8, refY=4, markerWidth=8, markerHeight=8,
               orient="auto", markerUnits="userSpaceOnUse")
    line = e("path", d=f"M{x0} {y0}H{x0 + GAP / 2}V{between}H{x1 - GAP / 2}V{y1}H{x1}", marker_end=f"url(#{head})", class_="missing-line")
    x = (x0 + x1) / 2
    label = e("g", e("rect", x=x - 34, y=between - 10, width=68, height=20, rx=10), e("text", "no order", x=x, y=between), class_="missing-label")
    return e("g", e("defs", marker), line, label, class_="missing")
