# SPDX-License-Identifier: Apache-2.0
"""A LLaMA-like model writes the same words with a cache and without, plain and through torch_npu's fused operators."""

import pytest


@pytest.mark.parametrize("options", [(), ("--fused",)], ids=["plain", "fused"])
def test_words_equal_the_cpus(on_npu, on_cpu, options):
    npu, cpu = on_npu("generate_llama", *options), on_cpu("generate_llama")
    npu.says("the same without the cache: True")
    assert words(npu) == words(cpu)
    assert logits(npu) == pytest.approx(logits(cpu), rel=1e-4)


def words(program):
    return [line for line in program.output.splitlines() if line.startswith("words")]


def logits(program):
    return float(program.output.split("\nlogits ")[1].split()[0])
