# SPDX-License-Identifier: Apache-2.0
"""--junit: one test case per finding and one for the program. An error is a failure; warnings and advice pass, with their text."""

import re
import xml.etree.ElementTree as ElementTree

from . import model, places, rules, summary

# What XML 1.0 has no way to say.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(run, program, outcome, base):
    table = rules.by_id()
    suite = ElementTree.Element("testsuite", name="millpond check")
    case = ElementTree.SubElement(suite, "testcase", classname="millpond.check", name=_xml(f"program {' '.join(program)}"))
    failed = 0
    if outcome.signal or (outcome.status != 0 and not (outcome.status == model.FOUND and run.has_errors)):
        failed += 1
        ElementTree.SubElement(case, "failure", message=f"the program {outcome.words}")
    for finding in run.findings:
        rule = table.get(finding.rule)
        (_, frame), _ = places.of(finding, base)
        # A name that stays from run to run: the fingerprint, not an address.
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(f"millpond.check.{finding.rule} {rule.name if rule else ''}".strip()),
                                      name=_xml(f"{places.short(frame) or 'somewhere'} [{finding.fingerprint}]"))
        if frame:
            case.set("file", _xml(places.relative(frame.file, base) or frame.file))
            case.set("line", str(frame.line))
        body = _xml(text_of(finding))
        if finding.severity == "error":
            failed += 1
            ElementTree.SubElement(case, "failure", message=_xml(finding.message), type=_xml(finding.rule)).text = body
        else:
            ElementTree.SubElement(case, "system-out").text = f"{finding.severity}: {body}"
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failed))
    suite.set("errors", "0")
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def text_of(finding):
    lines = [finding.message, finding.advice, f"{summary.plural(finding.count, 'time')}, {', '.join(process.name for process in finding.processes)}"]
    for stack in finding.stacks:
        lines.append(f"{stack.title}:")
        lines += [f"  {frame.function or '?'}  {frame.place}" for frame in stack.frames]
    return "\n".join(line for line in lines if line)


def _xml(text):
    return FORBIDDEN.sub("\ufffd", text)
