# SPDX-License-Identifier: Apache-2.0
"""Which Python values fit which parameter, and what is said of one that does not."""

import re

import pytest

FLOAT, ND = 0, 2


def test_handles_and_sizes_are_taken_modulo_two_to_the_64(acl):
    buffer = acl.create_data_buffer(-1, 2**64 + 5)
    assert acl.get_data_buffer_addr(buffer) == 2**64 - 1
    assert acl.get_data_buffer_size_v2(buffer) == 5
    assert acl.destroy_data_buffer(buffer) == 0


def test_bools_are_ints(acl):
    assert acl.data_type_size(False) == 4


@pytest.mark.parametrize("value", [1.5, "1", None, b"1", [1]])
def test_a_handle_must_be_an_int(acl, value):
    with pytest.raises(TypeError, match=r"acl\.create_data_buffer args parse failed: argument 1 must be int"):
        acl.create_data_buffer(value, 1)


def test_an_int_that_does_not_fit_an_enum_is_a_type_error_that_tells_the_bound(acl):
    with pytest.raises(TypeError, match=re.escape("argument 1 is 2147483648, which no int of 32 bits can hold")):
        acl.data_type_size(2**31)
    assert acl.data_type_size(2**31 - 1) == 0


def test_an_index_object_fits_an_enum_and_not_a_handle(acl):
    class Zero:
        def __index__(self):
            return 0

    assert acl.data_type_size(Zero()) == 4
    with pytest.raises(TypeError):
        acl.get_tensor_desc_type(Zero())


def test_a_str_must_not_hold_a_nul(acl):
    with pytest.raises(TypeError, match="NUL"):
        acl.get_version_str("run\0time")


def test_dims_must_be_a_list(acl):
    with pytest.raises(TypeError, match="argument 2 must be list, not tuple"):
        acl.create_tensor_desc(FLOAT, (1, 2), ND)


def test_a_list_says_which_item_is_wrong(acl):
    with pytest.raises(TypeError, match="item 1 of the list must be int, not str"):
        acl.create_tensor_desc(FLOAT, [1, "2"], ND)
    with pytest.raises(ValueError, match="item 0 of the list is 9223372036854775808"):
        acl.create_tensor_desc(FLOAT, [2**63], ND)


def test_an_empty_list_of_dims_is_a_scalar(acl):
    desc = acl.create_tensor_desc(FLOAT, [], ND)
    assert desc != 0 and acl.get_tensor_desc_num_dims(desc) == 0 and acl.get_tensor_desc_size(desc) == 4
    acl.destroy_tensor_desc(desc)


def test_ranges_are_lists_of_two(acl):
    desc = acl.create_tensor_desc(FLOAT, [-1, 3], ND)
    assert acl.set_tensor_shape_range(desc, [[1, 8], [3, 3]]) == 0
    assert acl.get_tensor_desc_dim_range(desc, 0, 2) == ([1, 8], 0)
    assert acl.get_tensor_desc_dim_range(desc, 0, 2**63) == (None, 100000)
    with pytest.raises(ValueError, match="item 0 of the list has 3 ints"):
        acl.set_tensor_shape_range(desc, [[1, 2, 3]])
    with pytest.raises(TypeError):
        acl.set_tensor_shape_range(desc, [(1, 2)])
    acl.destroy_tensor_desc(desc)


def test_lists_that_belong_together_must_be_equally_long(acl):
    assert acl.op.execute_v2("Add", [0, 0], [0], [0], [0], 0, 0) == 100000
    assert "input_desc has 2 items and inputs has 1" in acl.get_recent_err_msg()


def test_a_function_without_parameters_ignores_what_it_is_given(acl):
    assert acl.get_soc_name(1, 2) == acl.get_soc_name()


def test_an_optional_argument_may_be_left_out_and_is_not_none(acl):
    with pytest.raises(TypeError):
        acl.init(None)
    with pytest.raises(TypeError):
        acl.init("", "")


def test_floats_pass_both_ways(acl):
    assert acl.float16_to_float(acl.float_to_float16(1.5)) == 1.5
    assert acl.float_to_float16(2) == acl.float_to_float16(2.0)
    assert acl.float16_to_float(0x10000) == 0.0  # sixteen bits of it


def test_a_dict_that_lacks_keys_leaves_zeros_and_one_with_other_types_is_a_type_error(device):
    assert device.rt.mem_get_allocation_granularity({"location": {"id": 0, "type": 1}, "memAttr": 5}, 0)[1] == 0
    for wrong in ({"location": [0, 1]}, {"memAttr": "huge"}, {"location": {"id": 1.0}}):
        with pytest.raises(TypeError):
            device.rt.mem_get_allocation_granularity(wrong, 0)


def test_a_malloc_config_without_its_parts_is_a_key_error(device):
    assert device.rt.malloc_with_cfg(64, 0, {})[1] == 0
    pointer, ret = device.rt.malloc_with_cfg(64, 0, {"numAttrs": 1, "attrs": [{"attr": 1, "value": {"moduleId": 7}}]})
    assert ret == 0 and device.rt.free(pointer) == 0
    for wrong in ({"numAttrs": 1}, {"attrs": [], "numAttrs": 1}, {"attrs": [{"attr": 1}], "numAttrs": 1},
                  {"attrs": [{"attr": 1, "value": {}}], "numAttrs": 1}):
        with pytest.raises(KeyError):
            device.rt.malloc_with_cfg(64, 0, wrong)


def test_lengths_of_keys_are_bounded(device):
    with pytest.raises(ValueError, match="less than 1024"):
        device.rt.ipc_mem_get_export_key(0, 0, 1024, 0)
    with pytest.raises(ValueError, match="must be less than"):
        device.rt.get_function_name(0, 2**20)


def test_a_timeout_of_a_notify_must_fit(device):
    for wrong in (-1, 2**32):
        with pytest.raises(TypeError):
            device.rt.wait_and_reset_notify(0, 0, wrong)
