# SPDX-License-Identifier: Apache-2.0
"""--sarif: SARIF 2.1.0, for code scanning and editors. Files below the base folder are named relative to it."""

import json
import os
from urllib.parse import quote

from . import places, rules

LEVELS = {"error": "error", "warning": "warning", "advice": "note"}
BASE = "SRCROOT"
# GitHub keeps 25000 results of 1000 locations; nobody reads a frame that deep.
MAX_FRAMES = 100


def render(run, program, outcome, base):
    table = rules.known()
    index = {rule.id: place for place, rule in enumerate(table)}
    versions = [process.version for process in run.processes if process.version]
    driver = {"name": "millpond check", "rules": [_rule(rule) for rule in table]}
    if versions:
        driver["version"] = versions[0]
    invocation = {"executionSuccessful": not outcome.signal, "arguments": list(program)}
    if outcome.signal:
        invocation["exitSignalNumber"] = int(outcome.signal)
    else:
        invocation["exitCode"] = outcome.status
    notes = [{"level": "warning", "message": {"text": note}} for note in run.notes()]
    if notes:
        invocation["toolExecutionNotifications"] = notes
    made = {"tool": {"driver": driver}, "invocations": [invocation], "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {BASE: {"uri": f"file://{quote(os.path.join(base, ''))}"}},
            "results": [_result(finding, index, base) for finding in run.findings]}
    return json.dumps({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [made]}, indent=1) + "\n"


def _rule(rule):
    return {"id": rule.id, "name": "".join(word.capitalize() for word in rule.name.split("-")),
            "shortDescription": {"text": rule.name.replace("-", " ")}, "fullDescription": {"text": rule.rule},
            "help": {"text": f"{rule.rule} ({rule.source})\n{rule.do}", "markdown": f"{rule.rule} ({rule.source})\n\n**What to do:** {rule.do}"},
            "defaultConfiguration": {"level": LEVELS[rule.severity], "enabled": rule.on == "always"},
            "properties": {"tags": ["memory", *rule.doors]}}


def _result(finding, index, base):
    (later, frame), (other, other_frame) = places.of(finding, base)
    made = {"ruleId": finding.rule, "level": LEVELS[finding.severity], "message": {"text": f"{finding.message}\n{finding.advice}".strip()},
            "occurrenceCount": finding.count, "partialFingerprints": {"millpondCheck/v1": finding.fingerprint},
            "properties": {"pids": [process.pid for process in finding.processes], "ranks": [process.rank for process in finding.processes],
                           "objects": finding.objects}}
    if finding.rule in index:
        made["ruleIndex"] = index[finding.rule]
    if frame:
        made["locations"] = [_location(frame, base, later.title)]
    seen = [(stack, found) for stack, found in [(other, other_frame), *((stack, places.users_frame(stack, base)) for stack in finding.stacks)]
            if found and stack is not later]
    unique = list({id(stack): (stack, found) for stack, found in seen}.values())
    if unique:
        made["relatedLocations"] = [{"id": place, **_location(found, base, stack.title)} for place, (stack, found) in enumerate(unique, 1)]
    if finding.stacks:
        made["stacks"] = [_stack(stack, base) for stack in finding.stacks]
    return made


def _location(frame, base, message):
    made = {"message": {"text": message}}
    if frame.file:
        near = places.relative(frame.file, base)
        made["physicalLocation"] = {"artifactLocation": {"uri": quote(near), "uriBaseId": BASE} if near else
                                    {"uri": f"file://{quote(frame.file)}" if os.path.isabs(frame.file) else quote(frame.file)}}
        if frame.line > 0:
            made["physicalLocation"]["region"] = {"startLine": frame.line}
    if frame.function:
        made["logicalLocations"] = [{"fullyQualifiedName": frame.function}]
    return made


def _stack(stack, base):
    frames = []
    for frame in stack.frames[:MAX_FRAMES]:
        made = {"location": _location(frame, base, frame.function or frame.place or "unknown")}
        if frame.module:
            made["module"] = frame.module
        if stack.thread.isdecimal():
            made["threadId"] = int(stack.thread)
        frames.append(made)
    return {"message": {"text": stack.title}, "frames": frames}
