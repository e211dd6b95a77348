# SPDX-License-Identifier: Apache-2.0
"""Device memory as torch.npu tells of it: statistics, snapshot, pools, growing segments, and too little of it."""

import re


def test_statistics_and_snapshot(on_npu, tmp_path):
    program = on_npu("memory_report", "--output", tmp_path)
    program.says("three tensors: 48.0 MiB allocated", "peak 48.0 MiB in 3 blocks, 0 times out of memory",
                 "one is left: 16.0 MiB allocated", "after empty_cache: 16.0 MiB allocated",
                 "sum of what is left: 4194304", "16.0 MiB live", "alloc", "free_completed", "segment_alloc", "segment_free")
    program.says("snapshot.pickle", "trace_plot.html", "segment_plot.html", "segments.txt")
    assert "memory summary" in program.output
    page = (tmp_path / "trace_plot.html").read_text()
    assert "MemoryViz" in page and len(page) > 1000
    given = int(re.search(r"the device gave (\d+) MiB", program.output)[1])
    assert 16 <= given <= 40, "one tensor is live, and empty_cache gave the others back"


def test_expandable_segments(on_npu):
    grown = on_npu("expandable_segments", env={"PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True"})
    fixed = on_npu("expandable_segments")
    for program in (grown, fixed):
        program.says("peak 60 MiB", "after empty_cache 0 MiB reserved", "and it goes on: True")
    reserved = [int(re.search(r"reserved (\d+) MiB in", program.output)[1]) for program in (grown, fixed)]
    assert reserved[0] <= 100 < 300 <= reserved[1], reserved
    grown.says("in 2 segments, 2 of them expandable")


def test_a_pool_of_ones_own(on_npu):
    on_npu("memory_pool").says("the pool has 1 segments; inside: True, outside: False", "sum 5242880",
                               "gone with its pool: True")


def test_out_of_memory_is_an_exception_and_work_goes_on(on_npu):
    program = on_npu("out_of_memory", env={"MILLPOND_MEMORY": "256M"})
    program.says("256 MiB in all", "torch.OutOfMemoryError after", "what was allocated before is intact: True",
                 "smaller work goes on: True", "and the same size fits again: True", "times out of memory: 1")
    blocks = int(re.search(r"after (\d+) blocks", program.output)[1])
    assert 5 <= blocks <= 8
