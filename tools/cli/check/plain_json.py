# SPDX-License-Identifier: Apache-2.0
"""--json: a list with one object per fingerprint, in the order in which they were made (docs/check.md has the format)."""

import json


def render(run):
    return json.dumps([_object(finding) for finding in run.findings], indent=1) + "\n"


def _object(finding):
    made = {"rule": finding.rule, "severity": finding.severity, "message": finding.message, "advice": finding.advice, "page": finding.page,
            "count": finding.count, "fingerprint": finding.fingerprint, "pid": finding.process.pid, "rank": finding.process.rank,
            "objects": finding.objects, "stacks": [stack.as_json() for stack in finding.stacks]}
    if len(finding.processes) > 1:
        made["pids"] = [process.pid for process in finding.processes]
        made["ranks"] = [process.rank for process in finding.processes]
    if finding.witness:
        made["witness"] = {"schedule": finding.witness["schedule"], "shown": finding.witness["shown"], "sure": finding.witness["sure"]}
    return made
