# SPDX-License-Identifier: Apache-2.0
"""docs/sleep_and_wake.md: an engine whose memory sleeps between requests, and the mistake that the checker finds in it."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "sleep_wake"


@pytest.mark.parametrize("mistake, status, rules", [((), 0, []), (("--mistake",), 66, ["MP702"])])
def test_a_sleep_while_a_replay_is_in_flight_is_found(start, compiled, tmp_path, mistake, status, rules):
    lines = tmp_path / "lines.jsonl"
    library = compiled(FOLDER / "sleepy_allocator.cc")
    ended = start(FOLDER / "serve.py", library, *mistake,
                  env={"MILLPOND_CHECK": "1", "TASK_QUEUE_ENABLE": "0", "MILLPOND_CHECK_JSON": str(lines), "MILLPOND_MEMORY": "1G"})
    assert ended.status == status, ended.errors
    ended.says("MiB given back")
    found = [line for line in map(json.loads, lines.read_text().splitlines()) if line["event"] == "finding" and line["severity"] == "error"]
    assert [finding["rule"] for finding in found] == rules
    if not mistake:
        ended.says("the replay after the sleep is right")
        return
    text = (FOLDER / "serve.py").read_text().splitlines()
    lines_of_mine = {text[frame["line"] - 1].strip() for stack in found[0]["stacks"] for frame in stack["frames"]
                     if frame["language"] == "python" and frame["file"].endswith("serve.py")}
    assert {'slept = sleepy.sleep(keep="weights")', "graph.replay()"} <= lines_of_mine
