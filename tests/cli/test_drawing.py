# SPDX-License-Identifier: Apache-2.0
"""Pages of `./millpond plan --html` and `./millpond graph --html`: what is in them, and that a browser runs them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import rendered

ROOT = Path(__file__).resolve().parents[2]
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
PROBLEM = "id,lower,upper,size\n<a>,0,2,100\nb,1,3,60\n</script>,2,4,30\nempty,1,1,7\n"


@pytest.fixture(name="graph")
def graph_fixture():
    sys.path.insert(0, str(ROOT / "tools" / "cli"))
    try:
        import cmd_graph
    finally:
        sys.path.pop(0)
    return cmd_graph


def data_of(page):
    return json.loads(DATA.search(page)[1])


def plan_page(ascend, folder, text, *options):
    page = folder / "plan.html"
    done = subprocess.run([str(ascend / "bin" / "millpond-plan"), "--html", str(page), *options, "-"], input=text,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    return page


def rows_of(document, table_id="table"):
    body = document.split(f'id="{table_id}"')[1].split("</table>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)[1:]]


def model(path, shape):
    """(a @ W + b) through a relu, twice, and a residual sum: something to fuse, something in place."""
    onnx = pytest.importorskip("onnx", reason="the onnx package (requirements.txt) writes the test's model")
    numpy = pytest.importorskip("numpy")
    helper = onnx.helper
    weights = [onnx.numpy_helper.from_array(numpy.full((64, 64), 0.01, numpy.float32), f"weight{i}") for i in range(2)]
    weights += [onnx.numpy_helper.from_array(numpy.ones(64, numpy.float32), f"bias{i}") for i in range(2)]
    nodes, value = [], "x"
    for i in range(2):
        for kind, inputs in (("MatMul", [value, f"weight{i}"]), ("Add", [f"matmul{i}", f"bias{i}"]), ("Relu", [f"add{i}"])):
            nodes.append(helper.make_node(kind, inputs, [f"{kind.lower()}{i}"], name=f"layer{i}/{kind}"))
        value = f"relu{i}"
    nodes += [helper.make_node("Softmax", ["relu1"], ["soft"], name="head/Softmax"),
              helper.make_node("Add", ["soft", "relu0"], ["y"], name="head/Sum")]
    info = helper.make_tensor_value_info
    made = helper.make_graph(nodes, "two_layers", [info("x", 1, shape)], [info("y", 1, shape)], weights)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_a_plans_page_has_every_buffer_and_needs_nothing_else(ascend, tmp_path):
    page = plan_page(ascend, tmp_path, PROBLEM, "--capacity", "400").read_text(encoding="utf-8")
    assert "http" not in page and " src=" not in page and "@" not in re.sub(r"@media", "", page)
    assert page.count("</script>") == 2
    data = data_of(page)
    assert (data["axis"], data["peak"], data["bound"], data["capacity"], data["optimal"]) == ("time", 160, 160, 400, True)
    assert [row[0] for row in data["buffers"]] == ["<a>", "b", "</script>", "empty"]
    assert data["buffers"][1][3] == 60 and data["buffers"][1][5:8] == [1, 3, -1]


def test_a_browser_shows_the_plan_without_script_errors(ascend, tmp_path):
    shown = rendered(plan_page(ascend, tmp_path, PROBLEM, "--capacity", "400"))
    assert 'data-state="ready"' in shown and "data-errors" not in shown
    assert rows_of(shown)[0][0] == "&lt;a&gt;"  # the largest that is alive at the peak
    assert len(rows_of(shown)) == 2
    assert ">Alive at time 1</button>" in shown and "the plan fits" in shown


@pytest.mark.parametrize("text", ["id,lower,upper,size\n", f"id,lower,upper,size\na,{-2**63},{2**63 - 1},9\nb,0,1,{2**61}\n"])
def test_a_browser_shows_degenerate_plans(ascend, tmp_path, text):
    shown = rendered(plan_page(ascend, tmp_path, text))
    assert 'data-state="ready"' in shown and "data-errors" not in shown


def test_a_models_page_tells_what_was_fused_and_where_the_bytes_go(ascend, ascend_env, tmp_path, graph):
    model(tmp_path / "m.onnx", [8, 64])
    page = graph.compiled_page(ascend, ascend_env, tmp_path / "m.onnx", None)
    found = graph.figures(page)
    assert found["graph"] == "two_layers" and found["planned"] and found["peak"] >= found["bound"] > 0
    assert found["fused_steps"] == 2 and found["fused_from"] == 6
    weights = found["bytes"]["packed weights"] + found["bytes"]["other weights and constants"]
    assert weights >= 2 * 64 * 64 * 4
    assert found["bytes"]["inputs"] == found["bytes"]["outputs"] == 8 * 64 * 4
    fused = [step[3] for step in data_of(page)["steps"] if len(step) > 3]
    assert ["layer0/MatMul", "layer0/Add", "layer0/Relu"] in fused
    assert "2 of them fused from 6 nodes" in graph.words(found, None)


def test_a_model_with_open_shapes_says_so_until_they_are_given(ascend, ascend_env, tmp_path, graph):
    model(tmp_path / "m.onnx", ["batch", 64])
    found = graph.figures(graph.compiled_page(ascend, ascend_env, tmp_path / "m.onnx", None))
    assert not found["planned"] and "--input-shape" in graph.words(found, None)
    found = graph.figures(graph.compiled_page(ascend, ascend_env, tmp_path / "m.onnx", "x:4,64"))
    assert found["planned"] and found["bytes"]["inputs"] == 4 * 64 * 4


def test_a_model_that_cannot_be_compiled_is_an_error_with_its_reason(ascend, ascend_env, tmp_path, graph):
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(graph.ui.Stop, match="cannot be compiled"):
        graph.compiled_page(ascend, ascend_env, tmp_path / "m.onnx", None)


@pytest.mark.parametrize("shape", [[8, 64], ["batch", 64]])
def test_a_browser_shows_a_model_without_script_errors(ascend, ascend_env, tmp_path, graph, shape):
    model(tmp_path / "m.onnx", shape)
    page = tmp_path / "m.html"
    page.write_text(graph.compiled_page(ascend, ascend_env, tmp_path / "m.onnx", None), encoding="utf-8")
    shown = rendered(page)
    assert 'data-state="ready"' in shown and "data-errors" not in shown
    assert ">Fused nodes (2)</button>" in shown
