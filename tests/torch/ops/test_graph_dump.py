# SPDX-License-Identifier: Apache-2.0
"""NPUGraph.debug_dump: the file that the runtime writes, and the one that torch_npu makes of it."""

import json

import torch


def test_debug_dump_writes_the_graph_and_torch_npu_aligns_it(tmp_path):
    x = torch.ones(4, 4).npu()
    side, graph = torch.npu.Stream(), torch.npu.NPUGraph()
    graph.enable_debug_mode()
    torch.npu.synchronize()
    with torch.npu.graph(graph):
        y = x + 1
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            z = y * 2
        torch.npu.current_stream().wait_stream(side)
        z.add_(y)
    path = tmp_path / "graph.json"
    graph.debug_dump(str(path))
    events = [event for event in json.loads(path.read_text()) if event["ph"] == "X"]
    assert len({event["tid"] for event in events}) == 2
    records, waits = ({event["name"].split("_")[-1] for event in events if event["name"].startswith(f"EVENT_{what}_")} for what in ("RECORD", "WAIT"))
    assert waits and waits <= records
    aligned = json.loads((tmp_path / "graph.aligned.json").read_text())
    assert {event["name"] for event in aligned} >= {f"PAIR_{event}" for event in waits}
    graph.replay()
    assert torch.equal(z.cpu(), torch.full((4, 4), 6.0))
