# SPDX-License-Identifier: Apache-2.0
"""Models with F.scaled_dot_product_attention (attention_models.py) in GE mode: the numbers of plain torch on the CPU."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def results(start):
    output = start(HERE / "attention_models.py")
    return dict(re.findall(r"^(\w+ \w+): (.*(?:\n(?!\w+ (?:static|dynamic): ).*)*)", output, re.MULTILINE))


@pytest.mark.parametrize("kind", ["static", "dynamic"])
@pytest.mark.parametrize("model", ["bert", "vit", "llama", "qwen2"])
def test_a_model_with_attention_is_compiled_whole_and_gives_the_cpus_numbers(results, model, kind):
    found = results[f"{model} {kind}"]
    assert "failed" not in found, found
    difference, graphs = found.split()[:2]  # a warning may follow
    assert float(difference) < 1e-5
    # The sizes of attention are fixed while dynamo traces it: of the two shapes of a dynamic run each is a graph (docs/pytorch.md).
    assert int(graphs) == (1 if kind == "static" else 2)
