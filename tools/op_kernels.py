# SPDX-License-Identifier: Apache-2.0
"""Which kernel each row of the operator table runs, and what the kernel's parameters are given.

    kernel AddScaled(T self, T other, S alpha = 1, >t out)
        ignores  cubeMathType "a hint about the device's arithmetic"
        refuses  mode unless 0 "only mode 0 is supported"

    aclnnInplaceAdd(&T selfRef, T other, S alpha)
        kernel AddScaled(self=selfRef, out=selfRef)

A row without a `kernel` line runs the kernel of its own name, with its arguments in order but for those that it ignores or refuses. A row
with one may name a kernel that is declared so, or another row that has a kernel of its own. A parameter that the line does not mention takes the row's argument of the same
name, else its default. Every argument of the row is given to a parameter, or is listed as ignored or refused, by the row or by the kernel:
none is dropped in silence.
"""

import re

from op_row import Bad, Kernel, Unused, parse_arguments, quoted, split_list

LINE = re.compile(r"^kernel (?P<name>\w+)(\((?P<args>.*)\))?$")
UNUSED = re.compile(r'^(?P<what>ignores|refuses) +(?P<names>\w+(, *\w+)*)( +unless (?P<unless>\S+))? +"(?P<reason>[^"]+)"$')
NUMBER = re.compile(r"^-?(\d+|inf)(\.\d*)?(e-?\d+)?$")
CONSTANT_PLACE = 0x80  # KernelArg::kConstant of src/ops/row.h
TENSORS = ("kTensor", "kTensorList")


def parse_declaration(text, place):
    return Kernel(*parse_arguments(text.removeprefix("kernel "), place), place)


def parse_line(row, text, place):
    """A detail of a row; False when it is not about its kernel."""
    match = LINE.match(text)
    if match:
        values = {}
        for part in split_list(match["args"] or ""):
            name, sign, value = (piece.strip() for piece in part.partition("="))
            if not sign or not value or name in values:
                raise Bad(f"{place}: {row.name}: '{part}' is not parameter=argument or parameter=constant, each parameter once")
            values[name] = value
        row.kernel = (match["name"], values, place)
        return True
    return parse_unused(row, text, place)


def parse_unused(owner, text, place):
    match = UNUSED.match(text)
    if not match:
        return False
    if match["what"] == "ignores" and match["unless"]:
        raise Bad(f"{place}: 'unless' belongs to 'refuses'")
    for name in split_list(match["names"]):
        owner.unused[name] = Unused(match["reason"], match["what"] == "refuses", match["unless"] or "none")
    return True


def constant(parameter, text, where):
    """The KernelConstant of src/ops/row.h; Bad when `parameter` cannot have this value."""
    kind = "kScalar" if parameter.type == "TS" else parameter.kind
    bad = Bad(f"{where}: '{text}' is neither an argument of the row nor a value for {parameter.type}{'?' * parameter.optional} {parameter.name}")
    if text == "none":
        if not parameter.optional:
            raise bad
        return "{}"
    if text in ("true", "false") and kind in ("kBool", "kScalar"):
        return f"{{.dtype = DType::kBool, .integer = {text}}}"
    if NUMBER.match(text) and kind in ("kInt", "kScalar", "kDouble"):
        if kind == "kDouble" or not re.match(r"^-?\d+$", text):
            if kind == "kInt":
                raise bad
            value = text.replace("inf", "std::numeric_limits<double>::infinity()")
            return f"{{.dtype = DType::kDouble, .real = {value}}}"
        return f"{{.dtype = DType::kInt64, .integer = {text}}}"
    if text.startswith('"') and text.endswith('"') and kind == "kString":
        return f"{{.dtype = DType::kString, .text = {text}}}"
    raise bad


def check_types(row, argument, parameter, where):
    """An argument may be what a parameter is given when the kernel finds in the call what it expects there."""
    fits = argument.kind == parameter.kind or (argument.kind, parameter.kind) in (("kTensor", "kTensorList"), ("kBool", "kInt"))
    fits = fits or (parameter.type == "TS" and argument.kind in ("kScalar", "kInt"))
    if parameter.flow in (">", "!"):
        fits = fits and argument.flow != ""
    elif parameter.flow == "&":
        fits = fits and argument.flow == "&"
    elif argument.kind in TENSORS:
        fits = fits and argument.flow in ("", "&")
    if argument.optional and not parameter.optional and argument.kind != "kString":
        fits = False
    if not fits:
        raise Bad(f"{where}: {row.name}'s {argument.flow}{argument.type}{'?' * argument.optional} {argument.name} cannot be "
                  f"{parameter.flow}{parameter.type}{'?' * parameter.optional} {parameter.name}")


class Binding:
    """One row bound to its kernel: for each parameter the argument's place, or CONSTANT_PLACE + the constant's."""

    def __init__(self, row, kernel, values, where):
        self.kernel = kernel
        self.places, self.constants, self.refusals = [], [], []
        arguments = {argument.name: place for place, argument in enumerate(row.args)}
        unknown = sorted(set(values) - {parameter.name for parameter in kernel.args})
        if unknown:
            raise Bad(f"{where}: kernel {kernel.name} has no parameter '{unknown[0]}'")
        taken = set()
        for parameter in kernel.args:
            value = values.get(parameter.name, parameter.name if parameter.name in arguments else parameter.default)
            if value in arguments:
                check_types(row, row.args[arguments[value]], parameter, where)
                self.places.append(arguments[value])
                taken.add(value)
                continue
            if not value:
                raise Bad(f"{where}: {row.name} says nothing about {parameter.name} of kernel {kernel.name}")
            self.places.append(CONSTANT_PLACE + len(self.constants))
            self.constants.append(constant(parameter, value, where))
        self.check_unused(row, taken, arguments, where)

    def check_unused(self, row, taken, arguments, where):
        unknown = sorted(set(row.unused) - (set(arguments) - taken))
        if unknown:
            raise Bad(f"{where}: {row.name} ignores or refuses '{unknown[0]}', which is not one of its arguments that the kernel does not take")
        for argument in row.args:
            if argument.name in taken:
                continue
            unused = row.unused.get(argument.name) or self.kernel.unused.get(argument.name)
            if not unused:
                raise Bad(f"{where}: kernel {self.kernel.name} takes no {argument.name} of {row.name}: give it to a parameter, or say "
                          f"'ignores {argument.name} \"why\"' or 'refuses {argument.name} unless VALUE \"why\"'")
            if unused.refused:
                allowed = constant(argument, unused.unless, where)
                self.refusals.append(f"{{{arguments[argument.name]}, {allowed}, {quoted(unused.reason)}}}")

    @property
    def in_order(self):
        return self.places == list(range(len(self.places)))


def bind(rows, declared):
    """Row name: Binding; every kernel stands for itself once."""
    own = {row.name: row for row in rows if row.kernel is None}
    clash = sorted(set(own) & set(declared))
    if clash:
        raise Bad(f"{declared[clash[0]].place}: kernel {clash[0]} is declared, and the row of that name has no 'kernel' line")
    made = {name: Kernel(name, [argument for argument in row.args if argument.name not in row.unused], row.place, row.unused)
            for name, row in own.items()}
    bindings = {}
    for row in rows:
        if row.kernel is None:
            bindings[row.name] = Binding(row, made[row.name], {}, row.place)
            continue
        name, values, where = row.kernel
        kernel = declared.get(name) or made.get(name)
        if kernel is None:
            raise Bad(f"{where}: there is no kernel {name}: neither declared nor of a row's own")
        bindings[row.name] = Binding(row, kernel, values, where)
    idle = sorted(set(declared) - {binding.kernel.name for binding in bindings.values()})
    if idle:
        raise Bad(f"{declared[idle[0]].place}: no row binds kernel {idle[0]}")
    return bindings


def kernels_of(bindings):
    """The kernels by name, sorted."""
    return dict(sorted({binding.kernel.name: binding.kernel for binding in bindings.values()}.items()))


def written(out, number, binding, kernel_number):
    """Appends the arrays of one row's binding; returns the KernelBinding of src/ops/row.h."""
    places = "kInOrder"
    if not binding.in_order:
        places = f"kPlaces{number}"
        out.append(f"constexpr uint8_t {places}[] = {{{', '.join(map(str, binding.places))}}};")
    fields = [str(kernel_number), places]
    for name, kind, members in (("kConstants", "KernelConstant", binding.constants), ("kRefusals", "Refusal", binding.refusals)):
        fields.append(f"{name}{number}" if members else "{}")
        if members:
            out.append(f"constexpr {kind} {name}{number}[] = {{{', '.join(members)}}};")
    return f"{{{', '.join(fields)}}}"
