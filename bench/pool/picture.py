#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws how three pools hold the same trace at its peak: every mapped byte, live or free, as an SVG.

    python bench/pool/picture.py --bin-dir build/release/bin --output docs/pool_fragmentation.svg
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "cli"))
import files

DEFAULT_TRACE = pathlib.Path(__file__).resolve().parent.parent / "traces" / "resnet50_train.csv"

MIB = 1 << 20
ROW_BYTES = 32 * MIB
ROW_WIDTH = 300
ROW_HEIGHT = 8
ROW_STEP = 11
PANEL_STEP = ROW_WIDTH + 30
LEFT = 20
TOP = 84
LIVE = "#2f7d5b"
FREE = "#e4572e"
INK = "#222222"


def runs_of(snapshot):
    """Runs of addresses with memory behind them, in address order; each a list of (bytes, live), neighbours merged."""
    runs = []
    for span in sorted(snapshot["spans"], key=lambda s: int(s["address"], 16)):
        run = []
        for block in span["blocks"]:
            if block["state"] == "hole":
                if run:
                    runs.append(run)
                run = []
                continue
            live = block["state"] == "live"
            if run and run[-1][1] == live:
                run[-1] = (run[-1][0] + block["bytes"], live)
            else:
                run.append((block["bytes"], live))
        if run:
            runs.append(run)
    return runs


def pieces_of(runs):
    """(row, start, bytes, live) with offsets in the row: runs follow each other, and rows break them."""
    position = 0
    for run in runs:
        for size, live in run:
            while size > 0:
                row, start = divmod(position, ROW_BYTES)
                part = min(size, ROW_BYTES - start)
                yield row, start, part, live
                position += part
                size -= part


def panel(left, title, snapshot, live_bytes):
    """The SVG elements of one pool, and how many rows it has."""
    reserved = snapshot["statistics"]["reserved_bytes"]
    lines = [
        f'<text x="{left}" y="46" font-weight="bold">{title}</text>',
        f'<text x="{left}" y="64">reserved {reserved / MIB:,.0f} MiB, '
        f'live {live_bytes / MIB:,.0f} MiB: {reserved / live_bytes:.3f}</text>',
    ]
    rows = 0
    for row, start, size, live in pieces_of(runs_of(snapshot)):
        rows = row + 1
        x, width = left + start / ROW_BYTES * ROW_WIDTH, size / ROW_BYTES * ROW_WIDTH
        lines.append(f'<rect x="{x:.2f}" y="{TOP + row * ROW_STEP}" width="{width:.2f}" height="{ROW_HEIGHT}" '
                     f'fill="{LIVE if live else FREE}"/>')
    return lines, rows


def draw(panels, live_bytes):
    body, rows = [], 0
    for number, (title, snapshot) in enumerate(panels):
        lines, count = panel(LEFT + number * PANEL_STEP, title, snapshot, live_bytes)
        body += lines
        rows = max(rows, count)
    width = LEFT + len(panels) * PANEL_STEP
    height = TOP + rows * ROW_STEP + 16
    legend = [
        f'<rect x="{LEFT}" y="12" width="10" height="10" fill="{LIVE}"/>',
        f'<text x="{LEFT + 16}" y="21">live</text>',
        f'<rect x="{LEFT + 60}" y="12" width="10" height="10" fill="{FREE}"/>',
        f'<text x="{LEFT + 76}" y="21">reserved and not in use</text>',
        f'<text x="{LEFT + 260}" y="21">one row is {ROW_BYTES // MIB} MiB of mapped addresses, in address order, '
        "at the peak of the trace's fifth pass</text>",
    ]
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" fill="{INK}">')
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, ground, *legend, *body, "</svg>"]) + "\n"


def fragments(program, trace, folder):
    path = folder / f"{program.name}.json"
    done = subprocess.run([program, "--trace", trace, "--fragments", path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{program.name} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(path.read_text(encoding="utf-8"))


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", required=True, type=pathlib.Path, help="where the mp_bench_pool_* programs are")
    parser.add_argument("--trace", type=pathlib.Path, default=DEFAULT_TRACE)
    parser.add_argument("--output", required=True, type=pathlib.Path, help="the SVG to write")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        torch = fragments(arguments.bin_dir / "mp_bench_pool_torch", arguments.trace, folder)
        ours = fragments(arguments.bin_dir / "mp_bench_pool_ours", arguments.trace, folder)
    panels = [("PyTorch's policy", torch["torch"]), ("the same, expandable segments", torch["torch_expandable"]),
              ("Millpond's pool", ours)]
    files.write_whole(arguments.output, draw(panels, torch["live_bytes"]))
    for title, snapshot in panels:
        print(f"{title}: reserved / live {snapshot['statistics']['reserved_bytes'] / torch['live_bytes']:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
