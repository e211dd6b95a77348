# SPDX-License-Identifier: Apache-2.0
"""The rows of the operator table and the kernels they run, as tools/gen_ops.py reads them."""

import re
from dataclasses import dataclass, field

# row type: (C type, ArgKind)
TYPES = {
    "T": ("const aclTensor*", "kTensor"), "t": ("aclTensor*", "kTensor"),
    "TL": ("const aclTensorList*", "kTensorList"), "tl": ("aclTensorList*", "kTensorList"),
    "S": ("const aclScalar*", "kScalar"), "SL": ("const aclScalarList*", "kScalarList"),
    "IA": ("const aclIntArray*", "kInts"), "FA": ("const aclFloatArray*", "kFloats"), "BA": ("const aclBoolArray*", "kBools"),
    "i64": ("int64_t", "kInt"), "u64": ("uint64_t", "kInt"), "i32": ("int32_t", "kInt"), "u32": ("uint32_t", "kInt"),
    "i8": ("int8_t", "kInt"), "bool": ("bool", "kBool"), "f64": ("double", "kDouble"), "f32": ("float", "kDouble"),
    "dt": ("aclDataType", "kDType"), "str": ("const char*", "kString"),
    "TS": (None, "kTensor"),  # a kernel's parameter alone: a tensor, or a scalar in its place
}
FLOWS = {"": "kIn", ">": "kOut", "&": "kInOut", "!": "kInOut"}
ARGUMENT = re.compile(r"^(?P<flow>[>&!]?)(?P<type>\w+)(?P<optional>\??) (?P<name>\w+)(?: ?= ?(?P<default>.+))?$")
ROW = re.compile(r"^(?P<name>\w+)\((?P<args>.*)\)$")


class Bad(Exception):
    pass


@dataclass
class Argument:
    flow: str
    type: str
    optional: bool
    name: str
    default: str = ""  # of a kernel's parameter: what a row gives that says nothing about it
    classes: int = 0  # 0: any
    partial: bool = False
    types: tuple = ()  # tools/op_types.py: a mask of types for each product series; (): any
    type_set: int = 0  # its place among all rows' masks

    @property
    def kind(self):
        return TYPES[self.type][1]

    @property
    def spec(self):
        """The ArgSpec of src/ops/row.h."""
        fields = [f'"{self.name}"', f"ArgKind::{self.kind}", f"ArgFlow::{FLOWS[self.flow]}", str(self.optional).lower(), str(self.classes)]
        flags = [self.flow == "!", self.partial, self.type == "TS"]
        if any(flags) or self.type_set:
            fields += [str(flag).lower() for flag in flags]
        if self.type_set:
            fields.append(str(self.type_set))
        return f"{{{', '.join(fields)}}}"


@dataclass
class Unused:
    """An argument that the kernel does not take: of no effect here (ignored), or refused unless it has the value `unless`."""
    reason: str
    refused: bool = False
    unless: str = "none"


@dataclass
class Kernel:
    name: str
    args: list
    place: str
    unused: dict = field(default_factory=dict)  # argument: Unused, for every row that binds the kernel


@dataclass
class Row:
    name: str
    args: list
    place: str
    shapes: list = field(default_factory=list)
    infers: list = field(default_factory=list)
    dtypes: list = field(default_factory=list)  # (output, DType or None, rule or None, sources)
    ge: list = field(default_factory=list)
    waits: bool = False
    max_workspace: bool = False
    kernel: tuple = None  # (name, {parameter: value}, place); None: the one of the row's own name
    unused: dict = field(default_factory=dict)

    @property
    def aclnn(self):
        return self.name.startswith("acl")

    def index(self, name, place):
        for number, argument in enumerate(self.args):
            if argument.name == name:
                return number
        raise Bad(f"{place}: {self.name} has no argument '{name}'")


def split_list(text):
    """At the commas outside brackets and quotes."""
    return [piece.strip() for piece in re.split(r',(?![^\[]*\])(?=(?:[^"]*"[^"]*")*[^"]*$)', text) if piece.strip()]


def parse_arguments(text, place):
    """NAME(TYPE name, ...): the name and the arguments."""
    match = ROW.match(text)
    if not match:
        raise Bad(f"{place}: not a row: '{text}'; the form is name(TYPE name, ...)")
    args = []
    for part in split_list(match["args"]):
        argument = ARGUMENT.match(part)
        if not argument or argument["type"] not in TYPES:
            raise Bad(f"{place}: {match['name']}: argument '{part}' is not [>|&|!]TYPE[?] name with a TYPE of {' '.join(TYPES)}")
        args.append(Argument(argument["flow"], argument["type"], bool(argument["optional"]), argument["name"], argument["default"] or ""))
    names = [argument.name for argument in args]
    if len(set(names)) != len(names):
        raise Bad(f"{place}: {match['name']} names an argument twice")
    return match["name"], args


def parse_row(text, place):
    name, args = parse_arguments(text, place)
    given = [argument.name for argument in args if argument.default or argument.type == "TS"]
    if given:
        raise Bad(f"{place}: {name}: '{given[0]}' has a default or TYPE TS, which only a kernel's parameter may have")
    return Row(name, args, place)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
