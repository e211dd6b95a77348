# SPDX-License-Identifier: Apache-2.0
"""Which functions the tests show to work, read from their sources.

A call counts when its success is asserted: inside ACL_OK and its like, inside an EXPECT or ASSERT that does not compare with an error,
or by way of a variable that such an assertion names. A function without a result counts when it is called. Comments, strings and
expected failures (ACL_FAILS, EXPECT_NE(..., ACL_SUCCESS)) do not. What a test calls through a helper of its file or fixture counts for it.
"""

import re
from collections import defaultdict

GTEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)\s*\{", re.M)
ROLE = re.compile(r"^MP_ROLE\s*\(\s*(\w+)\s*\)\s*\{", re.M)
# Not control flow: `if (...) {` is no definition.
HELPER = re.compile(r"^(?: {0,4})(?!if|for|while|switch|return|else|catch|do\b)(?:[\w:<>,&*\[\]~ ]*?[ &*])?(~?\w+)\s*\((?:[^;{}]|\{\})*\)"
                    r"(?:\s|const|override|noexcept|->[^{;]*|:[^{;]*(?:\{[^{}]*\})?[^{;]*)*\{", re.M)
ASSERTION = re.compile(r"\b(\w*_?OK|ROLE_CHECK|(?:EXPECT|ASSERT)_(?:TRUE|EQ|NE|GE|GT|LE|LT|STREQ|FLOAT_EQ|DOUBLE_EQ|NEAR))\s*\(")
ERROR = re.compile(r"ACL_ERROR|HCCL_E_|\bACLNN_ERR|GRAPH_(?:FAILED|PARAM_INVALID|NOT_CHANGED)|\b(?:ge::)?FAILED\b|\bPARAM_INVALID\b")
CONSTANT = re.compile(r"\b(k[A-Z]\w*)\s*=\s*([^,;]+)")
CALL = re.compile(r"\b(\w+)\s*\(")
ASSIGNED = re.compile(r"\b(\w+)\s*(?:=|\{)\s*(?:\w+::)*(\w+)\s*\(")
RETURNED = re.compile(r"\breturn\s+(?:\w+::|\w+(?:\.|->))*(\w+)\s*\(")


def without_comments_and_strings(text, roles=()):
    """Strings become empty, except the name of a role: that is how a test starts one."""
    def replaced(match):
        word = match[0]
        if word.startswith("/"):
            return " "
        return f" ROLE_{word[1:-1]}() " if word[1:-1] in roles else '""'
    return re.sub(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"', replaced, text, flags=re.S)


def balanced(text, start, opening, closing):
    """The end of what begins with the bracket at `start`."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] == opening:
            depth += 1
        elif text[place] == closing:
            depth -= 1
            if depth == 0:
                return place
    return len(text)


def arguments(text):
    """The parts of a list of arguments, at the top level."""
    parts, depth, begin = [], 0, 0
    for place, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return [*parts, text[begin:]]


def is_error(text, errors):
    text = text.strip()
    return bool(text == "nullptr" or ERROR.search(text) or re.fullmatch(r"[1-9]\d{5}", text) or errors.intersection(re.findall(r"\bk\w+", text)))


def expects_success(macro, inside, errors):
    if macro.endswith("OK"):
        return True
    parts = arguments(inside)
    if macro.endswith("_NE"):
        return any(part.strip() == "nullptr" for part in parts)
    if macro.endswith("_EQ"):
        return not any(is_error(part, errors) for part in parts if not CALL.search(part) or part.strip() == "nullptr")
    compared = re.findall(r"([!=])=\s*([\w:]+)", inside)
    return not (re.match(r"\s*!", inside) or any(is_error(what, errors) if sign == "=" else what != "nullptr" for sign, what in compared))


class Body:
    """What a piece of a test's code shows: `shown` is asserted, `called` is called at all, `returned` is the caller's to assert."""

    def __init__(self, text, errors):
        self.called = set(CALL.findall(text))
        self.returned = set(RETURNED.findall(text))
        self.shown = set()
        asserted = set()
        for match in ASSERTION.finditer(text):
            inside = text[match.end():balanced(text, match.end() - 1, "(", ")")]
            if expects_success(match[1], inside, errors):
                self.shown |= set(CALL.findall(inside))
                asserted |= set(re.findall(r"\b\w+\b", inside))
        self.shown |= {function for variable, function in ASSIGNED.findall(text) if variable in asserted}


def pieces(text, pattern, name, errors):
    for match in pattern.finditer(text):
        yield name(match), Body(text[match.end() - 1:balanced(text, match.end() - 1, "{", "}")], errors)


class Source:
    """The tests and helpers of a file."""

    def __init__(self, raw):
        roles = set(ROLE.findall(raw))
        text = without_comments_and_strings(raw, roles)
        self.errors = {name for name, value in CONSTANT.findall(text) if is_error(value, set())}
        self.includes = re.findall(r'^#include "(tests/[^"]+)"', raw, re.M)
        self.words = set(re.findall(r"\b\w+\b", text))
        self.text = text

    def parse(self, errors):
        self.tests = list(pieces(self.text, GTEST, lambda match: f"{match[1]}.{match[2]}", errors))
        self.helpers = defaultdict(list)
        for name, body in pieces(self.text, HELPER, lambda match: match[1], errors):
            self.helpers[name].append(body)
        for name, body in pieces(self.text, ROLE, lambda match: f"ROLE_{match[1]}", errors):
            self.helpers[name].append(body)


def closure(body, helpers):
    """(shown, called) of a test with what its helpers show. A helper that returns a result shows it where that is asserted."""
    shown, called, done = set(body.shown), set(body.called), set()
    left = set(body.called) | {"SetUp", "TearDown"}
    while left:
        name = left.pop()
        if name in done:
            continue
        done.add(name)
        for helper in helpers.get(name, ()):
            new = helper.shown | (helper.returned if name in shown else set())
            if new - shown:
                done -= {other for other in new if other in helpers}  # asserted now: look again
            shown |= new
            called |= helper.called
            left |= helper.called - done
    return shown, called


def sources(root, folders_without):
    """{path: Source} of the C++ tests and what they include of tests/."""
    found = {}
    for path in [*root.glob("src/**/*_test.cc"), *root.glob("tests/**/*.cc"), *root.glob("tests/**/*.h")]:
        name = path.relative_to(root).as_posix()
        if tuple(name.split("/")[:2]) not in folders_without:
            found[name] = Source(path.read_text(encoding="utf-8", errors="replace"))
    return found


def fixtures(name, found):
    """The file and all that it includes of tests/."""
    done, left = set(), {name}
    while left:
        one = left.pop()
        if one in found and one not in done:
            done.add(one)
            left |= set(found[one].includes)
    return sorted(done)


def read(root, folders_without):
    """(test, words of its files, shown, called) for each C++ test."""
    found = sources(root, folders_without)
    together = {name: fixtures(name, found) for name in found}
    for name, source in found.items():
        source.parse(set().union(*(found[one].errors for one in together[name])))
    for name, source in sorted(found.items()):
        helpers = defaultdict(list)
        for one in together[name]:
            for helper, bodies in found[one].helpers.items():
                helpers[helper] += bodies
        words = set().union(*(found[one].words for one in together[name]))
        for test, body in source.tests:
            shown, called = closure(body, helpers)
            yield f"{test} ({name})", words, shown, called
