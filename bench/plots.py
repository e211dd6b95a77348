# SPDX-License-Identifier: Apache-2.0
"""Plots of benchmark rows as SVG: growth curves, and how many times better ours is than each peer. Files that stand alone: no script, no font, light and dark."""

import html
import math

WIDTH = 720
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 46, 40
ROW = 16
# Told apart by those who see fewer colours too (Okabe and Ito); ours comes first and is the thickest line.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#8a6d3b")
STYLE = ("text{font:12px sans-serif;fill:#222}.t{font-weight:bold}.m{fill:#666}.g{stroke:#ddd}.a{stroke:#888}.w{fill:#fff}"
         "@media(prefers-color-scheme:dark){text{fill:#ddd}.m{fill:#aaa}.g{stroke:#3a3a3a}.a{stroke:#888}.w{fill:#16181d}}")


def _text(x, y, what, anchor="start", kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{html.escape(str(what))}</text>'


def _line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _svg(height, title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="{html.escape(title, quote=True)}">'
            f'<style>{STYLE}</style><rect width="{WIDTH}" height="{height}" class="w"/>{_text(12, 20, title, kind="t")}{"".join(body)}</svg>\n')


def short(value):
    """1500 -> 1.5 k, 3e6 -> 3 M: a tick's label."""
    for bound, sign in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= bound:
            return f"{value / bound:.4g}{sign}"
    return f"{value:.3g}"


class LogScale:
    """Values from least to largest on a length, by their logarithms, whole decades at both ends."""

    def __init__(self, values, start, end):
        self.low = math.floor(math.log10(min(values)) + 1e-9)
        self.high = max(math.ceil(math.log10(max(values)) - 1e-9), self.low + 1)
        self.start, self.end = start, end

    def __call__(self, value):
        return self.start + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self):
        step = max(1, (self.high - self.low + 5) // 6)
        return [10.0 ** power for power in range(self.low, self.high + 1, step)]


def curves(title, unit, lines, x_name, label=short):
    """lines: name -> [(x, y)]; both axes are logarithmic. `label` writes an x. The first line is drawn last, above the others."""
    height = 300
    points = [point for line in lines.values() for point in line]
    x_of = LogScale([x for x, _ in points], LEFT, WIDTH - RIGHT)
    y_of = LogScale([y for _, y in points], height - BOTTOM, TOP)
    body = []
    for tick in y_of.ticks():
        body += [_line(LEFT, y_of(tick), WIDTH - RIGHT, y_of(tick), "g"), _text(LEFT - 6, y_of(tick) + 4, short(tick), "end", "m")]
    for x in sorted({x for x, _ in points}):
        body += [_line(x_of(x), height - BOTTOM, x_of(x), height - BOTTOM + 4, "a"), _text(x_of(x), height - BOTTOM + 17, label(x), "middle", "m")]
    body += [_line(LEFT, height - BOTTOM, WIDTH - RIGHT, height - BOTTOM, "a"), _text(12, TOP - 10, unit, kind="m"),
             _text((LEFT + WIDTH - RIGHT) / 2, height - 6, x_name, "middle", "m")]
    ends = _spread({name: y_of(line[-1][1]) for name, line in lines.items()}, TOP + 6, height - BOTTOM)
    for number, (name, line) in reversed(list(enumerate(lines.items()))):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in line)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{1.5 if number else 3}"/>')
        body += [f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="{2.5 if number else 3.5}" fill="{colour}"/>' for x, y in line]
        body.append(f'<rect x="{WIDTH - RIGHT + 12}" y="{ends[name] - 5:.1f}" width="10" height="10" fill="{colour}"/>')
        body.append(_text(WIDTH - RIGHT + 28, ends[name] + 4, name))
    return _svg(height, title, body)


def _spread(places, low, high, apart=15):
    """Labels beside the ends of their lines, moved so that none covers another."""
    order = sorted(places, key=places.get)
    spread, last = {}, low - apart
    for name in order:
        last = spread[name] = max(places[name], last + apart)
    over = max(0.0, last - high)
    return {name: place - over for name, place in spread.items()}


def ratios(title, marks):
    """marks: (label, ratio, goal or None, short): a dot for each on a logarithmic axis; right of 1 ours is better. A goal is a stroke."""
    left = 250
    height = TOP + ROW * len(marks) + 42
    values = [value for _, ratio, goal, _ in marks for value in (ratio, goal) if value]
    x_of = LogScale([*values, 0.5, 2], left, WIDTH - 70)
    body = []
    for tick in x_of.ticks():
        body += [_line(x_of(tick), TOP, x_of(tick), height - 36, "g"), _text(x_of(tick), height - 22, f"{short(tick)} x", "middle", "m")]
    body.append(_line(x_of(1), TOP, x_of(1), height - 36, "a"))
    for number, (label, ratio, goal, is_short) in enumerate(marks):
        y = TOP + ROW * number + ROW / 2 + 2
        colour = COLOURS[5] if is_short else COLOURS[0]
        body.append(_text(left - 8, y + 4, label, "end"))
        body.append(f'<line x1="{x_of(1):.1f}" y1="{y:.1f}" x2="{x_of(ratio):.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="2"/>')
        body.append(f'<circle cx="{x_of(ratio):.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
        if goal:
            body.append(f'<line x1="{x_of(goal):.1f}" y1="{y - 6:.1f}" x2="{x_of(goal):.1f}" y2="{y + 6:.1f}" stroke="{COLOURS[1]}" stroke-width="2.5"/>')
        body.append(_text(WIDTH - 8, y + 4, f"{ratio:.2f} x", "end", "m"))
    body.append(_text(left, height - 6, "right of 1: ours is better; the stroke is the goal; red: short of it", kind="m"))
    return _svg(height, title, body)
