# SPDX-License-Identifier: Apache-2.0
"""Reads the definitions of GE's operators (src/ops/table/ge_ir.tsv) for tools/gen_ops.py, and packs them for src/ops/ge_ops.cc."""

import re
from dataclasses import dataclass

INTEGERS = {"i8": 2, "i32": 3, "u8": 4, "i16": 6, "u16": 7, "u32": 8, "i64": 9, "u64": 10}
# Numbers of ge::DataType.
NUMBERS = {"f32": 0, "f16": 1, "f64": 11, "bool": 12, "str": 13, "c64": 16, "c128": 17, "qi8": 18, "qi16": 19, "qi32": 20, "qu8": 21,
           "qu16": 22, "res": 23, "strref": 24, "var": 26, "bf16": 27, "i4": 29, "u1": 30, "c32": 33, "hif8": 34, "f8e5m2": 35,
           "f8e4m3": 36, "f8e8m0": 37, "f6e3m2": 38, "f6e2m3": 39, "f4e2m1": 40, "f4e1m2": 41, **INTEGERS}
REAL = ["f64", "f32", "f16", "bf16", *INTEGERS]
NUMBER = [*REAL, "c32", "c64", "c128", "qi8", "qu8", "qi32"]
SETS = {"Index": ["i32", "i64"], "RealNum": REAL, "Number": NUMBER, "Basic": [*NUMBER, "qi16", "qu16"], "Integer": [*INTEGERS],
        "Unary": ["f64", "f32", "f16", "bf16", "c32", "c64", "c128"], "Floating": ["f64", "f32", "f16"], "FLOAT()": ["f32", "f16", "bf16"]}
ATTRIBUTE_TYPES = ["Int", "Float", "String", "Bool", "Type", "Tensor", "Bytes", "NamedAttrs", "ListInt", "ListFloat", "ListString", "ListBool",
                   "ListType", "ListTensor", "ListNamedAttrs", "ListListInt"]
# As ge::DataType spells them.
TYPE_NAMES = {"f32": "FLOAT", "f16": "FLOAT16", "f64": "DOUBLE", "bool": "BOOL", "str": "STRING", "c64": "COMPLEX64", "c128": "COMPLEX128", "qi8": "QINT8",
              "qi16": "QINT16", "qi32": "QINT32", "qu8": "QUINT8", "qu16": "QUINT16", "res": "RESOURCE", "strref": "STRING_REF", "var": "VARIANT",
              "bf16": "BF16", "i4": "INT4", "u1": "UINT1", "c32": "COMPLEX32", "hif8": "HIFLOAT8", "f8e5m2": "FLOAT8_E5M2", "f8e4m3": "FLOAT8_E4M3FN",
              "f8e8m0": "FLOAT8_E8M0", "f6e3m2": "FLOAT6_E3M2", "f6e2m3": "FLOAT6_E2M3", "f4e2m1": "FLOAT4_E2M1", "f4e1m2": "FLOAT4_E1M2",
              "i8": "INT8", "i32": "INT32", "u8": "UINT8", "i16": "INT16", "u16": "UINT16", "u32": "UINT32", "i64": "INT64", "u64": "UINT64"}
# Newer CANN has all definitions of one repository in one header; here each gives them all.
WHOLE_HEADERS = ["ops_proto_legacy", "ops_proto_math", "ops_proto_nn", "ops_proto_cv", "ops_proto_transformer"]
PRESENCE = {"": "kRequired", "?": "kOptional", "*": "kDynamic"}


@dataclass
class Attribute:
    name: str
    type: str
    required: bool
    default: str  # "": none


@dataclass
class GeOp:
    type: str
    inputs: list  # names, with ? or * behind
    outputs: list
    attributes: list
    subgraphs: list
    types: dict  # ("in" or "out", name): words

    def defaults(self):
        return {attribute.name: attribute.default for attribute in self.attributes}


def split(text):
    """At the commas outside quotes, braces and parentheses."""
    parts, depth, inside, start = [], 0, False, 0
    for place, char in enumerate(text):
        if char == '"':
            inside = not inside
        elif inside:
            continue
        elif char in "{(<":
            depth += 1
        elif char in "})>":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def parse_attribute(text, place):
    match = re.match(r"^(\w+):(\w+)(!|=(.*))$", text)
    kind = match and match[2].replace("AscendString", "String")
    if not match or kind not in ATTRIBUTE_TYPES:
        raise ValueError(f"{place}: '{text}' is not an attribute; the form is name:Type=default or name:Type!")
    return Attribute(match[1], kind, match[3] == "!", match[4] or "")


def parse_types(text):
    words = {}
    inputs, _, outputs = text.partition("->")
    for side, groups in (("in", inputs), ("out", outputs)):
        for group in groups.split(";"):
            names, _, listed = group.partition(":")
            for name in names.split(","):
                if name.strip():
                    words[side, name.strip()] = listed.strip()
    return words


def read(path):
    """The operators by type; empty when there is no table."""
    ops = {}
    if not path.exists():
        return ops
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith(("#", "type\t")):
            continue
        kind, inputs, outputs, attributes, subgraphs, types = line.split("\t")
        place = f"{path.name}:{number}"
        ops[kind] = GeOp(kind, split(inputs), split(outputs), [parse_attribute(part, place) for part in split(attributes)],
                         split(subgraphs), parse_types(types))
    return ops


def type_bits(words):
    """0 stands for any, also where a definition says it by a rule (T, promote(T1,T2)) and not by a list."""
    bits = 0
    for word in words.split("|"):
        members = SETS.get(word.strip(), [word.strip()])
        if any(member not in NUMBERS for member in members):
            return 0
        for member in members:
            bits |= 1 << NUMBERS[member]
    return bits


class Texts:
    """Strings one after the other, each once."""

    def __init__(self):
        self.text = ""
        self.places = {}

    def add(self, text):
        if text not in self.places:
            self.places[text] = len(self.text)
            self.text += text
        if len(text) > 255 or self.places[text] >= 1 << 24:
            raise ValueError(f"'{text}' does not fit the packed form of src/ops/ge_ops.cc")
        return (self.places[text] << 8) | len(text)

    def literal(self):
        chunks = [self.text[start:start + 120] for start in range(0, len(self.text), 120)]
        return "\n".join('    "' + chunk.replace("\\", "\\\\").replace('"', '\\"') + '"' for chunk in chunks)


def packed(ops):
    texts, types = Texts(), {0: 0}
    operands, attributes, subgraphs, rows = [], [], [], []
    for kind in sorted(ops, key=lambda name: name.encode()):
        op = ops[kind]
        for side, names in (("in", op.inputs), ("out", op.outputs)):
            for name in names:
                plain = name.rstrip("?*")
                bits = type_bits(op.types.get((side, plain), "all"))
                operands.append(f"{{{texts.add(plain)}, GePresence::{PRESENCE[name[len(plain):]]}, {types.setdefault(bits, len(types))}}}")
        for one in op.attributes:
            attributes.append(f"{{{texts.add(one.name)}, {texts.add(one.default)}, GeAttrType::k{one.type}, {str(one.required).lower()}}}")
        for name in op.subgraphs:
            subgraphs.append(f"{{{texts.add(name.rstrip('*'))}, {str('*' in name).lower()}}}")
        rows.append(f"{{{texts.add(kind)}, {len(op.inputs)}, {len(op.outputs)}, {len(op.attributes)}, {len(op.subgraphs)}}}")
    out = ["// Generated by tools/gen_ops.py from src/ops/table/ge_ir.tsv.", "// clang-format off",
           "constexpr char kText[] =", texts.literal() + ";",
           f"constexpr uint64_t kTypes[] = {{{', '.join(f'0x{bits:x}' for bits in types)}}};"]
    for name, members in (("Operand", operands), ("Attribute", attributes), ("Subgraph", subgraphs), ("Op", rows)):
        out += [f"constexpr Packed{name} k{name}s[] = {{", *(f"    {member}," for member in members), "};"]
    return "\n".join([*out, "// clang-format on", ""])


def tensor_type(words):
    bits = type_bits(words)
    if bits == 0:
        return "TensorType::ALL()"
    names = [f"DT_{TYPE_NAMES[word]}" for word, number in sorted(NUMBERS.items(), key=lambda item: item[1]) if bits >> number & 1]
    return f"TensorType({{{', '.join(names)}}})"


def definition(op):
    """The operator as REG_OP has it."""
    lines = [f"REG_OP({op.type})"]
    for side, word, names in (("in", "INPUT", op.inputs), ("out", "OUTPUT", op.outputs)):
        for name in names:
            plain = name.rstrip("?*")
            prefix = "DYNAMIC_" if name.endswith("*") else "OPTIONAL_" if name.endswith("?") and side == "in" else ""
            lines.append(f"    .{prefix}{word}({plain}, {tensor_type(op.types.get((side, plain), 'all'))})")
    for one in op.attributes:
        if one.required:
            lines.append(f"    .REQUIRED_ATTR({one.name}, {one.type})")
        elif one.default:
            default = re.sub(r"(?<![\w:])numeric_limits", "std::numeric_limits", one.default)
            if one.type.endswith("Float"):  # a double would warn in clients that compile with -Wfloat-conversion
                default = re.sub(r"(?<![\w.])(\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?![\w.])", r"\1f", default)
            lines.append(f"    .ATTR({one.name}, {one.type}, {default})")
        else:
            lines.append(f"    .OPTIONAL_ATTR({one.name}, {one.type})")
    for name in op.subgraphs:
        lines.append(f"    .DYNAMIC_GRAPH({name[:-1]})" if name.endswith("*") else f"    .GRAPH({name})")
    return "\n".join([*lines, f"    .MILLPOND_OP_END({op.type})"])


def read_homes(path):
    """The header of each operator that has one."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return dict(line.split("\t") for line in lines if line and line[0] != "#")


def op_headers(ops, homes):
    """Name to text, of every header under op_proto/inc."""
    members = {}
    for kind in sorted(ops, key=lambda name: name.encode()):
        if kind in homes:
            members.setdefault(homes[kind], []).append(definition(ops[kind]))
    unknown = sorted(set(homes) - set(ops))
    if unknown:
        raise ValueError(f"ge_headers.tsv names {unknown[0]}, which ge_ir.tsv has not")

    def header(name, about, lines):
        guard = f"MILLPOND_OPP_OP_PROTO_{name.upper()}_H_"
        return "\n".join(["// SPDX-License-Identifier: Apache-2.0", f"// {about}", f"#ifndef {guard}", f"#define {guard}", "", *lines, "",
                          f"#endif  // {guard}", ""])

    texts = {name: header(name, "Operators of graphs; generated from the operator table.",
                          ['#include "graph/operator_reg.h"', "", "namespace ge {", "", "\n\n".join(defined), "", "}  // namespace ge"])
             for name, defined in members.items()}
    texts["all_ops"] = header("all_ops", "Every operator of graphs.", [f'#include "{name}.h"' for name in sorted(members)])
    for name in WHOLE_HEADERS:
        texts[name] = header(name, "Every operator of graphs, under another name.", ['#include "all_ops.h"'])
    return texts
