# SPDX-License-Identifier: Apache-2.0
"""Three well-known networks as ONNX files, written node by node as exporters write them, with random weights.

ResNet-50 has its batch norms, BERT-base its Gelu by Erf and its mask, GPT-2 small its Gelu by Tanh, its causal mask and a
head of its own: what a runtime makes of that is its own affair.
"""

import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8  # what every runtime of these years reads
MIN_WORDS = 1000  # every model knows that many


class Writer:
    """Nodes and constants in the order in which they are asked for."""

    def __init__(self, seed):
        self._random = numpy.random.default_rng(seed)
        self._nodes = []
        self._constants = []

    def node(self, kind, inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}_{len(self._nodes)}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self._nodes.append(helper.make_node(kind, inputs, names, name=f"/{kind}_{len(self._nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, name, values):
        self._constants.append(numpy_helper.from_array(values, name))
        return name

    def random(self, name, shape, spread, around=0.0):
        values = self._random.standard_normal(shape, dtype=numpy.float32)
        return self.constant(name, values * numpy.float32(spread) + numpy.float32(around))

    def save(self, path, name, inputs, outputs):
        graph = helper.make_graph(self._nodes, name, inputs, outputs, self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        onnx.save(model, str(path))


def _info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def resnet50(path, dynamic=False, tiny=False):
    """Input x [1, 3, 224, 224], or any batch, height and width; output [batch, 1000]. Tiny: a block for each stage."""
    writer = Writer(50)

    def convolution(x, name, cin, cout, size, stride, spread=1.0):
        weight = writer.random(f"{name}.weight", (cout, cin, size, size), spread * (2 / (cin * size * size)) ** 0.5)
        y = writer.node("Conv", [x, weight], kernel_shape=[size] * 2, strides=[stride] * 2, pads=[size // 2] * 4,
                        dilations=[1, 1], group=1)
        norm = [writer.random(f"{name}.norm.weight", cout, 0.05, 1.0), writer.random(f"{name}.norm.bias", cout, 0.05),
                writer.random(f"{name}.norm.mean", cout, 0.05),
                writer.constant(f"{name}.norm.variance", numpy.full(cout, 1.0, numpy.float32))]
        return writer.node("BatchNormalization", [y, *norm], epsilon=1e-5)

    x = writer.node("Relu", [convolution("x", "stem", 3, 64, 7, 2)])
    x = writer.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    cin = 64
    for stage, (width, count, first_stride) in enumerate([(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)], 1):
        for block in range(1 if tiny else count):
            name = f"layer{stage}.{block}"
            stride = first_stride if block == 0 else 1
            y = writer.node("Relu", [convolution(x, f"{name}.conv1", cin, width, 1, 1)])
            y = writer.node("Relu", [convolution(y, f"{name}.conv2", width, width, 3, stride)])
            y = convolution(y, f"{name}.conv3", width, 4 * width, 1, 1, 0.3)
            skip = convolution(x, f"{name}.downsample", cin, 4 * width, 1, stride) if block == 0 else x
            x = writer.node("Relu", [writer.node("Add", [y, skip])])
            cin = 4 * width
    x = writer.node("Flatten", [writer.node("GlobalAveragePool", [x])], axis=1)
    y = writer.node("Gemm", [x, writer.random("fc.weight", (1000, 2048), 0.02), writer.random("fc.bias", 1000, 0.02)],
                    transB=1)
    batch, height, width = ("batch", "height", "width") if dynamic else (1, 224, 224)
    writer.save(path, "resnet50", [_info("x", TensorProto.FLOAT, [batch, 3, height, width])],
                [_info(y, TensorProto.FLOAT, [batch, 1000])])


class Transformer:
    """What BERT and GPT-2 share; sizes are those of the base models."""

    WIDTH, HEADS, INNER = 768, 12, 3072

    def __init__(self, seed, tiny):
        self.layers = 1 if tiny else 12
        self.writer = Writer(seed)
        self._depth = self.WIDTH // self.HEADS

    def scalar(self, name, value):
        return self.writer.constant(name, numpy.array(value, numpy.float32))

    def ints(self, name, values):
        return self.writer.constant(name, numpy.array(values, numpy.int64))

    def norm(self, x, name):
        weight = self.writer.random(f"{name}.weight", self.WIDTH, 0.05, 1.0)
        bias = self.writer.random(f"{name}.bias", self.WIDTH, 0.05)
        return self.writer.node("LayerNormalization", [x, weight, bias], axis=-1, epsilon=1e-5)

    def linear(self, x, name, wide_in, wide_out):
        weight = self.writer.random(f"{name}.weight", (wide_in, wide_out), 0.02)
        bias = self.writer.random(f"{name}.bias", wide_out, 0.02)
        return self.writer.node("Add", [self.writer.node("MatMul", [x, weight]), bias])

    def heads(self, x, order):
        """[batch, sequence, width] to [batch, heads, sequence, depth], or with the last two turned."""
        x = self.writer.node("Reshape", [x, "heads_shape"])
        return self.writer.node("Transpose", [x], perm=order)

    def merged(self, x):
        x = self.writer.node("Transpose", [x], perm=[0, 2, 1, 3])
        return self.writer.node("Reshape", [x, "merged_shape"])

    def shapes(self):
        self.ints("heads_shape", [0, 0, self.HEADS, self._depth])
        self.ints("merged_shape", [0, 0, self.WIDTH])

    def embedded(self, words, positions, sequence):
        table = self.writer.random("words.weight", (words, self.WIDTH), 0.02)
        places = self.writer.random("positions.weight", (positions, self.WIDTH), 0.02)
        x = self.writer.node("Gather", [table, "ids"], axis=0)
        if sequence is None:  # as many places as there are words
            length = self.writer.node("Gather", [self.writer.node("Shape", ["ids"]), self.ints("one", 1)], axis=0)
            counted = self.writer.node("Range", [self.ints("zero", 0), length, "one"])
        else:
            counted = self.ints("places", numpy.arange(sequence))
        return self.writer.node("Add", [x, self.writer.node("Gather", [places, counted], axis=0)])

    def attention(self, q, k, v, masked):
        w = self.writer
        scores = w.node("MatMul", [self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1])])
        scores = masked(w.node("Div", [scores, "root"]))
        return self.merged(w.node("MatMul", [w.node("Softmax", [scores], axis=-1), self.heads(v, [0, 2, 1, 3])]))


def bert_base(path, sequence=128, tiny=False):
    """Inputs ids and mask [1, sequence], int64; output [1, sequence, 768]. No sequence: any batch and any length."""
    t = Transformer(110, tiny)
    w = t.writer
    t.shapes()
    root_of_two, one, half = t.scalar("root_of_two", 2 ** 0.5), t.scalar("one_float", 1), t.scalar("half", 0.5)
    t.scalar("root", 8)
    x = t.embedded(MIN_WORDS if tiny else 30522, 512, sequence)
    x = t.norm(w.node("Add", [x, w.random("kind.weight", (1, 1, t.WIDTH), 0.02)]), "embeddings.norm")
    mask = w.node("Cast", [w.node("Unsqueeze", ["mask", t.ints("mask_axes", [1, 2])])], to=TensorProto.FLOAT)
    mask = w.node("Mul", [w.node("Sub", [one, mask]), t.scalar("least", numpy.finfo(numpy.float32).min)])
    for layer in range(t.layers):
        name = f"layer.{layer}"
        q, k, v = (t.linear(x, f"{name}.{part}", t.WIDTH, t.WIDTH) for part in ("query", "key", "value"))
        y = t.attention(q, k, v, lambda scores: w.node("Add", [scores, mask]))
        x = t.norm(w.node("Add", [t.linear(y, f"{name}.output", t.WIDTH, t.WIDTH), x]), f"{name}.norm1")
        y = t.linear(x, f"{name}.inner", t.WIDTH, t.INNER)
        gate = w.node("Add", [w.node("Erf", [w.node("Div", [y, root_of_two])]), one])
        y = w.node("Mul", [w.node("Mul", [y, gate]), half])
        x = t.norm(w.node("Add", [t.linear(y, f"{name}.outer", t.INNER, t.WIDTH), x]), f"{name}.norm2")
    shape = [1, sequence] if sequence else ["batch", "sequence"]
    w.save(path, "bert", [_info(name, TensorProto.INT64, shape) for name in ("ids", "mask")],
           [_info(x, TensorProto.FLOAT, [*shape, t.WIDTH])])


def gpt2_small(path, sequence=128, tiny=False):
    """Input ids [1, sequence], int64; output logits [1, sequence, words]. No sequence: any batch and any length."""
    t = Transformer(117, tiny)
    words = MIN_WORDS if tiny else 50257
    w = t.writer
    t.shapes()
    t.scalar("root", 8)
    one, half, three = t.scalar("one_float", 1), t.scalar("half", 0.5), t.scalar("three", 3)
    least, cubic = t.scalar("least", numpy.finfo(numpy.float32).min), t.scalar("cubic", 0.044715)
    slope = t.scalar("slope", numpy.sqrt(2 / numpy.pi))
    x = t.embedded(words, 1024, sequence)
    reach = sequence or 1024
    seen = w.constant("seen", numpy.tril(numpy.ones((1, 1, reach, reach), bool)))
    if sequence is None:
        ends = w.node("Unsqueeze", [w.node("Gather", [w.node("Shape", ["ids"]), "one"], axis=0), t.ints("first", [0])])
        for axis in (2, 3):
            seen = w.node("Slice", [seen, "first", ends, t.ints(f"axis_{axis}", [axis])])
    for layer in range(t.layers):
        name = f"h.{layer}"
        qkv = t.linear(t.norm(x, f"{name}.norm1"), f"{name}.qkv", t.WIDTH, 3 * t.WIDTH)
        q, k, v = w.node("Split", [qkv, t.ints(f"{name}.parts", [t.WIDTH] * 3)], outputs=3, axis=2)
        y = t.attention(q, k, v, lambda scores: w.node("Where", [seen, scores, least]))
        x = w.node("Add", [t.linear(y, f"{name}.output", t.WIDTH, t.WIDTH), x])
        y = t.linear(t.norm(x, f"{name}.norm2"), f"{name}.inner", t.WIDTH, t.INNER)
        cube = w.node("Mul", [w.node("Pow", [y, three]), cubic])
        gate = w.node("Tanh", [w.node("Mul", [w.node("Add", [y, cube]), slope])])
        y = w.node("Mul", [w.node("Mul", [y, half]), w.node("Add", [gate, one])])
        x = w.node("Add", [x, t.linear(y, f"{name}.outer", t.INNER, t.WIDTH)])
    y = w.node("MatMul", [t.norm(x, "last.norm"), w.random("head.weight", (t.WIDTH, words), 0.02)])
    shape = [1, sequence] if sequence else ["batch", "sequence"]
    w.save(path, "gpt2", [_info("ids", TensorProto.INT64, shape)], [_info(y, TensorProto.FLOAT, [*shape, words])])


MAKERS = {
    "resnet50": lambda path, tiny: resnet50(path, tiny=tiny),
    "bert": lambda path, tiny: bert_base(path, tiny=tiny),
    "gpt2": lambda path, tiny: gpt2_small(path, tiny=tiny),
    "resnet50_dynamic": lambda path, tiny: resnet50(path, dynamic=True, tiny=tiny),
    "bert_dynamic": lambda path, tiny: bert_base(path, sequence=None, tiny=tiny),
    "gpt2_dynamic": lambda path, tiny: gpt2_small(path, sequence=None, tiny=tiny),
}


def ready(name, folder, tiny=False):
    """The file of one model, written now unless an earlier run has; half a file never stays."""
    path = pathlib.Path(folder) / f"{'tiny_' if tiny else ''}{name}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        MAKERS[name](part, tiny)
        part.replace(path)
    return path
