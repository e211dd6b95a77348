# SPDX-License-Identifier: Apache-2.0
"""How tools/gen_op_types.py reads a page, and what tools/op_types.py makes of the files."""

import sys

import pytest

PAGE = """# aclnnFoo

## 功能说明
计算公式：$$y = x$$

## aclnnFooGetWorkspaceSize
const aclTensor* x, const aclTensor* index, aclTensor* out
<table><tr><th>参数名</th><th>数据类型</th></tr>
<tr><td>x（aclTensor*）</td><td>FLOAT、FLOAT16、BFLOAT16、INT8<sup>1</sup></td></tr>
<tr><td>index</td><td>INT64</td></tr>
<tr><td>out</td><td>FLOAT、FLOAT16、BFLOAT16、INT8</td></tr>
<tr><td>p</td><td>DOUBLE</td></tr></table>
%s
- **返回值**
## aclnnFoo
"""


@pytest.fixture(name="tools")
def tools_fixture(root):
    sys.path.insert(0, str(root / "tools"))
    try:
        import gen_op_types
        import op_types
    finally:
        sys.path.pop(0)
    return gen_op_types, op_types


def lists(tools, remark):
    return tools[0].page_lists(PAGE % remark)["aclnnFoo"]


def test_a_table_gives_each_tensor_its_types(tools):
    found = lists(tools, "")
    assert found["x"]["a2"] == {"float32", "float16", "bfloat16", "int8"}
    assert found["index"]["950"] == {"int64"}
    assert "p" not in found  # no tensor in the prototype
    assert tools[0].has_formula(PAGE)


@pytest.mark.parametrize("remark, family, parameter, types", [
    ("- <term>Atlas 训练系列产品</term>：不支持BFLOAT16。", "910", "x", {"float32", "float16", "int8"}),
    ("- <term>Atlas 训练系列产品</term>：不支持BFLOAT16。", "a2", "x", {"float32", "float16", "bfloat16", "int8"}),
    # One of A2 and A3 stands for both, and 950 takes what they take.
    ("- <term>Atlas A3 训练系列产品/Atlas A3 推理系列产品</term>：不支持INT8。", "a2", "out", {"float32", "float16", "bfloat16"}),
    ("- <term>Atlas A2 训练系列产品</term>：x额外支持DOUBLE。", "950", "x", {"float32", "float16", "bfloat16", "int8", "float64"}),
    ("- <term>Atlas 推理系列产品</term>：数据类型支持FLOAT16。", "310p", "x", {"float16"}),
    ("- <term>Atlas 推理系列产品</term>：数据类型支持FLOAT16。", "310p", "index", {"int64"}),
    # A condition restricts nothing; what only one series has, the others have not.
    ("- <term>Atlas 推理系列产品</term>：当x为空时不支持FLOAT16。", "310p", "x", {"float32", "float16", "bfloat16", "int8"}),
    ("- <term>Ascend 950PR/Ascend 950DT</term>：INT8仅支持该产品。", "a3", "x", {"float32", "float16", "bfloat16"}),
])
def test_a_remark_is_about_its_series(tools, remark, family, parameter, types):
    assert lists(tools, remark)[parameter][family] == types


def test_lists_by_hand_need_a_reason_and_a_place(tools, tmp_path):
    from_row = [type("Row", (), {"name": "aclnnFoo", "args": [type("Arg", (), {"name": "x", "kind": "kTensor", "types": ()})()]})()]
    (tmp_path / "types.tsv").write_text("aclnnFoo\tx\tfloat32\ta2=float32,int8\naclnnBar\ty\tint8\n")
    (tmp_path / "types_more.tsv").write_text("aclnnFoo\tx\tint64\tbecause\n")
    (tmp_path / "types_less.tsv").write_text("aclnnFoo\tx\tint8\tno kernel\n")
    tools[1].read(tmp_path, from_row)
    both = 1 << tools[1].NUMBERS["float32"] | 1 << tools[1].NUMBERS["int64"]
    assert from_row[0].args[0].types == (both,) * len(tools[1].FAMILIES)
    for line in ("aclnnFoo\tx\tint64\t\n", "aclnnFoo\tz\tint64\tbecause\n", "aclnnFoo\tx\tint65\tbecause\n"):
        (tmp_path / "types_more.tsv").write_text(line)
        with pytest.raises(tools[1].Bad):
            tools[1].read(tmp_path, from_row)
