# SPDX-License-Identifier: Apache-2.0
"""What AIPP makes of pictures, by numpy, from CANN's pages: crop, channel swap, colour conversion, normalisation, border (in that order)."""

import numpy as np

YUV420, XRGB, RGB, GRAY = "YUV420SP_U8", "XRGB8888_U8", "RGB888_U8", "YUV400_U8"
BYTES_OF_TWO = {YUV420: 3, XRGB: 8, RGB: 6, GRAY: 2}
YUV_TO_BGR = [298, 516, 0, 298, -100, -208, 298, 0, 409]
MATRIX = [f"matrix_r{row}c{column}" for row in range(3) for column in range(3)]


def config(**values):
    """A group as the file has it."""
    words = {True: "true", False: "false"}
    return "aipp_op {\n" + "".join(f"  {name} : {words.get(value, value) if isinstance(value, bool) else value}\n" for name, value in values.items()) + "}\n"


def channels(data, form, height, width):
    """[height, width, channels] of one picture, as integers."""
    if form == YUV420:
        luma = data[: height * width].reshape(height, width)
        chroma = data[height * width :].reshape(height // 2, width // 2, 2).repeat(2, axis=0).repeat(2, axis=1)
        return np.dstack([luma, chroma]).astype(np.int64)
    return data.reshape(height, width, BYTES_OF_TWO[form] // 2).astype(np.int64)


def convert(pixels, form, values):
    matrix = np.array([values.get(name, default) for name, default in zip(MATRIX, YUV_TO_BGR, strict=True)]).reshape(3, 3)
    bias_in = np.array([values.get(f"input_bias_{i}", (16, 128, 128)[i]) for i in range(3)])
    bias_out = np.array([values.get(f"output_bias_{i}", (16, 128, 128)[i]) for i in range(3)])
    if form == YUV420:
        return np.clip((pixels - bias_in) @ matrix.T >> 8, 0, 255)
    return np.clip((pixels[..., :3] @ matrix.T >> 8) + bias_out, 0, 255)


def picture(data, values, wanted, half=True):
    """One picture as [channels, height, width]; `wanted` is that shape."""
    form = values["input_format"]
    crops, pads = values.get("crop", False), values.get("padding", False)
    height, width = values.get("src_image_size_h") or wanted[1], values.get("src_image_size_w") or wanted[2]
    pixels = channels(np.frombuffer(data, np.uint8), form, height, width)
    if crops:
        top, left = values.get("load_start_pos_h", 0), values.get("load_start_pos_w", 0)
        rows, columns = values.get("crop_size_h") or wanted[1], values.get("crop_size_w") or wanted[2]
        pixels = pixels[top : top + rows, left : left + columns]
    if form == XRGB and values.get("ax_swap_switch"):
        pixels = pixels[..., [1, 2, 3, 0]]
    if values.get("rbuv_swap_switch"):
        pixels = pixels[..., [0, 2, 1] if form == YUV420 else [2, 1, 0, 3][: pixels.shape[2]]]
    if values.get("csc_switch"):
        pixels = convert(pixels, form, values)
    pixels = pixels[..., : wanted[0]].transpose(2, 0, 1)
    if half:
        each = [np.array([values.get(f"{name}_{i}", otherwise) for i in range(wanted[0])]).reshape(-1, 1, 1)
                for name, otherwise in (("mean_chn", 0), ("min_chn", 0.0), ("var_reci_chn", 1.0))]
        mean, low, factor = each[0].astype(np.float32), *(part.astype(np.float16).astype(np.float32) for part in each[1:])
        pixels = ((pixels.astype(np.float32) - mean - low) * factor).astype(np.float16)
    border = [values.get(f"{side}_padding_size", 0) if pads else 0 for side in ("top", "bottom", "left", "right")]
    return np.pad(pixels, [(0, 0), tuple(border[:2]), tuple(border[2:])], constant_values=values.get("padding_value", 0))
