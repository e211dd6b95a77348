# SPDX-License-Identifier: Apache-2.0
"""AIPP of offline models: a network is built by atc with a configuration file and fed with pictures; numpy says what it reads."""

import subprocess
import sys
import typing
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="numpy is not in this Python; requirements.txt has it")
onnx = pytest.importorskip("onnx", reason="the onnx package is not in this Python; requirements.txt has it")
sys.path.insert(0, str(Path(__file__).resolve().parent))
import aipp_reference as aipp
from aipp_reference import GRAY, RGB, XRGB, YUV420
from onnx import TensorProto, helper, numpy_helper

H2D, D2H = 1, 2
U8, NHWC = 4, 1
JPEG = dict(zip(aipp.MATRIX, [256, 0, 359, 256, -88, -183, 256, 454, 0], strict=True), csc_switch=True, input_bias_0=0, input_bias_1=128, input_bias_2=128)
TO_YUV = dict(zip(aipp.MATRIX, [66, 129, 25, -38, -74, 112, 112, -94, -18], strict=True), csc_switch=True, output_bias_0=16, output_bias_1=128,
              output_bias_2=128)
TO_GRAY = dict(zip(aipp.MATRIX, [76, 150, 30, 0, 0, 0, 0, 0, 0], strict=True), csc_switch=True, output_bias_0=0, output_bias_1=0, output_bias_2=0)
USUAL = {"mean_chn_0": 104, "mean_chn_1": 117, "mean_chn_2": 123, "min_chn_1": 0.5, "var_reci_chn_0": 0.0171247538, "var_reci_chn_1": 0.0175070028,
         "var_reci_chn_2": 0.0174291939}
CUT = {"src_image_size_w": 20, "src_image_size_h": 18, "crop": True, "load_start_pos_w": 4, "load_start_pos_h": 2}


def same(shape, kind=TensorProto.FLOAT):
    """y = x, which no pass can leave out: twice its half, or what is left of all bits for bytes."""
    if kind == TensorProto.UINT8:
        node, name = helper.make_node("BitwiseAnd", ["x", "all"], ["y"]), ["all"]
        constants = [numpy_helper.from_array(np.array([255], np.uint8), "all")]
    else:
        node, name = helper.make_node("Sub", ["x", "none"], ["y"]), ["none"]
        constants = [numpy_helper.from_array(np.zeros(1, np.float32), "none")]
    assert name == [constants[0].name]
    graph = helper.make_graph([node], "same", [helper.make_tensor_value_info("x", kind, shape)], [helper.make_tensor_value_info("y", kind, shape)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.fixture
def atc(ascend, ascend_env, tmp_path):
    """Builds: (status, what it printed, the file)."""

    def run(model, text, *options):
        onnx.save(model, tmp_path / "net.onnx")
        (tmp_path / "aipp.cfg").write_text(text, encoding="utf-8")
        command = [str(ascend / "bin" / "atc"), f"--model={tmp_path}/net.onnx", "--framework=5", f"--output={tmp_path}/net", "--soc_version=Ascend910B3",
                   f"--insert_op_conf={tmp_path}/aipp.cfg", *options]
        done = subprocess.run(command, env=ascend_env, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr, str(tmp_path / "net.om")

    return run


class Net:
    """A loaded model with memory for all that it reads and writes."""

    def __init__(self, acl, path):
        self.acl, self.kept = acl, []
        self.number, ret = acl.mdl.load_from_file(path)
        assert ret == 0, acl.get_recent_err_msg()
        self.desc = acl.mdl.create_desc()
        assert acl.mdl.get_desc(self.desc, self.number) == 0
        self.inputs, self.ins = self.dataset(acl.mdl.get_num_inputs(self.desc), acl.mdl.get_input_size_by_index)
        self.outputs, self.outs = self.dataset(acl.mdl.get_num_outputs(self.desc), acl.mdl.get_output_size_by_index)

    def dataset(self, count, size_of):
        dataset, places = self.acl.mdl.create_dataset(), []
        for i in range(count):
            size = size_of(self.desc, i)
            memory, ret = self.acl.rt.malloc(size, 0)
            assert ret == 0
            assert self.acl.rt.memset(memory, size, 0, size) == 0
            buffer = self.acl.create_data_buffer(memory, size)
            assert self.acl.mdl.add_dataset_buffer(dataset, buffer)[1] == 0
            self.kept.append((buffer, memory))
            places.append((memory, size))
        return dataset, places

    def cut(self, size, index=0):
        """From now on the input's buffer has so many bytes."""
        assert self.acl.update_data_buffer(self.kept[index][0], self.ins[index][0], size) == 0

    def feed(self, data, index=0):
        memory, size = self.ins[index]
        assert len(data) <= size
        assert self.acl.rt.memcpy(memory, size, self.acl.util.bytes_to_ptr(bytes(data)), len(data), H2D) == 0

    def run(self):
        return self.acl.mdl.execute(self.number, self.inputs, self.outputs)

    def result(self, shape, kind=np.float32, index=0):
        made = np.zeros(shape, kind)
        memory, size = self.outs[index]
        assert made.nbytes <= size
        assert self.acl.rt.memcpy(made.ctypes.data, made.nbytes, memory, made.nbytes, D2H) == 0
        return made

    def close(self):
        for dataset in (self.inputs, self.outputs):
            assert self.acl.mdl.destroy_dataset(dataset) == 0
        for buffer, memory in self.kept:
            assert self.acl.destroy_data_buffer(buffer) == 0
            assert self.acl.rt.free(memory) == 0
        assert self.acl.mdl.destroy_desc(self.desc) == 0
        assert self.acl.mdl.unload(self.number) == 0


@pytest.fixture
def net(device):
    opened = []

    def load(path):
        opened.append(Net(device, path))
        return opened[-1]

    yield load
    for one in opened:
        one.close()


def noise(size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8).tobytes()


CASES = {
    "yuv_to_rgb": ([1, 3, 8, 12], {"input_format": YUV420, **JPEG}),
    "yuv_by_the_defaults": ([1, 3, 8, 12], {"input_format": YUV420, "csc_switch": True}),
    "yvu_to_rgb": ([1, 3, 8, 12], {"input_format": YUV420, **JPEG, "rbuv_swap_switch": True, **USUAL}),
    "yuv_as_it_is": ([1, 3, 8, 12], {"input_format": YUV420}),
    "yuv_to_gray": ([1, 1, 8, 12], {"input_format": YUV420, "mean_chn_0": 128, "var_reci_chn_0": 0.00390625}),
    "yuv_cut_and_bordered": ([2, 3, 16, 19], {"input_format": YUV420, **JPEG, **USUAL, **CUT, "crop_size_w": 11, "crop_size_h": 9, "padding": True,
                                              "left_padding_size": 3, "right_padding_size": 5, "top_padding_size": 7, "padding_value": -2.5}),
    "rgb": ([1, 3, 5, 7], {"input_format": RGB}),
    "rgb_to_bgr": ([3, 3, 5, 7], {"input_format": RGB, "rbuv_swap_switch": True, **USUAL}),
    "rgb_cut_to_the_model": ([1, 3, 9, 11], {"input_format": RGB, **CUT, **USUAL}),
    "rgb_with_a_border": ([1, 3, 9, 11], {"input_format": RGB, "src_image_size_w": 9, "src_image_size_h": 8, "padding": True, "left_padding_size": 2,
                                          "bottom_padding_size": 1}),
    "rgb_to_yuv": ([1, 3, 5, 7], {"input_format": RGB, **TO_YUV}),
    "rgb_to_gray": ([1, 1, 5, 7], {"input_format": RGB, **TO_GRAY, "rbuv_swap_switch": True}),
    "xrgb": ([1, 3, 5, 7], {"input_format": XRGB, "ax_swap_switch": True, **USUAL}),
    "rgbx_to_bgr": ([2, 3, 5, 7], {"input_format": XRGB, "rbuv_swap_switch": True}),
    "xbgr_to_yuv": ([1, 3, 5, 7], {"input_format": XRGB, "ax_swap_switch": True, "rbuv_swap_switch": True, **TO_YUV}),
    "four_channels": ([1, 4, 5, 7], {"input_format": XRGB, "mean_chn_3": 7}),
    "gray": ([1, 1, 5, 7], {"input_format": GRAY, "min_chn_0": 3.5, "var_reci_chn_0": -0.3}),
}


def source(shape, values):
    """Bytes of all pictures of a run, and of one."""
    height, width = values.get("src_image_size_h") or shape[2], values.get("src_image_size_w") or shape[3]
    each = height * width * aipp.BYTES_OF_TWO[values["input_format"]] // 2
    return noise(each * shape[0]), each


@pytest.mark.parametrize("name", CASES)
def test_a_static_model_reads_what_the_pages_say(name, atc, net):
    shape, values = CASES[name]
    status, text, path = atc(same(shape), aipp.config(aipp_mode="static", **values))
    assert status == 0, text
    data, each = source(shape, values)
    one = net(path)
    assert one.acl.mdl.get_input_size_by_index(one.desc, 0) == len(data)
    one.feed(data)
    assert one.run() == 0, one.acl.get_recent_err_msg()
    wanted = np.stack([aipp.picture(data[i * each : (i + 1) * each], values, shape[1:]) for i in range(shape[0])])
    np.testing.assert_array_equal(one.result(shape), wanted.astype(np.float32))


def test_a_model_of_bytes_gets_bytes(atc, net):
    shape, values = [1, 3, 8, 12], {"input_format": YUV420, **JPEG, **USUAL}
    status, text, path = atc(same(shape, TensorProto.UINT8), aipp.config(aipp_mode="static", **values))
    assert status == 0, text
    data, _ = source(shape, values)
    one = net(path)
    one.feed(data)
    assert one.run() == 0, one.acl.get_recent_err_msg()
    np.testing.assert_array_equal(one.result(shape, np.uint8)[0], aipp.picture(data, values, shape[1:], half=False))


def test_a_model_with_its_channels_last_is_read_so(atc, net):
    values = {"input_format": YUV420, **JPEG, **USUAL}
    status, text, path = atc(same([1, 8, 12, 3]), aipp.config(aipp_mode="static", **values), "--input_format=NHWC")
    assert status == 0, text
    data, _ = source([1, 3, 8, 12], values)
    one = net(path)
    one.feed(data)
    assert one.run() == 0, one.acl.get_recent_err_msg()
    np.testing.assert_array_equal(one.result([1, 8, 12, 3])[0], aipp.picture(data, values, [3, 8, 12]).transpose(1, 2, 0))


def test_a_static_model_is_described_as_it_is_fed(atc, net):
    values = {"input_format": YUV420, **JPEG, **USUAL, **CUT}
    status, text, path = atc(same([2, 3, 8, 12]), aipp.config(aipp_mode="static", **values))
    assert status == 0, text
    one = net(path)
    mdl = one.acl.mdl
    assert mdl.get_num_inputs(one.desc) == 1
    assert (mdl.get_input_data_type(one.desc, 0), mdl.get_input_format(one.desc, 0)) == (U8, NHWC)
    assert mdl.get_input_dims(one.desc, 0)[0]["dims"] == [2, 18, 20, 3]
    assert mdl.get_input_dims_v2(one.desc, 0)[0]["dims"] == [2, 27, 20, 1]
    assert mdl.get_aipp_type(one.number, 0) == (1, 0xFFFFFFFF, 0)
    info, ret = mdl.get_first_aipp_info(one.number, 0)
    assert ret == 0
    told = {"inputFormat": 1, "srcImageSizeW": 20, "srcImageSizeH": 18, "cropSwitch": 1, "loadStartPosW": 4, "loadStartPosH": 2, "cscSwitch": 1,
            "matrixR0C2": 359, "matrixR1C2": -183, "inputBias1": 128, "meanChn2": 123, "minChn1": 0.5, "paddingSwitch": 0, "srcDimNum": 4, "shapeCount": 1}
    assert {name: info[name] for name in told} == told
    assert info["varReciChn0"] == pytest.approx(0.0171247538, rel=1e-3)
    assert info["outDims"][0]["srcDims"]["dims"] == [2, 3, 8, 12]
    assert (info["outDims"][0]["srcSize"], info["outDims"][0]["aippOutSize"]) == (2 * 3 * 8 * 12 * 4, 2 * 3 * 8 * 12 * 2)
    assert mdl.get_aipp_type(one.number, 1)[2] != 0


def test_without_aipp_there_is_nothing_to_tell(atc, net):
    shape = [1, 3, 4, 4]
    model = same(shape)
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [2]))
    model.graph.node.append(helper.make_node("Neg", ["z"], ["w"]))
    model.graph.output.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]))
    status, text, path = atc(model, aipp.config(aipp_mode="static", input_format=RGB))
    assert status == 0, text
    one = net(path)
    assert one.acl.mdl.get_aipp_type(one.number, 1) == (0, 0xFFFFFFFF, 0)
    assert one.acl.mdl.get_first_aipp_info(one.number, 1) == (None, 145015)
    values = {"input_format": RGB}
    data, _ = source(shape, values)
    one.feed(data)
    one.feed(np.array([1, -2], np.float32).tobytes(), 1)
    assert one.run() == 0
    np.testing.assert_array_equal(one.result(shape)[0], aipp.picture(data, values, shape[1:]))
    assert one.result([2], index=1).tolist() == [-1, 2]


def test_gears_of_a_static_model_have_pictures_of_their_own(atc, net):
    values = {"input_format": YUV420, **JPEG}
    text = aipp.config(aipp_mode="static", **values)
    for model, options, shapes in (
        (same(["n", 3, 8, 12]), ("--input_shape=x:-1,3,8,12", "--dynamic_batch_size=1,2,4"), ([2, 3, 8, 12], [4, 3, 8, 12])),
        (same([1, 3, "h", "w"]), ("--input_shape=x:1,3,-1,-1", "--input_format=NCHW", "--dynamic_image_size=8,12;16,6"), ([1, 3, 8, 12], [1, 3, 16, 6])),
    ):
        status, said, path = atc(model, text, *options)
        assert status == 0, said
        one = net(path)
        mdl = one.acl.mdl
        assert [mdl.get_input_name_by_index(one.desc, i) for i in range(mdl.get_num_inputs(one.desc))] == ["x", "ascend_mbatch_shape_data"]
        assert mdl.get_input_size_by_index(one.desc, 0) == max(source(shape, values)[1] * shape[0] for shape in shapes)
        for shape in shapes:
            data, each = source(shape, values)
            one.feed(data)
            choose = mdl.set_dynamic_hw_size if shape[0] == 1 else mdl.set_dynamic_batch_size
            assert choose(one.number, one.inputs, 1, *(shape[2:] if shape[0] == 1 else shape[:1])) == 0, one.acl.get_recent_err_msg()
            assert one.run() == 0, one.acl.get_recent_err_msg()
            wanted = np.stack([aipp.picture(data[i * each : (i + 1) * each], values, shape[1:]) for i in range(shape[0])])
            np.testing.assert_array_equal(one.result(shape), wanted)


class Parameters:
    """An object of acl.mdl.create_aipp, set as a configuration says; `each` has what differs from picture to picture."""

    FORMATS: typing.ClassVar = {YUV420: 1, XRGB: 2, RGB: 3, GRAY: 4}

    def __init__(self, acl, values, each):
        self.acl, mdl = acl, acl.mdl
        self.handle = mdl.create_aipp(len(each))
        matrix = [values.get(name, 0) for name in aipp.MATRIX]
        biases = [values.get(f"{way}_bias_{i}", 0) for way in ("output", "input") for i in range(3)]
        done = [mdl.set_aipp_input_format(self.handle, self.FORMATS[values["input_format"]]),
                mdl.set_aipp_src_image_size(self.handle, values["src_image_size_w"], values["src_image_size_h"]),
                mdl.set_aipp_rbuv_swap_switch(self.handle, int(values.get("rbuv_swap_switch", False))),
                mdl.set_aipp_ax_swap_switch(self.handle, int(values.get("ax_swap_switch", False))),
                mdl.set_aipp_csc_params(self.handle, int(values.get("csc_switch", False)), *matrix, *biases)]
        for i, own in enumerate(each):
            done += [mdl.set_aipp_scf_params(self.handle, 0, 0, 0, 0, 0, i),
                     mdl.set_aipp_crop_params(self.handle, int(own.get("crop", False)), own.get("load_start_pos_w", 0), own.get("load_start_pos_h", 0),
                                              own.get("crop_size_w", 0), own.get("crop_size_h", 0), i),
                     mdl.set_aipp_padding_params(self.handle, int(own.get("padding", False)), *(own.get(f"{side}_padding_size", 0) for side in
                                                                                             ("top", "bottom", "left", "right")), i),
                     mdl.set_aipp_dtc_pixel_mean(self.handle, *(own.get(f"mean_chn_{c}", 0) for c in range(4)), i),
                     mdl.set_aipp_dtc_pixel_min(self.handle, *(own.get(f"min_chn_{c}", 0.0) for c in range(4)), i),
                     mdl.set_aipp_pixel_var_reci(self.handle, *(own.get(f"var_reci_chn_{c}", 1.0) for c in range(4)), i)]
        assert set(done) == {0}, (done, acl.get_recent_err_msg())

    def __enter__(self):
        return self.handle

    def __exit__(self, *_):
        assert self.acl.mdl.destroy_aipp(self.handle) == 0


DYNAMIC = aipp.config(aipp_mode="dynamic", related_input_rank=0, max_src_image_size=2 * 20 * 18 * 4)


def test_each_run_of_a_dynamic_model_has_parameters_of_its_own(atc, net):
    shape = [2, 3, 9, 11]
    status, text, path = atc(same(shape), DYNAMIC)
    assert status == 0, text
    one = net(path)
    mdl = one.acl.mdl
    assert mdl.get_input_index_by_name(one.desc, "ascend_dynamic_aipp_data") == (1, 0)
    assert mdl.get_aipp_type(one.number, 0) == (2, 1, 0)
    assert mdl.get_aipp_type(one.number, 1) == (3, 0xFFFFFFFF, 0)
    assert (mdl.get_input_data_type(one.desc, 0), mdl.get_input_size_by_index(one.desc, 0)) == (U8, 2 * 20 * 18 * 4)
    assert mdl.get_input_dims(one.desc, 0)[0]["dims"] == shape
    assert mdl.get_aipp_data_size(2) == (mdl.get_input_size_by_index(one.desc, 1), 0)
    info, ret = mdl.get_first_aipp_info(one.number, 0)
    assert (ret, info["shapeCount"], info["outDims"][0]["srcDims"]["dims"]) == (0, 1, shape)

    assert one.run() != 0
    assert "aclmdlSetInputAIPP" in one.acl.get_recent_err_msg()

    cut = {"crop": True, "load_start_pos_w": 4, "load_start_pos_h": 2, "crop_size_w": 11, "crop_size_h": 9}
    bordered = {"crop": True, "crop_size_w": 8, "crop_size_h": 9, "padding": True, "left_padding_size": 1, "right_padding_size": 2}
    for form, own in ((YUV420, JPEG), (RGB, {"rbuv_swap_switch": True}), (XRGB, {"ax_swap_switch": True, **TO_YUV})):
        values = {"input_format": form, "src_image_size_w": 20, "src_image_size_h": 18, **own}
        each = [{**cut, **USUAL}, {**bordered, "mean_chn_0": 9}]
        data, size = source(shape, values)
        one.feed(data)
        one.cut(len(data))  # a run may bring less than max_src_image_size
        with Parameters(one.acl, values, each) as parameters:
            by_index = mdl.set_aipp_by_input_index if form == RGB else None
            ret = by_index(one.number, one.inputs, 0, parameters) if by_index else mdl.set_input_aipp(one.number, one.inputs, 1, parameters)
            assert ret == 0, one.acl.get_recent_err_msg()
        assert one.run() == 0, one.acl.get_recent_err_msg()
        wanted = np.stack([aipp.picture(data[i * size : (i + 1) * size], {**values, **each[i]}, shape[1:]) for i in range(2)])
        np.testing.assert_array_equal(one.result(shape), wanted)
    one.cut(len(data) - 1)
    assert one.run() != 0
    assert "the input" in one.acl.get_recent_err_msg()


def test_a_dynamic_model_with_gears_has_both_inputs_more(atc, net):
    status, text, path = atc(same(["n", 3, 8, 12]), DYNAMIC, "--input_shape=x:-1,3,8,12", "--dynamic_batch_size=1,2")
    assert status == 0, text
    one = net(path)
    mdl = one.acl.mdl
    names = [mdl.get_input_name_by_index(one.desc, i) for i in range(mdl.get_num_inputs(one.desc))]
    assert names == ["x", "ascend_mbatch_shape_data", "ascend_dynamic_aipp_data"]
    values = {"input_format": RGB, "src_image_size_w": 12, "src_image_size_h": 8}
    data, size = source([2, 3, 8, 12], values)
    one.feed(data)
    for count in (1, 2):
        assert mdl.set_dynamic_batch_size(one.number, one.inputs, 1, count) == 0
        with Parameters(one.acl, values, [USUAL, {}]) as parameters:  # for the largest
            assert mdl.set_input_aipp(one.number, one.inputs, 2, parameters) == 0, one.acl.get_recent_err_msg()
        assert one.run() == 0, one.acl.get_recent_err_msg()
        wanted = np.stack([aipp.picture(data[i * size : (i + 1) * size], {**values, **(USUAL, {})[i]}, [3, 8, 12]) for i in range(count)])
        np.testing.assert_array_equal(one.result([count, 3, 8, 12]), wanted)


def test_parameters_that_do_not_fit_the_model_are_refused(atc, net):
    status, text, path = atc(same([1, 3, 9, 11]), DYNAMIC)
    assert status == 0, text
    one = net(path)
    usual = {"input_format": RGB, "src_image_size_w": 11, "src_image_size_h": 9}
    for values, each, reason in (
        ({**usual, "src_image_size_w": 12}, [{}], "12 x 9"),
        ({**usual, "input_format": YUV420}, [{}], "even"),
        ({**usual, "input_format": GRAY}, [{}], "channels"),
        (usual, [{"crop": True, "crop_size_w": 11, "crop_size_h": 9, "load_start_pos_w": 1}], "cut out"),
        (usual, [{}, {}], "2 pictures"),
    ):
        with Parameters(one.acl, values, each) as parameters:
            assert one.acl.mdl.set_input_aipp(one.number, one.inputs, 1, parameters) == 100000
            assert reason in one.acl.get_recent_err_msg()
    with Parameters(one.acl, usual, [{}]) as parameters:
        assert one.acl.mdl.set_input_aipp(one.number, one.inputs, 0, parameters) == 100000
        assert one.acl.mdl.set_aipp_by_input_index(one.number, one.inputs, 1, parameters) == 100000
        assert one.acl.mdl.set_input_aipp(one.number, one.inputs, 1, parameters) == 0


def test_a_network_with_the_configuration_of_a_sample_finds_the_class(atc, net):
    """As public samples have it: convolution, pooling and a classifier behind a picture of JPEG's colours, cut to 224 x 224."""
    random = np.random.default_rng(7)
    weights = {"conv": random.standard_normal((8, 3, 7, 7)) * 0.08, "bias": random.standard_normal(8) * 0.1, "fc": random.standard_normal((8, 10)) * 0.5}
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    nodes = [helper.make_node("Conv", ["x", "conv", "bias"], ["a"], strides=[2, 2], pads=[3, 3, 3, 3]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node("GlobalAveragePool", ["c"], ["d"]), helper.make_node("Flatten", ["d"], ["e"]), helper.make_node("MatMul", ["e", "fc"], ["y"])]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    values = {"input_format": YUV420, "src_image_size_w": 256, "src_image_size_h": 224, "crop": True, "load_start_pos_h": 0, "load_start_pos_w": 16,
              **JPEG, **USUAL}
    status, text, path = atc(model, aipp.config(aipp_mode="static", **values), "--input_shape=x:1,3,224,224")
    assert status == 0, text
    data, _ = source([1, 3, 224, 224], values)
    one = net(path)
    one.feed(data)
    assert one.run() == 0, one.acl.get_recent_err_msg()
    from onnx.reference import ReferenceEvaluator
    read = aipp.picture(data, values, [3, 224, 224]).astype(np.float32)[None]
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": read})
    np.testing.assert_allclose(one.result([1, 10]), wanted, rtol=1e-4, atol=1e-4)
    assert one.result([1, 10]).argmax() == wanted.argmax()


@pytest.mark.parametrize(("text", "reason"), [
    ("", "no group"),
    ("aipp_op { aipp_mode : static", "has no end"),
    ("aipp { aipp_mode : static }", "is not known"),
    ("aipp_op { aipp_mode static }", "a \":\" and a value are missing"),
    (aipp.config(aipp_mode="sometimes"), "it must be static or dynamic"),
    (aipp.config(aipp_mode="static"), "input_format is missing"),
    (aipp.config(aipp_mode="static", input_format="YUYV_U8"), "are the formats that AIPP takes"),
    (aipp.config(aipp_mode="static", input_format=RGB, mean_chn_0=256), "it must be a whole number from 0 to 255"),
    (aipp.config(aipp_mode="static", input_format=RGB, mean_chn_0=1.5), "it must be a whole number"),
    (aipp.config(aipp_mode="static", input_format=RGB, crop="perhaps"), "true or false"),
    (aipp.config(aipp_mode="static", input_format=RGB, left_padding_size=33), "from 0 to 32"),
    (aipp.config(aipp_mode="static", input_format=RGB, colour=1), "there is no parameter \"colour\""),
    (aipp.config(aipp_mode="static", input_format=RGB, csc_switch=True), "matrix_r0c0 is missing"),
    (aipp.config(aipp_mode="static", input_format=RGB, resize=True), "resize is set"),
    (aipp.config(aipp_mode="static", input_format=RGB, rotation_angle=1), "rotation_angle is set"),
    (aipp.config(aipp_mode="static", input_format=RGB, related_input_rank=1), "the model has 1 inputs"),
    (aipp.config(aipp_mode="static", input_format=RGB, related_input_name='"z"'), "no input of that name"),
    (aipp.config(aipp_mode="static", input_format=RGB, src_image_size_w=9, src_image_size_h=8), "make 9 x 8"),
    (aipp.config(aipp_mode="static", input_format=RGB, crop=True), "src_image_size_w"),
    (aipp.config(aipp_mode="static", input_format=GRAY), "reads 3 channels"),
    (aipp.config(aipp_mode="static", input_format=YUV420, src_image_size_w=12, src_image_size_h=9, crop=True), "even width and height"),
    (aipp.config(aipp_mode="static", input_format=YUV420, **{**CUT, "load_start_pos_w": 3}), "both must be even"),
    (aipp.config(aipp_mode="dynamic"), "max_src_image_size is missing"),
    (aipp.config(aipp_mode="static", input_format=RGB) * 2, "two groups are about input x"),
    (aipp.config(aipp_mode="static", input_format=RGB) + DYNAMIC, "some groups are static"),
])
def test_a_configuration_that_cannot_be_is_named(text, reason, atc):
    status, said, _ = atc(same([1, 3, 8, 12]), text)
    assert status != 0
    assert reason in said


@pytest.mark.parametrize(("options", "reason"), [
    (("--input_fp16_nodes=x",), "exclude each other"),
    (("--input_shape=x:-1,3,8,12", "--dynamic_dims=1;2"), "exclude each other"),
    (("--input_shape=x:1~2,3,8,12",), "a picture's must be known"),
])
def test_options_that_exclude_aipp_are_named(options, reason, atc):
    status, said, _ = atc(same(["n", 3, 8, 12]), aipp.config(aipp_mode="static", input_format=RGB), *options)
    assert status != 0
    assert reason in said
