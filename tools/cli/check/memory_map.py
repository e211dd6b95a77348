# SPDX-License-Identifier: Apache-2.0
"""The blocks around a finding, by address, and in the marked ones the range that was used."""

import math

from .markup import e, plural, sized

STATES = ("live", "freed", "quarantine", "free")


def draw(blocks, objects):
    """A strip of boxes (wider for more bytes, not in proportion: a 512 B block stands beside one of a GiB) and the same as a table."""
    blocks = sorted(blocks, key=lambda block: block.begin)
    if not blocks:
        return None
    ranges = {str(each.get("name", "")).rpartition(" ")[2]: each for each in objects if each.get("kind") == "block"}
    boxes, end = [], None
    for block in blocks:
        if end is not None and block.begin > end:
            boxes.append(e("span", f"{sized(block.begin - end)} between", class_="gap"))
        boxes.append(_box(block, ranges.get(block.number)))
        end = max(end or 0, block.begin + block.bytes)
    rows = [e("tr", e("td", f"{block.number}" + (" (used)" if block.mark else "")), e("td", hex(block.begin), class_="address"),
              e("td", f"{block.bytes:,}", class_="number"), e("td", block.state), e("td", block.label, class_="name")) for block in blocks]
    head = e("tr", *(e("th", title, scope="col", class_="number" if title == "bytes" else None) for title in ("block", "address", "bytes", "state", "allocated")))
    return e("figure", e("figcaption", "Memory around it, by address"), e("div", *boxes, class_="map", aria_hidden="true"),
             e("details", e("summary", plural(len(blocks), "block")), e("div", e("table", e("thead", head), e("tbody", *rows)), class_="scroll")))


def _box(block, used):
    state = block.state if block.state in STATES else "other"
    inner = _range(block, used) if block.mark and used else None
    title = f"block {block.number}, {sized(block.bytes)}, {block.state} {block.label}".strip()
    return e("span", inner, e("b", block.number), e("small", f"{sized(block.bytes)} {block.state}"), class_=f"block {state}{' marked' if block.mark else ''}",
             style=f"flex-grow:{1 + math.log2(max(1, block.bytes)):.1f}", title=title)


def _range(block, used):
    try:
        offset, count = int(used.get("offset", 0)), int(used.get("range_bytes", 0))
    except (TypeError, ValueError):
        return None
    if count <= 0 or block.bytes <= 0 or not 0 <= offset < block.bytes:
        return None
    left = 100 * offset / block.bytes
    width = max(1.5, min(100 - left, 100 * count / block.bytes))
    return e("i", style=f"left:{min(left, 98.5):.2f}%;width:{width:.2f}%")
