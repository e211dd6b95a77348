# SPDX-License-Identifier: Apache-2.0
"""The files of ./millpond check: SARIF, JUnit, annotations, and names in them that try to be something else."""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote

import pytest
from check_lines import HOSTILE, again, end, finding, frame, hostile, stack, start

CHECKED = Path(__file__).with_name("checked.py")


def written(tree, option, lines, ending=None, **extra):
    spec = tree.root / "spec.json"
    spec.write_text(json.dumps({"lines": lines, **(ending or {})}))
    path = tree.root / "written"
    outcome = tree.call("check", option, path, "--", sys.executable, CHECKED, spec, **extra)
    return path.read_text(encoding="utf-8"), outcome


def sarif_of(tree, lines, **more):
    (run,) = json.loads(written(tree, "--sarif", lines, **more)[0])["runs"]
    return run


def check_message(message):
    assert isinstance(message["text"], str) and message["text"]


def check_location(location, bases):
    if "message" in location:
        check_message(location["message"])
    if "physicalLocation" in location:
        artifact = location["physicalLocation"]["artifactLocation"]
        assert re.fullmatch(r"[A-Za-z0-9\-._~:/%@!$&'()*+,;=]+", artifact["uri"]), "not a URI"
        assert artifact.get("uriBaseId", bases[0]) in bases
        assert ("uriBaseId" in artifact) != artifact["uri"].startswith("file:///")
        assert location["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1
    for logical in location.get("logicalLocations", []):
        assert logical["fullyQualifiedName"]


def check_sarif(text):
    """What the 2.1.0 schema requires of everything that we write."""
    log = json.loads(text)
    assert set(log) == {"$schema", "version", "runs"} and log["version"] == "2.1.0"
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        ids = [rule["id"] for rule in driver["rules"]]
        assert driver["name"] and len(set(ids)) == len(ids)
        for rule in driver["rules"]:
            for key in ("shortDescription", "fullDescription", "help"):
                check_message(rule[key])
            assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
        bases = list(run["originalUriBaseIds"])
        assert all(base["uri"].endswith("/") for base in run["originalUriBaseIds"].values())
        assert all(isinstance(each["executionSuccessful"], bool) for each in run["invocations"])
        for result in run["results"]:
            check_message(result["message"])
            assert result["level"] in ("none", "note", "warning", "error") and result["occurrenceCount"] >= 1
            assert result.get("ruleIndex") is None or ids[result["ruleIndex"]] == result["ruleId"]
            assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
            related = result.get("relatedLocations", [])
            assert len({each["id"] for each in related}) == len(related)
            for location in [*result.get("locations", []), *related]:
                check_location(location, bases)
            for each in result.get("stacks", []):
                check_message(each["message"])
                for inner in each["frames"]:
                    check_location(inner["location"], bases)
                    assert inner.get("threadId", 0) >= 0
    return log["runs"][0]


def test_sarif_has_both_locations_stacks_rules_and_fingerprints(tree):
    run = check_sarif(written(tree, "--sarif", [start(), finding(), again(3), end(1)])[0])
    (result,) = run["results"]
    assert (result["ruleId"], result["level"], result["occurrenceCount"]) == ("MP304", "error", 3)
    assert result["partialFingerprints"] == {"millpondCheck/v1": "0123456789abcdef"}
    (location,) = result["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "file:///src/pool.cpp"}, "region": {"startLine": 140}}
    assert [each["physicalLocation"]["artifactLocation"]["uri"] for each in result["relatedLocations"]] == ["file:///src/net.cpp", "file:///src/pool.cpp"]
    assert [len(each["frames"]) for each in result["stacks"]] == [2, 2, 1]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == "MP304" and "aclrtFree" in rule["help"]["text"] and "**What to do:**" in rule["help"]["markdown"]
    assert run["tool"]["driver"]["version"] == "0.1" and run["invocations"][0]["exitCode"] == 0


@pytest.mark.parametrize("severity, level", [("error", "error"), ("warning", "warning"), ("advice", "note")])
def test_sarif_levels(tree, severity, level):
    assert sarif_of(tree, [start(), finding(severity=severity), end()])["results"][0]["level"] == level


def test_files_of_the_checkout_are_named_relative_to_it_and_the_users_line_comes_first(tree):
    frames = (frame("at::copy", "/build/pytorch/copy.cpp", 9), frame("call", f"{tree.root}/venv/lib/site-packages/torch/x.py", 5),
              frame("train", f"{tree.root}/src/a b.py", 12), frame("main", f"{tree.root}/main.py", 3))
    lines = [start(), finding(stacks=[stack("copy", "later", "the copy", *frames)]), end(1)]
    run = check_sarif(written(tree, "--sarif", lines)[0])
    assert run["results"][0]["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "src/a%20b.py", "uriBaseId": "SRCROOT"},
                                                                     "region": {"startLine": 12}}
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == f"file://{tree.root}/"
    elsewhere = sarif_of(tree, lines, GITHUB_WORKSPACE=str(tree.root / "src"))
    assert elsewhere["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b.py"


@pytest.mark.parametrize("lines", [[], [start(), end()], [start(), finding(stacks=[], objects=[], lanes=[], memory=[]), end(1)],
                                   [start(), finding(rule="MP999", stacks=[stack("", "", "", frame("", "", 0, module="", offset=""))]), end(1)],
                                   [start(), hostile(), end(1)]])
def test_sarif_keeps_to_its_schema_whatever_was_found(tree, lines):
    run = check_sarif(written(tree, "--sarif", lines)[0])
    assert len(run["results"]) == sum(line["event"] == "finding" for line in lines)


def test_sarif_tells_how_a_program_died(tree):
    run = check_sarif(written(tree, "--sarif", [start(), finding()], ending={"kill": 11})[0])
    assert run["invocations"][0]["exitSignalNumber"] == 11 and not run["invocations"][0]["executionSuccessful"]
    assert "left no last line" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def cases_of(text):
    (suite,) = ElementTree.fromstring(text)
    cases = list(suite)
    assert int(suite.get("tests")) == len(cases)
    assert int(suite.get("failures")) == sum(case.find("failure") is not None for case in cases)
    return cases


def test_junit_fails_for_errors_alone(tree):
    lines = [start(), finding(), finding(severity="warning", rule="MP502", fingerprint="1" * 16), end(1)]
    program, error, warning = cases_of(written(tree, "--junit", lines)[0])
    assert program.find("failure") is None and warning.find("failure") is None
    assert error.get("classname") == "millpond.check.MP304 free-in-flight" and error.get("name") == "pool.cpp:140 [0123456789abcdef]"
    assert "Trim  /src/pool.cpp:140" in error.find("failure").text and error.find("failure").get("message") == finding()["message"]
    assert warning.find("system-out").text.startswith("warning: ")


@pytest.mark.parametrize("ending, message", [({"exit": 3}, "exited with 3"), ({"kill": 9}, "was ended by SIGKILL"), ({"exit": 66}, None)])
def test_junit_has_the_programs_own_failure(tree, ending, message):
    failure = cases_of(written(tree, "--junit", [start(), finding(), end(1)], ending=ending)[0])[0].find("failure")
    assert (failure is None) if message is None else (message in failure.get("message"))


def test_junit_of_a_clean_program_has_a_test_that_passed(tree):
    (case,) = cases_of(written(tree, "--junit", [start(), end()])[0])
    assert len(case) == 0


def annotations(tree, lines, **extra):
    spec = tree.root / "spec.json"
    spec.write_text(json.dumps({"lines": lines}))
    outcome = tree.call("check", "--github", "--", sys.executable, CHECKED, spec, **extra)
    return outcome.stdout


def test_annotations_have_file_line_and_title_errors_first(tree):
    inside = finding(stacks=[stack("aclrtFree", "later", "the free", frame("Trim", f"{tree.root}/src/pool.cpp", 14))])
    advice = finding(severity="advice", rule="MP505", fingerprint="2" * 16, message="slow")
    text = annotations(tree, [start(), advice, inside, end(1)], GITHUB_WORKSPACE=str(tree.root))
    assert text.split("\n") == [
        "", f"::error file=src/pool.cpp,line=14,title=MP304 free-in-flight::{inside['message']}%0A{inside['advice']}",
        "::notice file=/src/pool.cpp,line=140,title=MP505 allocation-churn::slow%0ASynchronise the stream first.%0Athe task (Add): /src/net.cpp:77", ""]


def test_without_a_finding_there_is_no_annotation(tree):
    assert annotations(tree, [start(), end()]) == ""


def test_an_annotation_is_one_line_whatever_the_names_are(tree):
    text = annotations(tree, [start(), hostile(), end(1)])
    lines = text.split("\n")
    assert len(lines) == 3 and lines[0] == lines[2] == "" and "\r" not in text and "\x1b" not in text
    head, _, message = lines[1].removeprefix("::error ").partition("::")
    properties = dict(part.split("=", 1) for part in head.split(","))
    assert set(properties) == {"file", "line", "title"} and unquote(properties["file"]).startswith('/src/a"b\'<c>&%:,\n\r</script>')
    assert unquote(message).startswith(re.sub(r"[\x1b\x07]", "\ufffd", HOSTILE))


def test_hostile_names_are_text_in_every_file(tree):
    lines = [start(program=HOSTILE, arguments=[HOSTILE]), hostile(), end(1, [HOSTILE])]
    (found,) = json.loads(written(tree, "--json", lines)[0])
    assert found["message"] == HOSTILE and found["stacks"][0]["frames"][0]["function"] == HOSTILE
    _, case = cases_of(written(tree, "--junit", lines)[0])
    assert case.find("failure").get("message").startswith('a"b\'<c>&%:,')


@pytest.mark.parametrize("option", ["--json", "--sarif", "--junit", "--html"])
def test_half_a_surrogate_pair_costs_no_file(tree, option):
    text, outcome = written(tree, option, [start(), finding(message="a \ud800 b", objects=[{"kind": "\udfff", "name": 3}]), end(1)])
    assert outcome.returncode == 66 and "a ? b" in text
