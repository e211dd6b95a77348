#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gen_esb: writes the C and C++ functions that add operators to a graph builder (ge/esb_funcs.h, ge/es_graph_builder.h).

    gen_esb [--output_dir=DIR] [--module_name=NAME] [--h_guard_prefix=PREFIX] [--exclude_ops=OP1,OP2]

For each operator: es_OP_c.h and es_OP.h; for all of them es_NAME_ops_c.h and es_NAME_ops.h; the bodies in es_NAME_1.cpp and so on. Python's functions are in the
package ge.es already.
"""

import argparse
import ast
import math
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parent / "share" / "millpond" / "gen_esb"  # this is bin/gen_esb then
sys.path.insert(0, str(INSTALLED if INSTALLED.is_dir() else HERE.parent))
import ge_table

TABLE = INSTALLED / "ge_ir.tsv" if INSTALLED.is_dir() else HERE.parents[1] / "src" / "ops" / "table" / "ge_ir.tsv"
# The builder makes these itself.
LEFT_OUT = {"Data", "RefData", "AippData", "AnyData", "NetOutput"}
PER_FILE = 400
LICENCE = "// SPDX-License-Identifier: Apache-2.0\n// Written by gen_esb; do not edit.\n"
WORDS = set("""alignas alignof and asm auto bool break case catch char class compl const continue default delete do double else enum explicit export extern false
float for friend goto if inline int long mutable namespace new noexcept not nullptr operator or private protected public register return short signed sizeof static
struct switch template this throw true try typedef typeid typename union unsigned using virtual void volatile while xor""".split())
# Of each kind of attribute: C's parameters and C++'s, what C++ gives to C.
SCALARS = {"Int": ("int64_t", "int64_t"), "Float": ("float", "float"), "Bool": ("bool", "bool"), "String": ("const char*", "const char*"),
           "Type": ("C_DataType", "ge::DataType"), "Tensor": ("EsCTensor*", "std::unique_ptr<ge::Tensor>")}
LISTS = {"ListInt": ("const int64_t*", "std::vector<int64_t>"), "ListFloat": ("const float*", "std::vector<float>"),
         "ListBool": ("const bool*", "std::vector<bool>"), "ListString": ("const char* const*", "std::vector<const char*>"),
         "ListType": ("const C_DataType*", "std::vector<ge::DataType>"), "ListTensor": ("EsCTensor* const*", "std::vector<std::unique_ptr<ge::Tensor>>")}


def safe(name):
    return f"{name}_" if name in WORDS else name


def literal(kind, text):
    """A default as C++ writes it; None where it cannot be told."""
    text = text.strip()
    if kind == "ListListInt" or kind in LISTS:
        if not (text.startswith("{") and text.endswith("}")):
            return None
        inner = "ListInt" if kind == "ListListInt" else kind[4:]
        values = [literal(inner, one) for one in ge_table.split(text[1:-1])]
        return None if None in values or kind in ("ListTensor", "ListType") and values else f"{{{', '.join(values)}}}"
    if kind == "Tensor":
        return "nullptr"
    if kind == "Bool":
        return text if text in ("true", "false") else None
    if kind == "String":
        try:
            return '"' + ast.literal_eval(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
        except (SyntaxError, ValueError, AttributeError):
            return None
    if re.fullmatch(r"DT_\w+", text):
        return f"ge::{text}" if kind in ("Type", "Int") else None
    if kind == "Type":
        return None
    if kind == "Int" and re.fullmatch(r"-?(0x[\da-fA-F]+|\d+)", text):
        return "INT64_MIN" if int(text, 0) == -2**63 else str(int(text, 0))
    try:
        number = float(text.rstrip("fF"))
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return str(int(number)) if kind == "Int" else f"{number!r}F"


class Operator:
    def __init__(self, op):
        self.type = op.type
        self.inputs = [(name.rstrip("?*"), name[len(name.rstrip("?*")):]) for name in op.inputs]
        self.outputs = [(name.rstrip("?*"), name.endswith("*")) for name in op.outputs]
        self.subgraphs = [(name.rstrip("*"), name.endswith("*")) for name in op.subgraphs]
        # One that need not be given, and whose default is not told here, is left to the definition.
        known = [one for one in op.attributes if one.type in SCALARS or one.type in LISTS or one.type == "ListListInt"]
        self.attributes = [one for one in known if one.required or literal(one.type, one.default) is not None]
        self.attributes.sort(key=lambda one: not one.required)
        self.whole = not any(one.required for one in op.attributes if one not in known)
        self.taken = {safe(name) for name, _ in self.inputs}

    def possible(self):
        return self.whole and self.type not in LEFT_OUT and self.type.isidentifier() and self.type not in WORDS

    def own(self, name, prefix):
        return f"{prefix}_{name}" if safe(name) in self.taken else safe(name)

    def owner(self):
        """first: nothing else tells the graph; last: perhaps nothing else does."""
        if not self.inputs:
            return "first"
        return "last" if all(mark == "?" for _, mark in self.inputs) else ""

    def several(self):
        return len(self.outputs) > 1 or any(many for _, many in self.outputs)

    # --- C
    def c_parameters(self):
        words = ["EsCGraphBuilder* owner_graph_builder"] if self.owner() == "first" else []
        for name, mark in self.inputs:
            own = safe(name)
            words += [f"EsCTensorHolder** {own}", f"int64_t {own}_num"] if mark == "*" else [f"EsCTensorHolder* {own}"]
        if self.owner() == "last":
            words.append("EsCGraphBuilder* owner_graph_builder")
        words += [f"int64_t {self.own(name, 'ref')}_num" for name, many in self.outputs if many]
        for name, many in self.subgraphs:
            own = self.own(name, "subgraph")
            words += [f"EsCGraph** {own}", f"int64_t {own}_num"] if many else [f"EsCGraph* {own}"]
        for one in self.attributes:
            own = self.own(one.name, "attr")
            if one.type in SCALARS:
                words.append(f"{SCALARS[one.type][0]} {own}")
            elif one.type in LISTS:
                words += [f"{LISTS[one.type][0]} {own}", f"int64_t {own}_num"]
            else:
                words += [f"const int64_t* const* {own}", f"int64_t {own}_num", f"const int64_t* {own}_inner_num"]
        return ", ".join(words)

    def c_result(self):
        return f"Es{self.type}Output" if self.several() else "EsCTensorHolder*"

    def c_declaration(self):
        lines = []
        if self.several():
            lines.append("typedef struct {")
            for name, many in self.outputs:
                own = self.own(name, "ref")
                lines += [f"  EsCTensorHolder** {own};", f"  int64_t {own}_num;"] if many else [f"  EsCTensorHolder* {own};"]
            lines.append(f"}} {self.c_result()};")
        return "\n".join([*lines, f"{self.c_result()} Es{self.type}({self.c_parameters()});"])

    def c_body(self):
        lines = [f"{self.c_result()} Es{self.type}({self.c_parameters()}) {{",
                 f"  millpond::EsNode node({'owner_graph_builder' if self.owner() else 'nullptr'}, \"{self.type}\");"]
        calls = {"": "Input", "?": "OptionalInput", "*": "DynamicInput"}
        lines += [f'  node.{calls[mark]}("{name}", {safe(name)}{f", {safe(name)}_num" if mark == "*" else ""});' for name, mark in self.inputs]
        lines += [f'  node.DynamicOutput("{name}", {self.own(name, "ref")}_num);' if many else f'  node.Output("{name}");' for name, many in self.outputs]
        for one in self.attributes:
            own = self.own(one.name, "attr")
            more = "" if one.type in SCALARS else f", {own}_num" + (f", {own}_inner_num" if one.type == "ListListInt" else "")
            lines.append(f'  node.Attr("{one.name}", {own}{more});')
        for name, many in self.subgraphs:
            own = self.own(name, "subgraph")
            lines.append(f'  node.{"Dynamic" if many else ""}Subgraph("{name}", {own}{f", {own}_num" if many else ""});')
        if not self.several():
            return "\n".join([*lines, "  return node.Next();", "}"])
        lines.append(f"  {self.c_result()} made{{}};")
        for name, many in self.outputs:
            own = self.own(name, "ref")
            lines.append(f"  made.{own} = node.Next({f'{own}_num, &made.{own}_num' if many else ''});")
        return "\n".join([*lines, "  return made;", "}"])

    # --- C++
    def parameters(self):
        """(declaration, default or None), in order; only those at the end may have defaults."""
        words = [("const EsGraphBuilder& owner_builder", None)] if self.owner() == "first" else []
        for name, mark in self.inputs:
            kind = "const std::vector<EsTensorHolder>&" if mark == "*" else "const EsTensorLike&"
            words.append((f"{kind} {safe(name)}", "nullptr" if mark == "?" else None))
        if self.owner() == "last":
            words.append(("const EsGraphBuilder* owner_builder", "nullptr"))
        words += [(f"int64_t {self.own(name, 'ref')}_num", None) for name, many in self.outputs if many]
        for name, many in self.subgraphs:
            kind = "std::vector<std::unique_ptr<ge::Graph>>" if many else "std::unique_ptr<ge::Graph>"
            words.append((f"{kind} {self.own(name, 'subgraph')}", None))
        for one in self.attributes:
            own = self.own(one.name, "attr")
            kind = SCALARS[one.type][1] if one.type in SCALARS else LISTS[one.type][1] if one.type in LISTS else "std::vector<std::vector<int64_t>>"
            if one.type.startswith("List") and one.type != "ListTensor":
                kind = f"const {kind}&"
            words.append((f"{kind} {own}", None if one.required else literal(one.type, one.default)))
        last = max((place for place, word in enumerate(words) if word[1] is None), default=-1)
        return ", ".join(word if default is None or place <= last else f"{word} = {default}" for place, (word, default) in enumerate(words))

    def result(self):
        if len(self.outputs) > 1:
            return f"{self.type}Output"
        return "std::vector<EsTensorHolder>" if self.several() else "EsTensorHolder"

    def arguments(self):
        """What C++ does before the call, and the call's arguments."""
        before, words = [], []
        sources = [safe(name) for name, _ in self.inputs] + (["owner_builder"] if self.owner() == "last" else [])
        builder = "owner_builder.GetCGraphBuilder()" if self.owner() == "first" else f"ResolveBuilder({', '.join(sources)})"
        before.append(f"EsCGraphBuilder* const own_graph = {builder};")
        if self.owner() == "first":
            words.append("own_graph")
        for name, mark in self.inputs:
            own = safe(name)
            if mark == "*":
                before.append(f"std::vector<EsCTensorHolder*> plain_{own} = TensorsToEsCTensorHolders({own});")
                words += [f"plain_{own}.data()", f"int64_t(plain_{own}.size())"]
            else:
                words.append(f"{own}.ToTensorHolder(own_graph).GetCTensorHolder()")
        if self.owner() == "last":
            words.append("own_graph")
        words += [f"{self.own(name, 'ref')}_num" for name, many in self.outputs if many]
        for name, many in self.subgraphs:
            own = self.own(name, "subgraph")
            if many:
                before.append(f"std::vector<EsCGraph*> plain_{own} = GeGraphsToEsCGraphs(std::move({own}));")
                words += [f"plain_{own}.data()", f"int64_t(plain_{own}.size())"]
            else:
                words.append(f"reinterpret_cast<EsCGraph*>({own}.release())")
        for one in self.attributes:
            self.attribute(one, before, words)
        return before, ", ".join(words)

    def attribute(self, one, before, words):
        own = self.own(one.name, "attr")
        if one.type == "Type":
            words.append(f"C_DataType({own})")
        elif one.type == "Tensor":
            words.append(f"reinterpret_cast<EsCTensor*>({own}.release())")
        elif one.type in SCALARS:
            words.append(own)
        elif one.type == "ListListInt":
            before.append(f"auto plain_{own} = ListListTypeToPtrAndCounts<int64_t>({own});")
            words += [f"plain_{own}.first.data()", f"int64_t(plain_{own}.first.size())", f"plain_{own}.second.data()"]
        elif one.type == "ListBool":
            before.append(f"std::unique_ptr<bool[]> plain_{own}(new bool[{own}.size() + 1]);")
            before.append(f"for (size_t i = 0; i < {own}.size(); ++i) plain_{own}[i] = {own}[i];")
            words += [f"plain_{own}.get()", f"int64_t({own}.size())"]
        elif one.type == "ListType":
            before.append(f"const std::vector<C_DataType> plain_{own} = DataTypesToEsCDataTypes({own});")
            words += [f"plain_{own}.data()", f"int64_t(plain_{own}.size())"]
        elif one.type == "ListTensor":
            before.append(f"std::vector<EsCTensor*> plain_{own};")
            before.append(f"for (auto& one : {own}) plain_{own}.push_back(reinterpret_cast<EsCTensor*>(one.release()));")
            words += [f"plain_{own}.data()", f"int64_t(plain_{own}.size())"]
        else:
            words += [f"{own}.data()", f"int64_t({own}.size())"]

    def function(self):
        lines = []
        if len(self.outputs) > 1:
            members = [f"  {'std::vector<EsTensorHolder>' if many else 'EsTensorHolder'} {self.own(name, 'ref')};" for name, many in self.outputs]
            lines += [f"struct {self.result()} {{", *members, "};"]
        lines.append(f"inline {self.result()} {self.type}({self.parameters()}) {{")
        before, arguments = self.arguments()
        call = f"Es{self.type}({arguments})"
        if "own_graph" not in arguments:
            before = before[1:]
        lines += [f"  {line}" for line in before]
        if not self.several():
            return "\n".join([*lines, f"  return {call};", "}"])
        lines.append(f"  const {self.c_result()} made_now = {call};")
        parts = []
        for name, many in self.outputs:
            own = self.own(name, "ref")
            parts.append(f"std::vector<EsTensorHolder>(made_now.{own}, made_now.{own} + made_now.{own}_num)" if many else f"made_now.{own}")
        return "\n".join([*lines, f"  return {parts[0]};" if len(parts) == 1 else f"  return {{{', '.join(parts)}}};", "}"])


def guarded(guard, body):
    return f"{LICENCE}#ifndef {guard}\n#define {guard}\n\n{body}\n\n#endif  // {guard}\n"


def write(folder, module, prefix, operators):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("es_*"):
        old.unlink()
    for op in operators:
        guard = f"{prefix}ES_{op.type}".upper() if prefix.isupper() else f"{prefix}ES_{op.type}"
        c = f'#include "esb_funcs.h"\n\n#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{op.c_declaration()}\n\n#ifdef __cplusplus\n}}\n#endif'
        (folder / f"es_{op.type}_c.h").write_text(guarded(f"{guard}_C_H_", c), encoding="utf-8")
        cpp = (f'#include <utility>\n\n#include "es_{op.type}_c.h"\n#include "es_graph_builder.h"\n#include "es_tensor_like.h"\n\n'
               f"namespace ge {{\nnamespace es {{\n\n{op.function()}\n\n}}  // namespace es\n}}  // namespace ge")
        (folder / f"es_{op.type}.h").write_text(guarded(f"{guard}_H_", cpp), encoding="utf-8")
    for end in ("_c.h", ".h"):
        text = "\n".join(f'#include "es_{op.type}{end}"' for op in operators)
        (folder / f"es_{module}_ops{end}").write_text(guarded(f"{prefix}ES_{module}_OPS{end.replace('.', '_').upper()}_", text), encoding="utf-8")
    for part, start in enumerate(range(0, len(operators), PER_FILE), 1):
        own = operators[start:start + PER_FILE]
        lines = [LICENCE, '#include "millpond/es_node.h"', *(f'#include "es_{op.type}_c.h"' for op in own), "", *(op.c_body() for op in own)]
        (folder / f"es_{module}_{part}.cpp").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(arguments):
    parser = argparse.ArgumentParser(prog="gen_esb", description="writes the C and C++ functions that add operators to a graph builder")
    parser.add_argument("--output_dir", default=".")
    parser.add_argument("--module_name", default="all")
    parser.add_argument("--h_guard_prefix", default="")
    parser.add_argument("--exclude_ops", default="")
    for absent in ("--es_mode", "--history_registry", "--release_version", "--release_date", "--branch_name"):
        parser.add_argument(absent)
    given = parser.parse_args(arguments)
    if given.es_mode not in (None, "codegen") or given.history_registry:
        parser.error("there is no history of definitions here; leave --es_mode and --history_registry out")
    if not re.fullmatch(r"\w+", given.module_name):
        parser.error(f"--module_name={given.module_name}: give letters, digits and underscores")
    excluded = {name.strip() for name in given.exclude_ops.split(",")}
    operators = [Operator(op) for _, op in sorted(ge_table.read(TABLE).items())]
    operators = [op for op in operators if op.possible() and op.type not in excluded]
    prefix = f"{given.h_guard_prefix}_" if given.h_guard_prefix else ""
    write(Path(given.output_dir), given.module_name, prefix, operators)
    print(f"gen_esb: {len(operators)} operators in {given.output_dir}")


if __name__ == "__main__":
    main(sys.argv[1:])
