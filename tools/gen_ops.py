#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the operator table (src/ops/table/*.ops) into C++: the rows, libopapi's entry points and the aclnnop headers.

A row:

    aclnnAddmm(T self, T mat1, T mat2, S beta, S alpha, >t out, i8 cubeMathType)
        shape out = matmul(mat1, mat2)
        ge    MatMulV2(self=bias, mat1=x1, mat2=x2, beta=1, alpha=1, out=y, cubeMathType=0)

Arguments stand in ABI order, each `[>|&|!]TYPE[?] name`: > an output, & both read and written, ! written in place (what was there is not
read), ? may be NULL. Types: T t tensor (const or not in C), TL tl list of tensors, S scalar, SL list of scalars, IA int array, FA float
array, BA bool array, i64 u64 i32 u32 i8 bool f64 f32, dt data type, str string. A name without `aclnn` in front is a row for graphs only.

Lines below a row:
- `kernel NAME(parameter=argument, ...)`, `ignores ...`, `refuses ...`: tools/op_kernels.py.
- `shape OUT = RULE(arguments)` (src/ops/infer.h): every door checks it; `infer OUT = RULE(arguments)`: the same, only for graphs, where the
  output's shape is asked for and not given (when a row has both, infer answers).
- `dtype OUT = TYPE | ARGUMENT | RULE(arguments)`: the output's type in a graph: a name such as bool or int32, that of a tensor argument, the
  value of a type argument, or what a rule says; without the line it is the first input's.
- `types ARGUMENT = CLASS ...`: a tensor of another class is refused at once (half float int bool complex).
- `may ARGUMENT ...`: only part of the tensor is written (or read and written), which part its contents decide.
- `waits`: an output's shape is known only after the run. `max_workspace`: there is a third entry point, NAMEGetMaxWorkspaceSize.
- `ge TYPE(...)`: each argument of the row from the GE operator's input, output or attribute of that name (`@y`: the type of operand y), from a
  constant, or `name|constant` for an attribute with a default. `name|mean{none:0 mean:1}` maps the values of a text attribute to numbers.
  `~name` is an attribute that is a hint: any value of it is right.
`for aclnnAdd` on a line of its own goes on with the details of a row that stands in another file. A row or a detail that ends in a comma goes
on in the next line.
"""

import argparse
import re
import sys
from pathlib import Path

import ge_table
import op_kernels
from op_row import TYPES, Bad, parse_row, quoted, split_list

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
GE_LINE = re.compile(r"^ge +(?P<type>\w+)\((?P<args>.*)\)$")
CONSTANT = re.compile(r"^(-?\d[\w.+-]*|true|false|none|\[.*\])$")
PARTS = 8  # files of entry points, so that they compile side by side


def parse_rule(row, match, place):
    """Of a `shape` or an `infer` line."""
    return row.index(match["out"], place), match["rule"], [row.index(name, place) for name in split_list(match["from"])]


def parse_dtype(row, match, place):
    output, rule = row.index(match["out"], place), match["rule"]
    if match["from"] is not None:
        return output, None, rule, [row.index(name, place) for name in split_list(match["from"])]
    if rule in DTYPES:
        return output, DTYPES[rule], None, []
    return output, None, "type_of", [row.index(rule, place)]


def parse_types(row, match, place):
    unknown = [name for name in match["classes"].split() if name not in CLASSES]
    if unknown:
        raise Bad(f"{place}: '{unknown[0]}' is none of: {' '.join(CLASSES)}")
    row.args[row.index(match["name"], place)].classes = sum(CLASSES[name] for name in set(match["classes"].split()))


def parse_ge(row, match, place):
    values, hints = {}, []
    for part in split_list(match["args"]):
        if part.startswith("~"):
            hints.append(part[1:])
            continue
        name, _, value = part.partition("=")
        row.index(name, place)
        values[name] = value
    missing = [argument.name for argument in row.args if argument.name not in values]
    if missing:
        raise Bad(f"{place}: ge {match['type']} says nothing about {', '.join(missing)}")
    return match["type"], [values[argument.name] for argument in row.args], hints


def parse_detail(row, text, place):
    if text in ("waits", "max_workspace"):
        setattr(row, text, True)
        return
    if op_kernels.parse_line(row, text, place):
        return
    if text.startswith("may "):
        for name in text.split()[1:]:
            argument = row.args[row.index(name, place)]
            if not argument.flow:
                raise Bad(f"{place}: {row.name} does not write {name}")
            argument.partial = True
        return
    if match := TYPE_RULE.match(text):
        parse_types(row, match, place)
    elif match := SHAPE.match(text):
        row.shapes.append(parse_rule(row, match, place))
    elif match := INFER.match(text):
        row.infers.append(parse_rule(row, match, place))
    elif match := DTYPE.match(text):
        row.dtypes.append(parse_dtype(row, match, place))
    elif match := GE_LINE.match(text):
        row.ge.append(parse_ge(row, match, place))
    else:
        raise Bad(f"{place}: '{text}' is none of: kernel, ignores, refuses, shape, infer, dtype, types, may, waits, max_workspace, ge")


def check_ge(rows, ops):
    for row in rows:
        for kind, values, hints in row.ge:
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


def lines_of(path):
    """The table's lines with their place, continued ones in one: (place, whether a detail, text)."""
    pending, detail = "", False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path.name}:{number}"
        text = line.split("#", 1)[0].rstrip()
        if not text:
            continue
        if not pending:
            detail = text[0].isspace()
        pending = f"{pending} {text.strip()}".strip()
        whole = not pending.endswith(",") if detail else pending.endswith(")") or pending.startswith("for ")
        if whole:
            yield place, detail, pending
            pending = ""
    if pending:
        raise Bad(f"{place}: the file ends inside a row: '{pending}' is not a row")


def read_tables(folder):
    """The rows, sorted by name, and the declared kernels by name."""
    rows, kernels = {}, {}
    later = []  # details of rows that may stand in a file not yet read
    for path in sorted(Path(folder).glob("*.ops")):
        row = None
        for place, detail, text in lines_of(path):
            if match := re.match(r"^for (\w+)$", text):
                row = match[1]
            elif detail and isinstance(row, str):
                later.append((row, text, place))
            elif detail and row is None:
                raise Bad(f"{place}: a detail before the first row")
            elif detail and isinstance(row, op_kernels.Kernel):
                if not op_kernels.parse_unused(row, text, place):
                    raise Bad(f"{place}: '{text}' is none of: ignores, refuses")
            elif detail:
                parse_detail(row, text, place)
            else:
                declared = text.startswith("kernel ")
                row = op_kernels.parse_declaration(text, place) if declared else parse_row(text, place)
                known = kernels if declared else rows
                if row.name in known:
                    raise Bad(f"{place}: {row.name} has a {'declaration' if declared else 'row'} already ({known[row.name].place})")
                known[row.name] = row
    for name, text, place in later:
        if name not in rows:
            raise Bad(f"{place}: there is no row {name} to go on with")
        parse_detail(rows[name], text, place)
    return [rows[name] for name in sorted(rows)], kernels


def read_table(folder):
    return read_tables(folder)[0]


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


def ge_bindings(out, number, row, ge_ops):
    """Writes how GE's operators become calls of the row; returns the name of the array."""
    if not row.ge:
        return "{}"
    listed = []
    for which, (kind, values, hints) in enumerate(row.ge):
        name = f"kGe{number}_{which}"
        out.append(f"constexpr DoorArg {name}[] = {{{', '.join(map(door_arg, values))}}};")
        parts = []
        for side in ("inputs", "outputs"):
            names = getattr(ge_ops[kind], side)
            parts.append(f"{name}_{side}" if names else "{}")
            if names:
                out.append(f"constexpr DoorOperand {parts[-1]}[] = {{{operands(names)}}};")
        used = {re.split(r"[|{]", value)[0] for value in values} | set(hints)
        unused = [f"{{{quoted(attribute)}, {quoted(TYPE_NUMBERS.get(default, default))}}}"
                  for attribute, default in ge_ops[kind].defaults().items() if attribute not in used]
        parts.append(f"{name}_unused" if unused else "{}")
        if unused:
            out.append(f"constexpr DoorArg {parts[-1]}[] = {{{', '.join(unused)}}};")
        listed.append(f"{{{quoted(kind)}, {name}, {', '.join(parts)}}}")
    out.append(f"constexpr DoorBinding kGe{number}[] = {{{', '.join(listed)}}};")
    return f"kGe{number}"


def rows_text(rows, bindings, ge_ops):
    out = ["// Generated by tools/gen_ops.py from src/ops/table.", "// clang-format off",
           f"constexpr uint8_t kInOrder[] = {{{', '.join(map(str, range(op_kernels.CONSTANT_PLACE)))}}};"]
    kernels = op_kernels.kernels_of(bindings)
    kernel_numbers = {name: number for number, name in enumerate(kernels)}
    rows_by_name = {row.name: row for row in rows}
    entries, arguments = [], {}
    for number, row in enumerate(rows):
        arguments[row.name] = f"kArgs{number}"
        out.append(f"constexpr ArgSpec kArgs{number}[] = {{{', '.join(a.spec for a in row.args)}}};")
        parts = [rules_of(out, number, "Shape", [(output, f"&infer::{rule}", sources) for output, rule, sources in row.shapes]),
                 rules_of(out, number, "Infer", [(output, f"&infer::{rule}", sources) for output, rule, sources in row.infers]),
                 rules_of(out, number, "Type", [(output, f"DType::{kind or 'kUndefined'}, " + (f"&infer::{rule}" if rule else "nullptr"), sources)
                                                for output, kind, rule, sources in row.dtypes]),
                 ge_bindings(out, number, row, ge_ops),
                 op_kernels.written(out, number, bindings[row.name], kernel_numbers[bindings[row.name].kernel.name])]
        entries.append(f"    {{{number}, {quoted(row.name)}, {str(row.aclnn).lower()}, {str(row.waits).lower()}, kArgs{number}, {', '.join(parts)}}},")
    out += ["constexpr OpRow kRows[] = {", *entries, "};"]
    specs = []
    for name, kernel in kernels.items():
        own = bindings.get(name)
        if own is None or own.kernel is not kernel or len(kernel.args) != len(rows_by_name[name].args):
            arguments[name] = f"kParameters_{name}" if kernel.args else "{}"
        if arguments[name] == f"kParameters_{name}":
            out.append(f"constexpr ArgSpec kParameters_{name}[] = {{{', '.join(a.spec for a in kernel.args)}}};")
        specs.append(f"    {{{quoted(name)}, {arguments[name]}}},")
    out += ["constexpr KernelSpec kKernels[] = {", *specs, "};", "// clang-format on", ""]
    return "\n".join(out)


def parameters(row):
    return ", ".join(f"{TYPES[a.type][0]} {a.name}" for a in row.args)


def word(argument):
    kind = argument.kind
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
            out.append(f"  const uint64_t words[] = {{{words or '0'}}};")
            out.append(f"  return millpondAclnnPrepare({number}, __func__, words, workspaceSize, executor);")
            out.append("}")
        out.append(f'extern "C" ACL_FUNC_VISIBILITY aclnnStatus {row.name}(void*, uint64_t, '
                   "aclOpExecutor* executor, aclrtStream stream) {")
        out.append(f"  return millpondAclnnLaunch({number}, __builtin_return_address(0), executor, stream);")
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
        rows, kernels = read_tables(arguments.table)
        bindings = op_kernels.bind(rows, kernels)
        vendor_ops = ge_table.read(Path(arguments.table) / "ge_ir.tsv")
        ge_ops = vendor_ops | read_own(arguments.table)
        check_ge(rows, ge_ops)
    except (Bad, ValueError) as error:
        print(f"gen_ops: {error}", file=sys.stderr)
        return 1
    output = Path(arguments.output)
    write(output / "op_rows.inc", rows_text(rows, bindings, ge_ops))
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
