# SPDX-License-Identifier: Apache-2.0
"""HTML and SVG from Python: text is escaped unless it was made here, so that a program's names stay text."""

import html

VOID = {"meta", "input", "br"}


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def escaped(value):
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def joined(parts, between=""):
    return Markup(escaped(between).join(escaped(part) for part in parts))


def e(tag, *children, **attributes):
    """<tag>children</tag>. class_ is class, data_x is data-x; an attribute of None or False is left out, one of True is bare."""
    written = ""
    for key, value in attributes.items():
        if value is not None and value is not False:
            name = key.rstrip("_").replace("_", "-")
            written += f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
    if tag in VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{joined(child for child in children if child is not None)}</{tag}>")


def sized(count):
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        units.pop(0)
    return f"{count:.{0 if units[0] == 'B' else 2 if count < 10 else 1}f} {units[0]}"


def plural(count, word, words=None):
    return f"{count:,} {word if count == 1 else words or word + 's'}"
