# SPDX-License-Identifier: Apache-2.0
"""Which GE operator types torchair can emit, by the wheel's own sources, and which of them the operator table carries out.

    operator_types.py [--all]     counts, what is missing, and where names differ; --all: every type with its state

A type is emitted when a converter calls its builder (ge.Name(...)), or names it to custom_op or ge_op. Nothing of torch is imported.
"""

import argparse
import ast
import importlib.util
import re
import sys
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "src" / "ops" / "table"


@cache
def wheel():
    found = importlib.util.find_spec("torch_npu")
    if found is None:
        sys.exit(f"{sys.executable} has no torch_npu")
    return Path(found.origin).parent / "dynamo" / "torchair"


@cache
def builders():
    """By function, what it writes: {name: {"type":, "inputs":, "outputs":, "attributes":}}. By text: the file has 95,000 lines."""
    made = {}
    folder = wheel() / "_ge_concrete_graph"
    for path in (folder / "auto_generated_ge_raw_ops.py", folder / "dynamic_output_ops.py", folder / "ge_apis.py", wheel() / "ge" / "_ge_graph.py"):
        for part in re.split(r"^def ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            kind = re.search(r'\bop\.type = "(\w+)"', part) or re.search(r'op_type="(\w+)"', part)
            if kind is None:
                continue
            made[re.match(r"_?(\w+)", part)[1]] = {  # _SplitV is SplitV with the number of its outputs
                "type": kind[1],
                "inputs": re.findall(r'op\.input_desc\[-1\]\.name = f?"(\w+)', part),
                "outputs": re.findall(r'op\.output_desc\.add\(\)\.name = f?"(\w+)', part),
                "attributes": [name for name in re.findall(r'op\.attr\["(\w+)"\]', part) if not name.startswith("_")],
            }
    return made


@cache
def emitted():
    """By type, the files of the wheel that emit it."""
    types = defaultdict(set)
    known = builders()
    for path in sorted(wheel().rglob("*.py")):
        where = str(path.relative_to(wheel()))
        if path.name in ("auto_generated_ge_raw_ops.py", "dynamic_output_ops.py") or where.startswith("tools"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel's own escapes
            tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            # Also where a builder is only named: helpers call it later.
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ge" and node.attr in known:
                types[known[node.attr]["type"]].add(where)
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in ("custom_op", "ge_op", "_custom_op"):
                given = [one.value for one in node.keywords if one.arg == "op_type"] + node.args[:1]
                for one in given:
                    if isinstance(one, ast.Constant) and isinstance(one.value, str):
                        types[one.value].add(where)
    for structural in ("Data", "RefData", "Const", "ConstPlaceHolder", "NetOutput"):
        types[structural].add("torchair itself")
    return dict(types)


@cache
def bound():
    """Types that a row of the table or the graph code itself carries out."""
    types = set()
    for path in TABLE.glob("*.ops"):
        types |= set(re.findall(r"^\s+ge +(\w+)\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    kinds = (ROOT / "src" / "graph" / "passes" / "kinds.cc").read_text(encoding="utf-8")
    return types | set(re.findall(r'^    \{"(\w+)", Kind::k', kinds, flags=re.MULTILINE))


@cache
def definitions():
    """By type: (inputs, outputs, attributes) of src/ops/table/ge_ir.tsv."""
    known = {}
    for line in (TABLE / "ge_ir.tsv").read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) >= 4 and not line.startswith("#"):
            known[fields[0]] = ([name.strip().rstrip("?*") for name in fields[1].split(",") if name.strip()],
                                [name.strip().rstrip("?*") for name in fields[2].split(",") if name.strip()],
                                re.findall(r"(\w+):\w+[!=]", fields[3]))
    return known


def unknown_names():
    """What the wheel writes into nodes of types that we carry out, and our definitions do not have: [(type, what, name)]."""
    found = []
    for builder in builders().values():
        kind = builder["type"]
        if kind not in emitted() or kind not in bound() or kind not in definitions():
            continue
        for what, ours in zip(("inputs", "attributes"), (definitions()[kind][0], definitions()[kind][2])):
            found += [(kind, what, name) for name in builder[what] if name not in ours]
    return sorted(set(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    types = emitted()
    missing = sorted(set(types) - bound())
    if options.all:
        for kind in sorted(types):
            print(f"{kind}\t{'bound' if kind in bound() else 'missing'}\t{', '.join(sorted(types[kind]))}")
    print(f"emitted {len(types)}, carried out {len(types) - len(missing)}, missing {len(missing)}:", ", ".join(missing))
    for kind, what, name in unknown_names():
        print(f"{kind}: '{name}' is not among our {what}")


if __name__ == "__main__":
    main()
