#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/performance.md and its plots from bench/results/*.json, which `./millpond bench NAME --keep` writes.

    bench/page.py [--check]
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import plots

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "performance"
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
# What a metric's number counts: (a pattern with the number as its group, the axis, how a tick is written).
NUMBERS = (
    (re.compile(r"(?<![A-Za-z0-9])(\d+)(B|KiB|MiB|GiB)(?![A-Za-z])"), "bytes"),
    (re.compile(r"^(?:streams)_(\d+)$"), "streams"),
    (re.compile(r"(?<=_)1e(\d+)$"), "ranges"),
)


def bytes_label(value):
    for unit in ("GiB", "MiB", "KiB"):
        if value >= UNITS[unit]:
            return f"{value / UNITS[unit]:g} {unit}"
    return f"{value:g} B"


def number_of(metric):
    """(the family's name, the number, what it counts), or None: `pair_4KiB` is 4096 bytes of `pair_SIZE`."""
    for pattern, what in NUMBERS:
        found = pattern.search(metric)
        if not found:
            continue
        if what == "bytes":
            return metric[:found.start()] + "SIZE" + metric[found.end():], int(found[1]) * UNITS[found[2]], what
        if what == "ranges":
            return metric[:found.start()] + "N", 10 ** int(found[1]), what
        return metric[:found.start(1)] + "N", int(found[1]), what
    return None


def families(rows):
    """name -> (unit, what the number counts, {subject: {number: figure}}) of what was measured at three sizes or more."""
    found = {}
    for row in rows:
        number = number_of(row["metric"])
        if number is None or not row["ours"] or ":" in row["peer"]:
            continue
        name, x, what = number
        unit, _, lines = found.setdefault(name, (row["unit"], what, {"ours": {}}))
        if unit != row["unit"]:
            continue
        lines["ours"][x] = row["ours"]
        if row["peer_value"] and row["peer"] not in ("-", "ours"):
            lines.setdefault(row["peer"], {})[x] = row["peer_value"]
    return {name: entry for name, entry in found.items() if len(entry[2]["ours"]) >= 3}


def goal_ratio(row):
    found = re.fullmatch(r"ratio >= ([\d.]+)", row["goal"] or "")
    return float(found[1]) if found else None


def draw(name, rows):
    """file name -> SVG, in the order of the page."""
    drawn = {}
    for family, (unit, what, lines) in families(rows).items():
        label = bytes_label if what == "bytes" else plots.short
        points = {subject: sorted(values.items()) for subject, values in lines.items() if len(values) >= 2}
        drawn[f"{name}_{family}.svg"] = plots.curves(f"{name}: {family}", unit, points, what, label)
    marks = [(f"{row['metric']} / {row['peer']}", row["ratio"], goal_ratio(row), row["verdict"] == "short")
             for row in rows if row["ratio"] and row["goal"] and row["peer"] not in ("-", "ours")]
    if marks:
        drawn[f"{name}_goals.svg"] = plots.ratios(f"{name}: how many times better than the peer", marks)
    return drawn


def show(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 10000 else f"{value:.4g}"


def section(name, kept, drawn):
    rows = [row for row in kept["rows"] if row["goal"]]
    reached = sum(row["verdict"] == "ok" for row in rows)
    lines = [f"## {name}", "", f"{kept['machine']}; {kept['date']}, commit {kept['commit']}, medians of {kept['repetitions']}: `./millpond bench {name}`."]
    if kept["load"] > 0.5:
        lines.append(f"The load average was {kept['load']:.1f} at the start: others were computing.")
    lines += [f"{reached} of {len(rows)} goals are reached." if rows else "No goals: figures for orientation.", ""]
    lines += [line for file in drawn for line in (f"![{file.removesuffix('.svg').replace('_', ' ')}](performance/{file})", "")]
    if rows:
        lines += ["| metric | ours | peer | peer's | ratio | goal | |", "|---|---|---|---|---|---|---|"]
        lines += [f"| {row['metric']} | {show(row['ours'])} {row['unit'] or ''} | {row['peer']} | {show(row['peer_value'])} | {show(row['ratio'])} | {row['goal']} | "
                  f"{ {'ok': 'ok', 'short': '**short**', None: 'no figure'}[row['verdict']]} |" for row in rows]
        lines.append("")
    return lines


def pages(results):
    """path -> text of the page and each plot; nothing without results. results: name -> what --keep wrote."""
    if not results:
        return {}
    lines = ["# Performance", "",
             "Written by `bench/page.py` from `bench/results`; do not edit. What each metric is and who the peers are: [bench/README.md](../bench/README.md).",
             "A ratio is how many times better ours is than the peer in the same run, whatever the unit. Rows without a goal are in the JSON files and the curves alone.", ""]
    written = {}
    for name, kept in sorted(results.items()):
        drawn = draw(name, kept["rows"])
        lines += section(name, kept, drawn)
        written.update({PLOTS / file: text for file, text in drawn.items()})
    written[PAGE] = "\n".join(lines).rstrip() + "\n"
    return written


def kept_results(folder=RESULTS):
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def stale(written):
    """Files that are not what the results give, and plots of results that are gone."""
    others = set(PLOTS.glob("*.svg")) - set(written)
    return sorted([path for path, text in written.items() if not path.exists() or path.read_text(encoding="utf-8") != text] + list(others))


def main(argv):
    written = pages(kept_results())
    if "--check" in argv:
        for path in stale(written):
            print(f"{path.relative_to(ROOT)} is not what bench/results gives; bench/page.py writes it anew")
        return 1 if stale(written) else 0
    PLOTS.mkdir(exist_ok=True)
    for path in set(PLOTS.glob("*.svg")) - set(written):
        path.unlink()
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} and {len(written) - 1} plots")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
