# SPDX-License-Identifier: Apache-2.0
"""The examples that torchair's converters carry with them (converters.py), against what is known of those that do not give eager's results."""

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def output(start):
    return start(HERE / "converters.py")


def known():
    rows = [line.split("\t") for line in (HERE / "converters_known.tsv").read_text().splitlines() if line and not line.startswith("#")]
    return {(state, operator, number) for state, operator, number, _ in rows}


def test_what_is_not_right_is_known(output):
    found = {}
    for line in output.splitlines():
        if line.startswith("operators "):
            continue
        state, operator, number, reason = line.split("\t")
        found[state, operator, number] = reason
    news = {case: reason for case, reason in found.items() if case not in known()}
    assert news == {}
    assert sorted(known() - set(found)) == [], "these are as they should be now: take them out of converters_known.tsv"


def test_most_operators_are_right(output):
    counts = output.splitlines()[-1]
    right = int(counts.split("all right ")[1].split(";")[0])
    assert right >= 270, counts
