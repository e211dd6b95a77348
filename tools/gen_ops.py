#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the operator table (src/ops/table/*.ops) into C++: the rows, libopapi's entry points and the aclnnop headers.

A row:

    aclnnAddmm(T self, T mat1, T mat2, S beta, S alpha, >t out, i8 cubeMathType)
        shape out = matmul(mat1, mat2)
        ge    MatMulV2(self=bias, mat1=x1, mat2=x2, beta=1, alpha=1, out=y, cubeMathType=0)

Arguments stand in ABI order, each `[>|&]TYPE[?] name`: > an output, & both read and written, ? may be NULL.
Types: T t tensor (const or not in C), TL tl list of tensors, S scalar, SL list of scalars, IA int array, FA float
array, BA bool array, i64 u64 i32 u32 i8 bool f64 f32, dt data type, str string. A name without `aclnn` in front is a row
for the other doors only. Lines below: `shape OUT = RULE(arguments)` (src/ops/infer.h): every door checks it; `infer OUT = RULE(arguments)`: the same,
only for graphs, where the output's shape is asked for and not given (when a row has both, infer answers); `dtype OUT = TYPE | ARGUMENT | RULE(arguments)`: the output's
type in a graph, a name such as bool or int32, that of a tensor argument, the value of a type argument, or what a rule says; without the line it is the first input's; `types ARGUMENT = CLASS ...` (a tensor of
another class is refused at once; half float int bool complex), `waits` (an output's shape is
known only after the run), `max_workspace` (there is a third entry point, NAMEGetMaxWorkspaceSize), `ge TYPE(...)` and `onnx TYPE(...)`: each argument of the row from that door's input, output or
attribute of that name (`@y`: the type of operand y), from a constant, or `name|constant` for an attribute with a default. `name|mean{none:0 mean:1}` maps the
values of a text attribute to numbers. `~name` is an attribute that is a hint: any value of it is right. `for aclnnAdd` on a line of
its own goes on with the details of a row that stands in another file.
"""

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import ge_table

# row type: (C type, ArgKind)
TYPES = {
    "T": ("const aclTensor*", "kTensor"), "t": ("aclTensor*", "kTensor"),
    "TL": ("const aclTensorList*", "kTensorList"), "tl": ("aclTensorList*", "kTensorList"),
    "S": ("const aclScalar*", "kScalar"), "SL": ("const aclScalarList*", "kScalarList"),
    "IA": ("const aclIntArray*", "kInts"), "FA": ("const aclFloatArray*", "kFloats"), "BA": ("const aclBoolArray*", "kBools"),
    "i64": ("int64_t", "kInt"), "u64": ("uint64_t", "kInt"), "i32": ("int32_t", "kInt"), "u32": ("uint32_t", "kInt"),
    "i8": ("int8_t", "kInt"), "bool": ("bool", "kBool"), "f64": ("double", "kDouble"), "f32": ("float", "kDouble"),
    "dt": ("aclDataType", "kDType"), "str": ("const char*", "kString"),
}
ARGUMENT = re.compile(r"^(?P<flow>[>&]?)(?P<type>\w+)(?P<optional>\??) (?P<name>\w+)$")
ROW = re.compile(r"^(?P<name>\w+)\((?P<args>.*)\)$")
SHAPE = re.compile(r"^shape (?P<out>\w+) = (?P<rule>\w+)\((?P<from>[\w, ]*)\)$")
CLASSES = {"half": 1, "float": 2, "int": 4, "bool": 8, "complex": 16}  # TypeClass of src/base/dtype.h
INFER = re.compile(r"^infer (?P<out>\w+) = (?P<rule>\w+)\((?P<from>[\w, ]*)\)$")
DTYPE = re.compile(r"^dtype (?P<out>\w+) = (?P<rule>\w+)(\((?P<from>[\w, ]*)\))?$")
DTYPES = {"float32": "kFloat", "float16": "kHalf", "bfloat16": "kBfloat16", "float64": "kDouble", "int8": "kInt8", "int16": "kInt16",
          "int32": "kInt32", "int64": "kInt64", "uint8": "kUint8", "uint16": "kUint16", "uint32": "kUint32", "uint64": "kUint64",
          "bool": "kBool", "complex64": "kComplex64", "float8_e8m0": "kFloat8E8m0"}
TYPE_NUMBERS = {"DT_FLOAT": "0", "DT_FLOAT16": "1", "DT_INT8": "2", "DT_INT32": "3", "DT_INT64": "9", "DT_BOOL": "12", "DT_COMPLEX64": "16", "DT_BF16": "27",
                "DT_UNDEFINED": "28"}
TYPE_RULE = re.compile(r"^types (?P<name>\w+) = (?P<classes>[\w ]+)$")
DOOR = re.compile(r"^(?P<door>ge|onnx) +(?P<type>\w+)\((?P<args>.*)\)$")
CONSTANT = re.compile(r"^(-?\d[\w.+-]*|true|false|none|\[.*\])$")
FLOWS = {"": "kIn", ">": "kOut", "&": "kInOut"}
PARTS = 8  # files of entry points, so that they compile side by side


@dataclass
class Argument:
    flow: str
    type: str
    optional: bool
    name: str
    classes: int = 0  # 0: any


@dataclass
class Row:
    name: str
    args: list
    place: str
    shapes: list = field(default_factory=list)
    infers: list = field(default_factory=list)
    dtypes: list = field(default_factory=list)  # (output, DType or None, rule or None, sources)
    doors: dict = field(default_factory=lambda: {"ge": [], "onnx": []})
    waits: bool = False
    max_workspace: bool = False

    @property
    def aclnn(self):
        return self.name.startswith("acl")

    def index(self, name, place):
        for number, argument in enumerate(self.args):
            if argument.name == name:
                return number
        raise Bad(f"{place}: {self.name} has no argument '{name}'")


class Bad(Exception):
    pass


def parse_row(text, place):
    match = ROW.match(text)
    if not match:
        raise Bad(f"{place}: not a row: '{text}'; the form is name(TYPE name, ...)")
    args = []
    for part in filter(None, (piece.strip() for piece in match["args"].split(","))):
        argument = ARGUMENT.match(part)
        if not argument or argument["type"] not in TYPES:
            raise Bad(f"{place}: {match['name']}: argument '{part}' is not [>|&]TYPE[?] name with a TYPE of {' '.join(TYPES)}")
        args.append(Argument(argument["flow"], argument["type"], bool(argument["optional"]), argument["name"]))
    names = [argument.name for argument in args]
    if len(set(names)) != len(names):
        raise Bad(f"{place}: {match['name']} names an argument twice")
    return Row(match["name"], args, place)


def parse_detail(row, text, place):
    if text == "waits":
        row.waits = True
        return
    if text == "max_workspace":
        row.max_workspace = True
        return
    match = TYPE_RULE.match(text)
    if match:
        unknown = [name for name in match["classes"].split() if name not in CLASSES]
        if unknown:
            raise Bad(f"{place}: '{unknown[0]}' is none of: {' '.join(CLASSES)}")
        argument = row.args[row.index(match["name"], place)]
        argument.classes = sum(CLASSES[name] for name in set(match["classes"].split()))
        return
    match = SHAPE.match(text)
    if match:
        sources = [row.index(name.strip(), place) for name in match["from"].split(",") if name.strip()]
        row.shapes.append((row.index(match["out"], place), match["rule"], sources))
        return
    match = INFER.match(text)
    if match:
        sources = [row.index(name.strip(), place) for name in match["from"].split(",") if name.strip()]
        row.infers.append((row.index(match["out"], place), match["rule"], sources))
        return
    match = DTYPE.match(text)
    if match:
        output, rule = row.index(match["out"], place), match["rule"]
        if match["from"] is not None:
            row.dtypes.append((output, None, rule, [row.index(name.strip(), place) for name in match["from"].split(",") if name.strip()]))
        elif rule in DTYPES:
            row.dtypes.append((output, DTYPES[rule], None, []))
        else:
            row.dtypes.append((output, None, "type_of", [row.index(rule, place)]))
        return
    match = DOOR.match(text)
    if not match:
        raise Bad(f"{place}: '{text}' is none of: shape, infer, dtype, types, waits, max_workspace, ge, onnx")
    values = {}
    hints = []
    for part in filter(None, (piece.strip() for piece in re.split(r",(?![^\[]*\])", match["args"]))):
        if part.startswith("~"):
            hints.append(part[1:])
            continue
        name, _, value = part.partition("=")
        row.index(name, place)
        values[name] = value
    missing = [argument.name for argument in row.args if argument.name not in values]
    if missing:
        raise Bad(f"{place}: {match['door']} {match['type']} says nothing about {', '.join(missing)}")
    row.doors[match["door"]].append((match["type"], [values[argument.name] for argument in row.args], hints))


def check_ge(rows, ops):
    for row in rows:
        for kind, values, hints in row.doors["ge"]:
            if kind not in ops:
                raise Bad(f"{row.place}: there is no GE operator {kind}")
            op = ops[kind]
            known = {name.rstrip("?*") for name in op.inputs + op.outputs} | set(op.defaults())
            for value in [*values, *hints]:
                name = re.split(r"[|{]", value)[0].lstrip("@")
                if not CONSTANT.match(name) and name not in known:
                    raise Bad(f"{row.place}: GE operator {kind} has no '{name}'; it has {', '.join(sorted(known))}")


def operands(names):
    return ", ".join(f"{{{quoted(name.rstrip('?*'))}, {str('?' in name).lower()}, {str('*' in name).lower()}}}" for name in names)


def read_table(folder):
    rows = {}
    later = []  # details of rows that may stand in a file not yet read
    for path in sorted(Path(folder).glob("*.ops")):
        row = None
        pending = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            place = f"{path.name}:{number}"
            text = line.split("#", 1)[0].rstrip()
            if not text:
                continue
            if pending or (not text[0].isspace() and not text.endswith(")") and not text.startswith("for ")):  # a long row goes on over lines
                pending = f"{pending} {text.strip()}".strip()
                if not pending.endswith(")"):
                    continue
                text, pending = pending, ""
            extends = re.match(r"^for (\w+)$", text)
            if extends:
                row = extends[1]
                continue
            if text[0].isspace():
                if isinstance(row, str):
                    later.append((row, text.strip(), place))
                    continue
                if row is None:
                    raise Bad(f"{place}: a detail before the first row")
                parse_detail(row, text.strip(), place)
                continue
            row = parse_row(text, place)
            if row.name in rows:
                raise Bad(f"{place}: {row.name} has a row already ({rows[row.name].place})")
            rows[row.name] = row
        if pending:
            raise Bad(f"{path.name}:{number}: the file ends inside a row: '{pending}' is not a row")
    for name, text, place in later:
        if name not in rows:
            raise Bad(f"{place}: there is no row {name} to go on with")
        parse_detail(rows[name], text, place)
    return [rows[name] for name in sorted(rows)]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def door_arg(value):
    value, _, choices = value.partition("{")
    name, _, constant = value.partition("|")
    if CONSTANT.match(name):
        name, constant = "", name
    listed = f", {quoted(choices.rstrip('}'))}" if choices else ""
    return f"{{{quoted(name)}, {quoted(constant)}{listed}}}"


def rules_of(out, number, kind, rules):
    """Writes the rules of one kind of one row; returns the name of the array."""
    if not rules:
        return "{}"
    listed = []
    for which, (output, rule, sources) in enumerate(rules):
        places = "{}"
        if sources:
            places = f"k{kind}From{number}_{which}"
            out.append(f"constexpr uint8_t {places}[] = {{{', '.join(map(str, sources))}}};")
        listed.append(f"{{{output}, {rule}, {places}}}")
    out.append(f"constexpr {'TypeRule' if kind == 'Type' else 'ShapeRule'} k{kind}Rules{number}[] = {{{', '.join(listed)}}};")
    return f"k{kind}Rules{number}"


def rows_text(rows, ge_ops):
    out = ["// Generated by tools/gen_ops.py from src/ops/table.", "// clang-format off"]
    entries = []
    for number, row in enumerate(rows):
        specs = ", ".join(f"{{{quoted(a.name)}, ArgKind::{TYPES[a.type][1]}, ArgFlow::{FLOWS[a.flow]}, {str(a.optional).lower()}, {a.classes}}}"
                          for a in row.args)
        out.append(f"constexpr ArgSpec kArgs{number}[] = {{{specs}}};")
        rules = [rules_of(out, number, "Shape", [(output, f"&infer::{rule}", sources) for output, rule, sources in row.shapes]),
                 rules_of(out, number, "Infer", [(output, f"&infer::{rule}", sources) for output, rule, sources in row.infers]),
                 rules_of(out, number, "Type", [(output, f"DType::{kind or 'kUndefined'}, " + (f"&infer::{rule}" if rule else "nullptr"), sources)
                                                for output, kind, rule, sources in row.dtypes])]
        doors = {}
        for door, bindings in row.doors.items():
            doors[door] = "{}"
            if bindings:
                listed = []
                for which, (kind, values, hints) in enumerate(bindings):
                    out.append(f"constexpr DoorArg kDoor{number}_{door}{which}[] = {{{', '.join(map(door_arg, values))}}};")
                    sides = []
                    for side in ("inputs", "outputs"):
                        names = getattr(ge_ops[kind], side) if door == "ge" else []
                        sides.append("{}")
                        if names:
                            sides[-1] = f"kDoor{number}_{door}{which}_{side}"
                            out.append(f"constexpr DoorOperand {sides[-1]}[] = {{{operands(names)}}};")
                    used = {re.split(r"[|{]", value)[0] for value in values} | set(hints)
                    unused = ge_ops[kind].defaults().items() if door == "ge" else []
                    unused = [f"{{{quoted(name)}, {quoted(TYPE_NUMBERS.get(default, default))}}}" for name, default in unused if name not in used]
                    sides.append("{}")
                    if unused:
                        sides[-1] = f"kDoor{number}_{door}{which}_unused"
                        out.append(f"constexpr DoorArg {sides[-1]}[] = {{{', '.join(unused)}}};")
                    listed.append(f"{{{quoted(kind)}, kDoor{number}_{door}{which}, {', '.join(sides)}}}")
                out.append(f"constexpr DoorBinding kDoors{number}_{door}[] = {{{', '.join(listed)}}};")
                doors[door] = f"kDoors{number}_{door}"
        entries.append(f"    {{{number}, {quoted(row.name)}, {str(row.aclnn).lower()}, {str(row.waits).lower()}, kArgs{number}, "
                       f"{', '.join(rules)}, {doors['ge']}, {doors['onnx']}}},")
    out += ["constexpr OpRow kRows[] = {", *entries, "};", "// clang-format on", ""]
    return "\n".join(out)


def parameters(row):
    return ", ".join(f"{TYPES[a.type][0]} {a.name}" for a in row.args)


def word(argument):
    kind = TYPES[argument.type][1]
    if kind == "kDouble":
        return f"Word(static_cast<double>({argument.name}))"
    if kind in ("kInt", "kBool", "kDType"):
        return f"Word(static_cast<int64_t>({argument.name}))"
    return f"Word({argument.name})"


def first_phases(row):
    """The names of the first phase: the second answers for the largest shapes that may come, for us the same question."""
    return [f"{row.name}GetWorkspaceSize"] + ([f"{row.name}GetMaxWorkspaceSize"] if row.max_workspace else [])


def entries_text(rows, numbers):
    out = ["// Generated by tools/gen_ops.py from src/ops/table.", "// clang-format off",
           '#include "src/api/aclnn/entry.h"', "", "using millpond::aclnn::Word;", ""]
    for row in rows:
        number = numbers[row.name]
        separator = ", " if row.args else ""
        words = ", ".join(map(word, row.args))
        for name in first_phases(row):
            out.append(f'extern "C" ACL_FUNC_VISIBILITY aclnnStatus {name}({parameters(row)}{separator}'
                       "uint64_t* workspaceSize, aclOpExecutor** executor) {")
            out.append(f"  const uint64_t words[] = {{{words if words else '0'}}};")
            out.append(f"  return millpondAclnnPrepare({number}, words, workspaceSize, executor);")
            out.append("}")
        out.append(f'extern "C" ACL_FUNC_VISIBILITY aclnnStatus {row.name}(void* workspace, uint64_t workspaceSize, '
                   "aclOpExecutor* executor, aclrtStream stream) {")
        out.append(f"  return millpondAclnnLaunch({number}, workspace, workspaceSize, executor, stream);")
        out.append("}")
    return "\n".join([*out, "// clang-format on", ""])


def header_of(row, homes):
    if row.name in homes:
        return homes[row.name]
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", row.name.replace("aclnn", "", 1)).lower()
    return f"aclnn_{words}"


def header_text(name, rows):
    guard = f"MILLPOND_INCLUDE_ACLNNOP_{name.upper()}_H_"
    out = ["// SPDX-License-Identifier: Apache-2.0", "// Two-phase operators: the first call checks the arguments and "
           "tells the workspace, the second queues the work.", f"#ifndef {guard}", f"#define {guard}", "",
           '#include "aclnn/aclnn_base.h"', "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for row in rows:
        separator = ", " if row.args else ""
        out += [f"ACL_FUNC_VISIBILITY aclnnStatus {name}({parameters(row)}{separator}"
                "uint64_t* workspaceSize, aclOpExecutor** executor);" for name in first_phases(row)]
        out.append(f"ACL_FUNC_VISIBILITY aclnnStatus {row.name}(void* workspace, uint64_t workspaceSize, "
                   "aclOpExecutor* executor, aclrtStream stream);")
    return "\n".join([*out, "", "#ifdef __cplusplus", "}", "#endif", "", f"#endif  // {guard}", ""])


def write(path, text):
    """Leaves a file alone that says the same already, so that nothing is compiled again for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def read_own(table):
    """Types of our own, for what no GE operator says: nodes like all others, but in no header."""
    return ge_table.read(Path(table) / "own_ir.tsv") | ge_table.read(Path(table) / "fused_ir.tsv")


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default=str(Path(__file__).resolve().parents[1] / "src" / "ops" / "table"))
    parser.add_argument("--output", required=True, help="folder for the generated files")
    arguments = parser.parse_args(argv)
    try:
        rows = read_table(arguments.table)
        vendor_ops = ge_table.read(Path(arguments.table) / "ge_ir.tsv")
        ge_ops = vendor_ops | read_own(arguments.table)
        check_ge(rows, ge_ops)
    except (Bad, ValueError) as error:
        print(f"gen_ops: {error}", file=sys.stderr)
        return 1
    output = Path(arguments.output)
    write(output / "op_rows.inc", rows_text(rows, ge_ops))
    write(output / "ge_ops.inc", ge_table.packed(ge_ops))
    numbers = {row.name: number for number, row in enumerate(rows)}
    exported = [row for row in rows if row.aclnn]
    for part in range(PARTS):
        write(output / f"opapi_{part}.cc", entries_text(exported[part::PARTS], numbers))
    homes = {}
    homes_file = Path(arguments.table) / "headers.tsv"
    if homes_file.exists():
        homes = dict(line.split("\t") for line in homes_file.read_text().splitlines() if line and line[0] != "#")
    headers = {}
    for row in exported:
        headers.setdefault(header_of(row, homes), []).append(row)
    for name, members in headers.items():
        write(output / "include" / "aclnnop" / f"{name}.h", header_text(name, members))
    for stale in (output / "include" / "aclnnop").glob("*.h"):
        if stale.stem not in headers:
            stale.unlink()
    op_proto = ge_table.op_headers(vendor_ops, ge_table.read_homes(Path(arguments.table) / "ge_headers.tsv"))
    for name, text in op_proto.items():
        write(output / "op_proto" / "inc" / f"{name}.h", text)
    for stale in (output / "op_proto" / "inc").glob("*.h"):
        if stale.stem not in op_proto:
            stale.unlink()
    (output / "stamp").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
