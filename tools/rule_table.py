# SPDX-License-Identifier: Apache-2.0
"""Reads src/check/rules.yaml, every rule of the checker.

The build and ./millpond have no YAML library, so this reads the plain subset that the file keeps to: a list of mappings
of one-line strings without quotes. What another YAML reader would understand differently is refused.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "src" / "check" / "rules.yaml"
SEVERITIES = ("error", "warning", "advice")
DOORS = {"acl": "C and C++ programs, pyACL", "ge": "graph engine", "torch": "torch_npu"}
ON = ("always", "asked", "later")
FIELD = re.compile(r"^(- |  )([a-z]+): (\S.*)$")
NOT_PLAIN = re.compile(r"""^[-?:,\[\]{}#&*!|>'"%@`]|: |:$| #|[^ -~]|\s$""")


class BadTable(Exception):
    """A line of the file that this reader, or the checker, has no use for."""


@dataclass(frozen=True)
class Rule:
    id: str
    name: str
    severity: str
    rule: str
    do: str
    doors: tuple
    on: str
    page: str = ""
    derived: str = ""
    why: str = ""

    @property
    def source(self):
        """Where the rule stands."""
        return f'page "{self.page}"' if self.page else f"derived {self.derived}"


def parse(text, where=FILE.name):
    """The rules of a text, in its order. Raises BadTable with the place and the reason."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = FIELD.match(line)
        if not match or NOT_PLAIN.search(match[3]):
            raise BadTable(f"{where}:{number}: '{line}' is not 'key: plain text' behind '- ' or two spaces")
        if match[1] == "- ":
            entries.append((number, {}))
        if not entries or match[2] in entries[-1][1]:
            raise BadTable(f"{where}:{number}: '{match[2]}' stands twice in one rule, or before the first '- id:'")
        entries[-1][1][match[2]] = match[3]
    return _checked([_rule(fields, f"{where}:{number}") for number, fields in entries], where)


def _rule(fields, place):
    missing = {"id", "name", "severity", "rule", "do", "doors", "on"} - set(fields)
    unknown = set(fields) - set(Rule.__dataclass_fields__)
    if missing or unknown or ("page" in fields) == ("derived" in fields):
        raise BadTable(f"{place}: missing {sorted(missing)}, unknown {sorted(unknown)}; and it needs one of page and derived")
    if (fields["on"] == "later") != ("why" in fields):
        raise BadTable(f"{place}: a rule that is not looked for ('on: later') says why, and no other does")
    rule = Rule(**{**fields, "doors": tuple(door.strip() for door in fields["doors"].split(","))})
    for value, allowed in ((rule.severity, SEVERITIES), (rule.on, ON), *((door, DOORS) for door in rule.doors)):
        if value not in allowed:
            raise BadTable(f"{place}: '{value}' is none of {', '.join(allowed)}")
    if not re.fullmatch(r"MP\d{3}", rule.id) or not re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name):
        raise BadTable(f"{place}: '{rule.id} {rule.name}' is not MP and three digits, and a name in small letters with hyphens")
    return rule


def _checked(rules, where):
    """Ids ascend, so that none is given twice and the pages read in order; names differ."""
    for before, after in zip(rules, rules[1:]):
        if before.id >= after.id:
            raise BadTable(f"{where}: {after.id} stands behind {before.id}; ids ascend")
    names = [rule.name for rule in rules]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadTable(f"{where}: names given twice: {', '.join(twice)}")
    return rules


def load(path=FILE):
    return parse(Path(path).read_text(encoding="utf-8"), Path(path).name)
