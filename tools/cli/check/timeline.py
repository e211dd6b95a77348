# SPDX-License-Identifier: Apache-2.0
"""Device memory over time by owner, of one process: a stacked chart that a browser scales to its window."""

from collections import defaultdict

from .markup import e, joined, sized

MAX_OWNERS = 8  # more share the colour of "others"
MAX_STEPS = 600  # a moment per pixel or two; of each span the one with the most memory is shown
OTHERS = "others"


def series(process):
    """(owners by their peak, [(milliseconds, bytes of each owner)], whether moments were left out). A long run has millions of moments."""
    several = len({row[1] for row in process.memory}) > 1
    peaks = defaultdict(int)
    for _, device, owner, live in process.memory:
        peaks[device, owner] = max(peaks[device, owner], live)
    keys = sorted(peaks, key=lambda key: -peaks[key])
    owners = [f"{owner}, device {device}" if several else owner for device, owner in keys]
    if len(owners) > MAX_OWNERS:
        owners = [*owners[:MAX_OWNERS - 1], OTHERS]
    place = {key: min(number, len(owners) - 1) for number, key in enumerate(keys)}
    # Clocks of records taken on several threads: a line may come a little after a later one's.
    moments = sorted(process.memory, key=lambda row: row[0])
    first = min(process.started_ns or moments[0][0], moments[0][0])
    span = (moments[-1][0] - moments[0][0]) / MAX_STEPS
    if len({row[0] for row in moments}) <= MAX_STEPS or span <= 0:
        bucket = lambda time: time
    else:
        bucket = lambda time: int((time - moments[0][0]) / span)
    steps, thinned = _steps(moments, place, len(owners), bucket)
    return owners, [((time - first) / 1e6, sums) for time, sums in steps], thinned


def _steps(moments, place, count, bucket):
    """(time, bytes of each owner): of each bucket of times the moment with the most bytes, and the very last. What happens at one time is one moment."""
    live, sums, steps = {}, [0] * count, []
    total, last, most, thinned = 0, None, -1, False
    for number, (time, device, owner, now) in enumerate(moments):
        change = now - live.get((device, owner), 0)
        live[device, owner] = now
        sums[place[device, owner]] += change
        total += change
        if number + 1 < len(moments) and moments[number + 1][0] == time:
            continue
        here = bucket(time)
        if here != last:
            steps.append((time, tuple(sums)))
            last, most = here, total
            continue
        thinned = True
        if total > most:
            steps[-1] = (time, tuple(sums))
            most = total
    if steps[-1][0] != moments[-1][0]:
        steps.append((moments[-1][0], tuple(sums)))
    return steps, thinned


def tick_step(most, count=4):
    """A round number of bytes (a power of two times 1, 2 or 4) so that about count of them reach most."""
    step = 1
    while step * count < most:
        step *= 2
    return step


def peak_of(steps):
    return max(sum(sums) for _, sums in steps)


def draw(process, drawn, number):
    """The chart of a series, its legend with each owner's share of the peak, and the data that the script reads for its tip."""
    owners, steps, thinned = drawn
    end = max(steps[-1][0] * 1.02, steps[0][0] + 1e-6)
    peak = max(steps, key=lambda step: sum(step[1]))
    most = max(1, sum(peak[1])) * 1.05
    paths = []
    below = [0] * len(steps)
    for place in range(len(owners)):
        above = [low + sums[place] for low, (_, sums) in zip(below, steps)]
        paths.append(e("path", e("title", owners[place]), d=_area(steps, below, above, end, most), class_=f"owner-{place}"))
        below = above
    unit = tick_step(most)
    rows = joined(e("span", sized(level), style=f"bottom:{100 * level / most:.2f}%") for level in range(0, int(most) + 1, unit))
    columns = joined(e("span", _time(part * end / 4), style=f"left:{25 * part}%") for part in range(5))
    plot = e("svg", *paths, viewBox="0 0 1000 240", preserveAspectRatio="none", aria_hidden="true")
    at_peak = f"{process.name}: peak {sized(sum(peak[1]))} at {_time(peak[0])}"
    legend = e("ul", *(e("li", e("i", class_=f"owner-{place}"), f"{owner} ", e("b", sized(peak[1][place]))) for place, owner in enumerate(owners)),
               class_="legend")
    frame = e("div", e("div", rows, class_="levels", aria_hidden="true"), e("div", plot, e("i", class_="cursor", hidden=True), class_="plot"),
              e("div", columns, class_="times", aria_hidden="true"), class_="timeline", tabindex="0", role="img", data_series=number,
              aria_label=f"Device memory over time. {at_peak}. Arrow keys read out moments.")
    note = e("p", "There were more moments than the chart has room for; of each span the one with the most memory is shown.",
             class_="hint") if thinned else None
    body = e("figure", e("figcaption", e("b", at_peak), e("span", " (at the peak: the figures below)", class_="quiet")), frame, legend,
             e("p", class_="tip", role="status", aria_live="polite"), note)
    return body, {"owners": owners, "end": end, "steps": [[round(at, 6), list(sums)] for at, sums in steps]}


def _area(steps, below, above, end, most):
    """A path of steps along the upper edge and back along the lower one."""
    x = [1000 * at / end for at, _ in steps] + [1000]
    y = lambda value: 240 - 240 * value / most
    path = f"M{x[0]:.1f} {y(above[0]):.1f}"
    for place, value in enumerate(above):
        path += f"V{y(value):.1f}H{x[place + 1]:.1f}"
    for place in range(len(below) - 1, -1, -1):
        path += f"V{y(below[place]):.1f}H{x[place]:.1f}"
    return path + "Z"


def _time(milliseconds):
    return f"{milliseconds / 1000:.2f} s" if milliseconds >= 1000 else f"{milliseconds:.3g} ms"
