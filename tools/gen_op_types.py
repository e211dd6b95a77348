#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the types that each operator's tensors may have from CANN's operator documents: src/ops/table/types.tsv. And docs/formulas.tsv: which pages have a formula.

    python3 tools/gen_op_types.py --documents FOLDER

FOLDER holds the public operator repositories (ops-math, ops-nn, ops-cv, ops-transformer), or only their `docs/aclnn*.md`. The file is committed, so that
neither a build nor a test needs the documents. What it takes from a page are facts: which parameter may be of which types on which product series. A remark
with a condition in it ("if the layout is ...") restricts nothing here. A page that says less than a client needs is answered by src/ops/table/types_more.tsv.
Of docs/formulas.tsv the last two columns are kept: who has compared a page's formula with our kernel writes `yes` and what was found.
"""

import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

from gen_ops import read_tables
from op_types import FAMILIES, HEADING, TYPE_ORDER

NAMES = {"FLOAT": "float32", "FLOAT32": "float32", "FP32": "float32", "FLOAT16": "float16", "FP16": "float16", "HALF": "float16", "BFLOAT16": "bfloat16",
         "BF16": "bfloat16", "DOUBLE": "float64", "FLOAT64": "float64", "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "LONG": "int64",
         "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64", "BOOL": "bool", "COMPLEX32": "complex32", "COMPLEX64": "complex64",
         "COMPLEX128": "complex128", "INT4": "int4", "UINT1": "uint1", "STRING": "string", "HIFLOAT8": "hifloat8", "FLOAT8_E5M2": "float8_e5m2",
         "FLOAT8_E4M3FN": "float8_e4m3", "FLOAT8_E4M3": "float8_e4m3", "FLOAT8_E8M0": "float8_e8m0", "FLOAT4_E2M1": "float4_e2m1", "FLOAT4_E1M2": "float4_e1m2",
         "FLOAT6_E3M2": "float6_e3m2", "FLOAT6_E2M3": "float6_e2m3", "FLOAT4_E2M1FN_X2": "float4_e2m1", "FP8_E4M3FN": "float8_e4m3", "FP8_E5M2": "float8_e5m2",
         "FP8_E8M0": "float8_e8m0", "FP8_E4M3": "float8_e4m3", "FP4_E2M1": "float4_e2m1", "FP4_E1M2": "float4_e1m2"}
NAME = re.compile(r"(?<![A-Z0-9_])(?:ACL_|DT_)?(" + "|".join(sorted(NAMES, key=len, reverse=True)) + r")(?![A-Z0-9]|_[A-Z0-9])", re.IGNORECASE)
# How the pages name the series, in the order in which a name is looked for (some are part of others).
SERIES = (("950", "950"), ("200I/500", "310b"), ("500 A2", "310b"), ("A3", "a3"), ("A2", "a2"), ("推理", "310p"), ("训练", "910"))
FORMULAS = """# SPDX-License-Identifier: Apache-2.0
# Which operators' pages of CANN's documents have a formula (formula: yes; page: a page without one; none: no public page), and whether it was read and
# what our kernel, or the function of ATen that it calls, was found to do. Written by tools/gen_op_types.py but for the last two columns.
# operator	document	read	finding"""
CONDITION = re.compile(r"当|时|若|如果|场景|模式下|情况|除非|对于|仅.{0,12}为|=")
PHASE = re.compile(r"^#+ *\**(?:\d+[.、] *)?(aclnn\w+?)GetWorkspaceSize\**\s*$", re.MULTILINE)


class Tables(HTMLParser):
    """The tables of a page as lists of rows of texts; a cell that spans rows stands in each of them."""

    def __init__(self):
        super().__init__()
        self.tables, self.rows, self.cell, self.spans, self.skipped = [], None, None, {}, 0

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.rows, self.spans = [], {}
        elif tag == "tr" and self.rows is not None:
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.fill()
            self.cell, self.span = [], int(dict(attrs).get("rowspan") or 1)
        elif tag in ("br", "li") and self.cell is not None:
            self.cell.append("\n")
        elif tag == "sup":
            self.skipped += 1

    def fill(self):
        row = self.rows[-1]
        while self.spans.get(len(row), (0, ""))[0] > 0:
            left, text = self.spans[len(row)]
            self.spans[len(row)] = (left - 1, text)
            row.append(text)

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            text = "".join(self.cell).strip()
            if self.span > 1:
                self.spans[len(self.rows[-1])] = (self.span - 1, text)
            self.rows[-1].append(text)
            self.cell = None
        elif tag == "tr" and self.rows:
            self.fill()
        elif tag == "table" and self.rows is not None:
            self.tables.append(self.rows)
            self.rows = None
        elif tag == "sup":
            self.skipped = max(0, self.skipped - 1)

    def handle_data(self, data):
        if self.cell is not None and not self.skipped:
            self.cell.append(data)


def types_in(text):
    return {NAMES[found.upper()] for found in NAME.findall(text)}


def pipe_tables(text):
    """Tables of lines with bars."""
    rows = []
    for line in [*text.splitlines(), ""]:
        if line.strip().startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                rows.append(cells)
        elif rows:
            yield rows
            rows = []


def series_of(text):
    """The families that the <term>s of a remark name."""
    found = set()
    for term in re.findall(r"<term>(.*?)</term>", text):
        for part in re.split(r"[/、](?=Atlas|Ascend|A200|A2 )", term):
            found.update([next((family for word, family in SERIES if word in part), None)])
    return found - {None}


def sets_of(text):
    """What a sentence says about types: how (more, less, only; own: no other series has them) and which."""
    types = types_in(text)
    if not types or CONDITION.search(text):
        return None, set()
    if "额外支持" in text or "新增支持" in text or "还支持" in text:
        return "more", types
    if "不支持" in text:
        return "less", types_in(text[text.index("不支持"):]) or types
    if re.search(r"仅支持该|仅在该", text):
        return "own", types
    verb = re.search(r"支持|类型", text)
    types = types_in(text[verb.start():]) if verb else set()
    return ("only", types) if types else (None, set())


def remarks_of(text):
    """(families, sentence) of the lines that begin with a product series; lines below one that are indented deeper belong to it."""
    families, depth = set(), 0
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith(("<!--", "|")):
            continue
        indent = len(line) - len(line.lstrip())
        head = re.match(r"^[-*+]?\s*((?:<term>.*?</term>[、，,/和\s]*)+)[:：]?(.*)$", stripped)
        if head:
            families, depth = series_of(head[1]), indent
            stripped = head[2]
        elif indent <= depth:
            families = set()
        if families:
            for sentence in re.split(r"[。；;]", stripped):
                yield families, sentence


def parameters_of(section):
    """{parameter: text about its types} of the first table that has parameters."""
    reader = Tables()
    reader.feed(section)
    for rows in [*reader.tables, *pipe_tables(section)]:
        header = rows[0]
        if not header or "参数" not in header[0]:
            continue
        column = next((place for place, cell in enumerate(header) if "数据类型" in cell or cell == "类型"), None)
        texts = {}
        for row in rows[1:]:
            name = re.match(r"\W*(\w+)", row[0]) if row else None
            if not name:
                continue
            text = row[column] if column is not None and column < len(row) else ""
            if not types_in(text):  # the description may say it
                about = " ".join(row[1:])
                text = " ".join(re.findall(r"(?:数据类型|dtype)[^。；\n]*", about))
                text = "" if CONDITION.search(text) else text
            texts.setdefault(name[1], text)
        if texts:
            return texts
    return {}


def apply_remark(lists, families, sentence):
    """Whether the sentence says anything."""
    how, types = sets_of(sentence)
    if how is None:
        return False
    lead = sentence[:sentence.index(next(iter(NAME.finditer(sentence)))[0])]
    named = [name for name in lists if re.search(rf"(?<!\w){name}(?!\w)", lead, re.ASCII)]
    if not named and re.search(r"(?<!\w)[a-z]\w*(?!\w)", NAME.sub("", lead), re.ASCII):
        return False  # about something else
    for name in named or lists:
        for family in set(FAMILIES) - families if how == "own" else families:
            known = lists[name][family]
            if how == "more" and named:
                known |= types
            elif how in ("less", "own"):
                lists[name][family] = known - types or known
            elif how == "only" and (named or types & known):
                lists[name][family] = set(types) if named else types & known
    return True


def level(lists, told):
    """Pages that speak of one of A2 and A3 (the same cores) and not of the other mean both; 950 takes at least what those take."""
    for sets in lists.values():
        if "a3" in told and "a2" not in told:
            sets["a2"] = set(sets["a3"])
        elif "a2" in told and "a3" not in told:
            sets["a3"] = set(sets["a2"])
        if "950" not in told:
            sets["950"] = sets["950"] | sets["a3"]


def bullet_lists(section):
    """{parameter: {family: types}} of a page that has bullets in place of a table, with one for each series below a parameter's."""
    lists = {}
    for part in re.split(r"\n\s*[-*] (?=\w+ ?[(（] ?(?:const )?aclTensor)", section)[1:]:
        name = re.match(r"\w+", part)[0]
        head, _, below = part.partition("\n")
        said = re.search(r"数据类型支持([^。]*?)(?:，[^A-Za-z]|。|$)", head)
        given = {family: types_in(sentence) for families, sentence in remarks_of(below) if not CONDITION.search(sentence)
                 for family in families if types_in(sentence)}
        usual = types_in(said[1]) if said else set().union(*given.values())
        if usual:
            lists[name] = {family: given.get(family, usual) for family in FAMILIES}
    return lists


def page_lists(text):
    """{operator: {parameter: {family: types}}} of a page."""
    parts = PHASE.split(text)
    found = {}
    for name, section in zip(parts[1::2], parts[2::2], strict=True):
        section = re.split(r"\n## ", section)[0]
        section = section.split("返回值")[0]
        lists = {}
        for parameter, about in parameters_of(section).items():
            types = types_in(about)
            if types and re.search(rf"aclTensor(List)?\s*\*?\s*(const)?\s*\*?\s*{parameter}\b", text):
                lists[parameter] = {family: set(types) for family in FAMILIES}
        outside = re.sub(r"<table.*?</table>", "", section, flags=re.DOTALL)
        told = set()
        for families, sentence in remarks_of(outside):
            if apply_remark(lists, families, sentence):
                told |= families
        level(lists, told)
        found[name] = lists or bullet_lists(section)
    return found


def has_formula(text):
    section = re.search(r"## 功能说明(.*?)\n## ", text, re.DOTALL)
    return bool(section) and ("计算公式" in section[1] or "$$" in section[1])


def read_pages(folder):
    """The lists by operator, and the operators whose page has a formula."""
    pages, formulas = {}, set()
    for path in sorted(Path(folder).rglob("aclnn*.md")):
        if "experimental" in path.parts or not re.match(r"aclnn[A-Z]", path.name):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for name, lists in page_lists(text).items():
            if lists or name not in pages:
                pages[name] = pages.get(name) or lists
            if has_formula(text):
                formulas.add(name)
    return pages, formulas


def write_formulas(path, rows, pages, formulas):
    """One line for each exported row; what was written by hand stays."""
    kept = {}
    if path.exists():
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
        kept = {line[0]: line[2:] for line in lines}
    lines = [FORMULAS]
    for row in rows:
        if row.aclnn:
            found = "formula" if row.name in formulas else "page" if row.name in pages else "none"
            lines.append("\t".join([row.name, found, *kept.get(row.name, ["no", "-"])]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def listed(types):
    return ",".join(name for name in TYPE_ORDER if name in types)


def lines_of(pages):
    for operator, lists in sorted(pages.items()):
        for argument, sets in lists.items():
            groups = {}
            for family in FAMILIES:
                groups.setdefault(listed(sets[family]), []).append(family)
            usual = max(groups, key=lambda types: (len(groups[types]), types))
            others = [f"{'+'.join(families)}={types}" for types, families in groups.items() if types != usual]
            yield "\t".join([operator, argument, usual, *others])


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    table = Path(__file__).resolve().parents[1] / "src" / "ops" / "table"
    parser.add_argument("--documents", required=True, help="folder with the operators' pages")
    parser.add_argument("--output", default=str(table / "types.tsv"))
    arguments = parser.parse_args(argv)
    pages, formulas = read_pages(arguments.documents)
    rows, _ = read_tables(table)
    write_formulas(table.parents[2] / "docs" / "formulas.tsv", rows, pages, formulas)
    lines = list(lines_of(pages))
    Path(arguments.output).write_text(HEADING + "\n".join(lines) + "\n", encoding="utf-8")
    exported = [row for row in rows if row.aclnn]
    with_list = {line.split("\t")[0] for line in lines}
    print(f"{len(pages)} operators have a page, {len(with_list)} of them lists ({len(lines)} in all); of {len(exported)} rows "
          f"{sum(row.name in with_list for row in exported)} have lists")
    print("no page:", *[row.name for row in exported if row.name not in pages])
    print("a page without lists:", *[row.name for row in exported if row.name in pages and row.name not in with_list])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
