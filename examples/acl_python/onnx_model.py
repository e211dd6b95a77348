# SPDX-License-Identifier: Apache-2.0
"""Writes a small ONNX model without the onnx package: y = relu(x + x) * x - x, the first dimension of x open.

An ONNX file is a protobuf message: fields of a number and a kind, one after the other. These are the few that a model
cannot do without (onnx.proto has the numbers).
"""

FLOAT = 1  # TensorProto.FLOAT
OPSET = 13
IR_VERSION = 8


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(field, number):
    return varint(field << 3) + varint(number)


def text(field, value):
    return message(field, value.encode())


def message(field, *parts):
    body = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def node(kind, inputs, output):
    return message(1, *(text(1, name) for name in inputs), text(2, output), text(3, output), text(4, kind))


def value_info(field, name, rows, columns):
    """A tensor of floats; `rows` is a name, which leaves that dimension open."""
    shape = message(2, message(1, text(2, rows)), message(1, integer(1, columns)))
    return message(field, text(1, name), message(2, message(1, integer(1, FLOAT), shape)))


def write(path, columns):
    graph = message(7, node("Add", ["x", "x"], "twice"), node("Relu", ["twice"], "positive"), node("Mul", ["positive", "x"], "product"),
                    node("Sub", ["product", "x"], "y"), text(2, "small"), value_info(11, "x", "rows", columns),
                    value_info(12, "y", "rows", columns))
    path.write_bytes(integer(1, IR_VERSION) + graph + message(8, text(1, ""), integer(2, OPSET)))
