# SPDX-License-Identifier: Apache-2.0
"""The parts of the wheel as CycloneDX 1.5, from THIRD_PARTY.md's table: what others wrote and the compiler put into our libraries."""

import json
import re
import uuid

ROW = re.compile(r"^\| (?P<name>[^|`]+?)(?: (?P<version>[\d.]+))? \| (?P<headers>(?:`[^`]+` ?)+)\| (?P<into>[^|]+) \| (?P<licence>.+) \|$", re.M)


def parts(notices):
    """[{name, version, licence, into}] of the table."""
    rows = [match.groupdict() for match in ROW.finditer(notices)]
    return [{"name": row["name"], "version": row["version"], "into": row["into"].strip(),
             "licence": re.split(r"[:,]", row["licence"])[0].strip()} for row in rows]


def document(facts, notices, seconds):
    import datetime
    components = []
    for part in parts(notices):
        component = {"type": "library", "name": part["name"], "licenses": [{"expression": part["licence"]}],
                     "properties": [{"name": "millpond:compiled-into", "value": part["into"]}]}
        if part["version"]:
            component["version"] = part["version"]
        components.append(component)
    commit = facts.get("commit", "unknown")
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        # From the commit, not a random one: two builds of it are equal.
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"pkg:pypi/millpond@{facts['version']}?commit={commit}").urn,
        "metadata": {"timestamp": moment, "component": {
            "type": "library", "name": "millpond", "version": facts["version"], "purl": f"pkg:pypi/millpond@{facts['version']}",
            "licenses": [{"expression": "Apache-2.0"}], "properties": [{"name": "millpond:commit", "value": commit},
                                                                       {"name": "millpond:cann", "value": facts["cann"]}]}},
        "components": components}, indent=1) + "\n"
