# SPDX-License-Identifier: Apache-2.0
"""A translated page keeps step with its original: headings, code, tables, names, and links that lead somewhere."""

import functools
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ("guide", "acl_allocator", "ge_allocator", "pytorch", "check", "find_the_wrong_operation", "hccl")
PAGES = {"README.zh.md": "README.md", **{f"docs/zh/{name}.md": f"docs/{name}.md" for name in GUIDES}}
CODE_SPAN = re.compile(r"(`+)(.+?)\1", re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
RULE = re.compile(r"\bMP\d{3}\b")


def squeezed(text):
    return " ".join(text.split())


def parts_of(text):
    """The headings, code blocks and tables of a page, and its prose: all that is no code block.

    Code is fenced, or indented by four columns behind an empty line; our lists indent their text by less.
    """
    headings, code, tables, prose = [], [], [], []
    fence, block, before = None, None, ""
    for line in [*text.splitlines(), ""]:
        if fence:
            block.append(line)
            fence = None if line.strip() == fence else fence
        elif line.startswith("    ") and (block is not None or not before.strip()):
            if block is None:
                block = []
                code.append(block)
            block.append(line)
        elif line.startswith("```"):
            fence, block = "```", [line]
            code.append(block)
        elif line.strip() or block is None or block[0].startswith("```"):
            block = None
            prose.append(line)
            if heading := re.match(r"(#+) (.*)", line):
                headings.append((len(heading[1]), heading[2]))
            elif line.startswith("|"):
                if not before.startswith("|"):
                    tables.append([])
                tables[-1].append(line)
        else:
            block.append(line)
        before = line
    return headings, ["\n".join(lines).rstrip("\n") for lines in code], tables, "\n".join(prose)


def names_of(text):
    return Counter(squeezed(span) for _, span in CODE_SPAN.findall(text))


def figures_of(text):
    return Counter(FIGURE.findall(LINK.sub("]", CODE_SPAN.sub("", text))))


def more_and_less(ours, theirs):
    return f"missing {sorted((ours - theirs).elements())}, too many {sorted((theirs - ours).elements())}"


def differences(original, translated):
    """What a translated page has otherwise than its original, a sentence each."""
    headings, code, tables, prose = parts_of(original)
    other_headings, other_code, other_tables, other_prose = parts_of(translated)
    levels, other_levels = [level for level, _ in headings], [level for level, _ in other_headings]
    found = []
    if len(levels) != len(other_levels):
        found.append(f"the original has {len(levels)} headings, the translation {len(other_levels)}")
    found += [f"heading {number}, '{heading[1]}', is of level {heading[0]}, '{other[1]}' of level {other[0]}"
              for number, (heading, other) in enumerate(zip(headings, other_headings, strict=False), 1) if heading[0] != other[0]]
    if len(code) != len(other_code):
        found.append(f"the original has {len(code)} code blocks, the translation {len(other_code)}")
    for number, (block, other) in enumerate(zip(code, other_code, strict=False), 1):
        if block != other:
            lines = [*zip(block.splitlines(), other.splitlines(), strict=False), ("a line more or less", "")]
            found.append(f"code block {number} differs at: {next(line for line, copy in lines if line != copy).strip()}")
    if len(tables) != len(other_tables):
        found.append(f"the original has {len(tables)} tables, the translation {len(other_tables)}")
    for number, (table, other) in enumerate(zip(tables, other_tables, strict=False), 1):
        if len(table) != len(other):
            found.append(f"table {number} ({table[0]}) has {len(table)} lines, the translation's {len(other)}")
            continue
        for row, copy in zip(table, other, strict=True):
            if names_of(row) != names_of(copy):
                found.append(f"table {number}, row {row[:60]}: names: {more_and_less(names_of(row), names_of(copy))}")
            elif figures_of(row) != figures_of(copy):
                found.append(f"table {number}, row {row[:60]}: figures: {more_and_less(figures_of(row), figures_of(copy))}")
    names, other_names = Counter(set(names_of(prose))), Counter(set(names_of(other_prose)))
    if names != other_names:
        found.append(f"names in `...`: {more_and_less(names, other_names)}")
    if figures_of(prose) != figures_of(other_prose):
        found.append(f"figures of the page: {more_and_less(figures_of(prose), figures_of(other_prose))}")
    rules, other_rules = Counter(set(RULE.findall(prose))), Counter(set(RULE.findall(other_prose)))
    if rules != other_rules:
        found.append(f"rules: {more_and_less(rules, other_rules)}")
    return found


@functools.cache
def anchors_of(path):
    """What a link may name behind '#': headings as GitHub spells them, and anchors that are written down."""
    text = path.read_text(encoding="utf-8")
    headings = parts_of(text)[0]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for _, heading in headings} | set(re.findall(r'<a id="([^"]+)"', text))


def dead_links(path, text):
    found = []
    for link in LINK.findall(CODE_SPAN.sub("", parts_of(text)[3])):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            found.append(f"{link} leads nowhere")
        elif anchor and anchor not in anchors_of(target):
            found.append(f"{link}: {target.name} has no such heading")
    return found


def english_links(path, text):
    """Links to an original whose translation is there."""
    originals = {(ROOT / original).resolve(): name for name, original in PAGES.items()}
    below_the_first_line = text.partition("\n")[2]
    targets = [(link, (path.parent / link.partition("#")[0]).resolve()) for link in LINK.findall(below_the_first_line)]
    return [f"{link}: {originals[target]} is the translation" for link, target in targets if target in originals]


def test_each_translated_page_has_an_original_and_is_listed_here():
    there = {path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.zh.md"), *(ROOT / "docs" / "zh").rglob("*.md")]}
    assert there == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_translated_page_keeps_step_with_its_original(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    found = differences((ROOT / PAGES[name]).read_text(encoding="utf-8").replace("[简体中文](README.zh.md)\n", ""), text)
    assert found == [], f"{name} is behind {PAGES[name]}; translate what changed:\n" + "\n".join(found)


@pytest.mark.parametrize("name", PAGES)
def test_links_of_a_translated_page_lead_somewhere(name):
    path = ROOT / name
    text = path.read_text(encoding="utf-8")
    found = dead_links(path, text) + english_links(path, text)
    assert found == [], f"{name}:\n" + "\n".join(found)


@pytest.mark.parametrize("name", PAGES)
def test_a_translated_page_begins_with_a_link_to_its_original(name):
    first = (ROOT / name).read_text(encoding="utf-8").splitlines()[0]
    target = LINK.search(first)
    assert target and ((ROOT / name).parent / target[1]).resolve() == ROOT / PAGES[name], f"{name} begins with: {first}"


def test_both_readmes_link_to_each_other():
    assert "(README.zh.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


PAGE = "# A\n\nText of MP304, `x`, 9 s.\n\n    run it\n\n    run it twice\n\n- b\n\n```c\n# not a heading\n    code\n```\n\n## B\n\n| `a` | 1.5 |\n|---|---|\n| b | 2 |\n"


@pytest.mark.parametrize("old, new, says", [
    ("Text of", "关于", None),
    ("## B", "## 乙", None),
    ("## B", "### B", "heading 2, 'B', is of level 2, 'B' of level 3"),
    ("## B\n", "", "2 headings, the translation 1"),
    ("run it twice", "run it once", "code block 1 differs at: run it twice"),
    ("    run it twice\n", "    run it twice\n    more\n", "code block 1 differs at: a line more or less"),
    ("    code", "   code", "code block 2 differs at: code"),
    ("```c\n# not a heading\n    code\n```\n", "", "2 code blocks, the translation 1"),
    ("| b | 2 |\n", "", "table 1 (| `a` | 1.5 |) has 3 lines, the translation's 2"),
    ("| b | 2 |", "| b | 3 |", "figures: missing ['2'], too many ['3']"),
    ("`a` | 1.5", "`b` | 1.5", "names: missing ['a'], too many ['b']"),
    ("`x`", "`y`", "names in `...`: missing ['x'], too many ['y']"),
    ("9 s", "8 s", "figures of the page: missing ['9'], too many ['8']"),
    ("MP304", "MP305", "rules: missing ['MP304'], too many ['MP305']"),
])
def test_a_page_that_falls_behind_is_named_with_what_differs(old, new, says):
    assert old in PAGE
    found = differences(PAGE, PAGE.replace(old, new))
    assert (found == []) if says is None else any(says in line for line in found), found


def test_dead_links_are_found(tmp_path):
    (tmp_path / "b.md").write_text('# In CI, too\n\n<a id="here"></a>\n', encoding="utf-8")
    page = "[b](b.md) [b](b.md#in-ci-too) [b](b.md#here) [w](https://x.y/z) `[c](no)`\n\n    [d](no)\n\n[e](no.md) [f](b.md#there)\n"
    assert dead_links(tmp_path / "a.md", page) == ["no.md leads nowhere", "b.md#there: b.md has no such heading"]


def test_a_link_to_an_original_that_is_translated_is_found():
    page = ROOT / "docs" / "zh" / "guide.md"
    assert english_links(page, "[English](../guide.md)\n[x](../pool.md) [y](../check.md#in-ci)\n") == ["../check.md#in-ci: docs/zh/check.md is the translation"]
