# SPDX-License-Identifier: Apache-2.0
"""Pictures through acl.media: a JPEG made, decoded, cut and resized. (issue 16)"""

import ctypes

import pytest

H2D, D2H = 1, 2
NV12, RGB, GREY = 1, 12, 0


@pytest.fixture
def channel(device):
    desc = device.media.dvpp_create_channel_desc()
    assert desc != 0 and device.media.dvpp_create_channel(desc) == 0
    yield desc
    assert device.media.dvpp_destroy_channel(desc) == 0
    assert device.media.dvpp_destroy_channel_desc(desc) == 0


@pytest.fixture
def picture(device):
    """Makes pictures: (descriptor, address)."""
    made = []

    def make(kind, width, height, stride, data):
        media = device.media
        memory, ret = media.dvpp_malloc(len(data))
        assert ret == 0
        host = ctypes.create_string_buffer(bytes(data), len(data))
        assert device.rt.memcpy(memory, len(data), ctypes.addressof(host), len(data), H2D) == 0
        desc = media.dvpp_create_pic_desc()
        for name, value in (("data", memory), ("size", len(data)), ("format", kind), ("width", width), ("height", height),
                            ("width_stride", stride), ("height_stride", height)):
            assert getattr(media, f"dvpp_set_pic_desc_{name}")(desc, value) == 0
            assert getattr(media, f"dvpp_get_pic_desc_{name}")(desc) == value
        made.append((desc, memory))
        return desc, memory

    yield make
    for desc, memory in made:
        assert device.media.dvpp_destroy_pic_desc(desc) == 0
        assert device.media.dvpp_free(memory) == 0


def read(acl, memory, count):
    host = ctypes.create_string_buffer(count)
    assert acl.rt.memcpy(ctypes.addressof(host), count, memory, count, D2H) == 0
    return list(host.raw)


def test_a_jpeg_is_made_and_decoded(device, stream, channel, picture):
    media = device.media
    ramp = [x * 2 + y for y in range(32) for x in range(64)] + [128] * 1024
    source, _ = picture(NV12, 64, 32, 64, ramp)
    config = media.dvpp_create_jpege_config()
    assert media.dvpp_set_jpege_config_level(config, 98) == 0
    room, ret = media.dvpp_jpeg_predict_enc_size(source, config)
    assert ret == 0
    file, ret = media.dvpp_malloc(room)
    assert ret == 0
    size = ctypes.c_uint32(room)
    assert media.dvpp_jpeg_encode_async(channel, source, file, ctypes.addressof(size), config, stream) == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert 0 < size.value < room
    host = ctypes.create_string_buffer(bytes(read(device, file, size.value)), size.value)
    assert media.dvpp_jpeg_get_image_info(ctypes.addressof(host), size.value) == (64, 32, 3, 0)
    assert media.dvpp_jpeg_get_image_info_v2(ctypes.addressof(host), size.value) == (64, 32, 3, 2, 0)
    decoded, ret = media.dvpp_jpeg_predict_dec_size(ctypes.addressof(host), size.value, NV12)
    assert (decoded, ret) == (64 * 32 * 3 // 2, 0)

    target, memory = picture(NV12, 64, 32, 64, [0] * decoded)
    assert media.dvpp_jpeg_decode_async(channel, file, size.value, target, stream) == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert max(abs(a - b) for a, b in zip(read(device, memory, decoded), ramp)) <= 4
    assert media.dvpp_free(file) == 0
    assert media.dvpp_destroy_jpege_config(config) == 0


def test_parts_are_cut_and_resized(device, stream, channel, picture):
    media = device.media
    source, _ = picture(GREY, 16, 16, 16, list(range(256)))
    target, memory = picture(GREY, 4, 4, 4, [0] * 16)
    area = media.dvpp_create_roi_config(4, 5, 2, 3)
    resizing = media.dvpp_create_resize_config()
    assert media.dvpp_set_resize_config_interpolation(resizing, 2) == 0
    assert media.dvpp_vpc_crop_resize_async(channel, source, target, area, resizing, stream) == 0
    assert device.rt.synchronize_stream(stream) == 0
    assert read(device, memory, 16) == [36, 36, 37, 37] * 2 + [52, 52, 53, 53] * 2
    assert media.dvpp_set_roi_config(area, 0, 99, 0, 3) == 0
    assert media.dvpp_vpc_crop_async(channel, source, target, area, stream) == 100000
    assert media.dvpp_destroy_roi_config(area) == 0
    assert media.dvpp_destroy_resize_config(resizing) == 0


def test_a_batch_gives_its_target_back(device, stream, channel, picture):
    media = device.media
    sources, targets = media.dvpp_create_batch_pic_desc(1), media.dvpp_create_batch_pic_desc(2)
    memories = []
    for batch, index, side, data in ((sources, 0, 16, list(range(256))), (targets, 0, 2, [0] * 4), (targets, 1, 2, [0] * 4)):
        _, memory = picture(GREY, side, side, side, data)
        desc = media.dvpp_get_pic_desc(batch, index)
        for name, value in (("data", memory), ("size", len(data)), ("format", GREY), ("width", side), ("height", side),
                            ("width_stride", side), ("height_stride", side)):
            assert getattr(media, f"dvpp_set_pic_desc_{name}")(desc, value) == 0
        memories.append(memory)
    areas = [media.dvpp_create_roi_config(0, 1, 0, 1), media.dvpp_create_roi_config(2, 3, 0, 1)]
    assert media.dvpp_vpc_batch_crop_async(channel, sources, [2], targets, areas, stream) == (targets, 0)
    assert device.rt.synchronize_stream(stream) == 0
    assert [read(device, memory, 4) for memory in memories[1:]] == [[0, 1, 16, 17], [2, 3, 18, 19]]
    assert media.dvpp_destroy_batch_pic_desc(sources) == 0
    assert media.dvpp_destroy_batch_pic_desc(targets) == 0


def test_video_is_refused_by_name(device):
    assert device.media.vdec_create_channel_desc() == 0
    assert "vdec_create_channel_desc" in device.get_recent_err_msg()
