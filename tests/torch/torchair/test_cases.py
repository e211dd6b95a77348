# SPDX-License-Identifier: Apache-2.0
"""Small cases with torchair (cases.py), all in one process: the settings people use, memory, and what cannot work."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NUMBERS = ["two_models_in_turn", "frozen_parameters", "refreshable_feature_memory", "in_place_updates", "a_volume_without_a_batch",
           "a_stream_of_ones_own", "gears", "scaled_dot_product_attention", "gradients_of_attention", "fused_attention_and_norm",
           "a_compiled_cache_on_disk", "by_the_backends_name", "training_captured_and_replayed", "the_next_model_runs_after_faults"]
TEXTS = {
    "intermediates_of_a_dynamic_graph_are_the_wheels_memory": r"True 0\.0",
    "memory_does_not_grow_with_runs": "0",
    "reference_data": re.escape("[3.0, 3.0, 3.0, 3.0] [6.0, 6.0, 6.0, 6.0]"),
    "dropout_drops_half_and_differs_from_run_to_run": "True True True",
    "dynamo_export_writes_a_graph_that_can_be_read": "True True",
    "torchair_has_no_converter": r".*aten\.index_copy\.default ge_converter is not implemented.*",
    "there_is_no_kernel": r'.*node "TomeMerge" \(TomeMerge\): there is no kernel for the operator type.*',
    "a_fault_in_the_run_names_the_node": r'.*node "GatherElements.*index 9 is out of bounds for dimension 0 with size 4.*',
}


@pytest.fixture(scope="module")
def results(start):
    output = start(HERE / "cases.py")
    return dict(re.findall(r"^(\w+): (.*(?:\n(?!\w+: ).*)*)", output, re.MULTILINE))


@pytest.mark.parametrize("name", NUMBERS)
def test_a_case_is_close_to_its_reference(results, name):
    assert float(results[name]) < 1e-5


def test_half_precision_is_close_to_eagers(results):
    assert float(results["half_precision"]) < 0.01


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_case_says_what_it_must(results, name):
    assert re.fullmatch(TEXTS[name], results[name].strip()), results[name]


def test_every_case_is_judged():
    names = re.findall(r"^@case\ndef (\w+)\(", (HERE / "cases.py").read_text(), re.MULTILINE)
    assert sorted(names) == sorted([*NUMBERS, *TEXTS, "half_precision"])
