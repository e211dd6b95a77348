# SPDX-License-Identifier: Apache-2.0
"""docs/coverage.md: a function is `works` only where a test asserts that a call of it succeeds."""

import subprocess
import sys

import pytest

HEADER = """#define ACL_FUNC_VISIBILITY __attribute__((x))
#define ACL_OLD(message) \\
  __attribute__((y(message)))
ACL_FUNC_VISIBILITY int aclA(void);
ACL_FUNC_VISIBILITY void aclVoid(int a,
  int b);
ACL_FUNC_VISIBILITY void* aclMake();
"""


@pytest.fixture(name="state")
def state_fixture(tmp_path, root):
    """What the page says of functions, given the text of a test and of a fixture that it may include."""
    def states(test, fixture="", refused=""):
        for name, text in {"include/acl/a.h": HEADER, "abi/refused.txt": f"# names\n{refused}\n", "docs/x": "", "tests/acl/a_test.cc": test,
                           "tests/acl/fixture.h": fixture, "tests/abi/b_test.cc": "TEST(Links, All) { ACL_OK(aclA()); }\n"}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        generator = [sys.executable, str(root / "tools" / "gen_coverage.py"), "--root", str(tmp_path)]
        assert subprocess.run(generator, check=False).returncode == 0
        assert subprocess.run([*generator, "--check"], check=False).returncode == 0
        rows = [line.split(" | ") for line in (tmp_path / "docs" / "coverage.md").read_text().splitlines() if line.startswith("| `acl")]
        return {row[0].strip("| `"): (row[1], row[2].strip("| `")) for row in rows}
    return states


@pytest.mark.parametrize("body, expected", [
    ("ACL_OK(aclA());", "works"),
    ("EXPECT_EQ(aclA(), ACL_SUCCESS) << 1;", "works"),
    ("ASSERT_EQ(5, aclA());", "works"),
    ("const int code = aclA(); EXPECT_EQ(code, 0);", "works"),
    ("ACL_OK(Twice(aclA()));", "works"),
    ("ROLE_CHECK(aclA() == ACL_SUCCESS);", "works"),
    ("ACL_OK(aclOther(100000)); ACL_FAILS(kBad, aclA());", "not shown"),
    ("aclA();", "not shown"),
    ("EXPECT_NE(aclA(), ACL_SUCCESS);", "not shown"),
    ("EXPECT_EQ(aclA(), ACL_ERROR_INVALID_PARAM);", "not shown"),
    ("EXPECT_EQ(aclA(), 107000);", "not shown"),
    ("EXPECT_EQ(aclA(), kRefusal);", "not shown"),
    ("EXPECT_TRUE(aclA() != ACL_SUCCESS);", "not shown"),
    ("const int code = aclA(); EXPECT_EQ(code, kRefusal);", "not shown"),
    ("// ACL_OK(aclA());", "no test"),
    ("/* ACL_OK(aclA());\n */", "no test"),
    ('Say("ACL_OK(aclA())");', "no test"),
])
def test_a_state_follows_from_what_is_asserted(state, body, expected):
    """Issue 13: a word between two TEST lines was enough, in a comment or in an expected refusal."""
    found = state(f"constexpr int kRefusal = 207000;\nTEST(Alpha, Works) {{\n  {body}\n}}\n")["aclA"]
    assert found[0] == expected
    assert ("Alpha.Works (tests/acl/a_test.cc)" in found[1]) == (expected == "works")


def test_what_stands_between_two_tests_belongs_to_neither(state):
    found = state("TEST(Alpha, One) { ACL_OK(aclB()); }\nvoid Unused() { ACL_OK(aclA()); }\nTEST(Alpha, Two) { ACL_OK(aclB()); }\n")
    assert found["aclA"] == ("no test", "")


@pytest.mark.parametrize("test, fixture", [
    ("TEST_F(Alpha, One) { Use(1); }", "void Use(int x) {\n  ACL_OK(aclA());\n}\n"),
    ("TEST_F(Alpha, One) { ACL_OK(Start()); }", "inline int Start(const Options& options = {}) { return aclA(); }\n"),
    ("TEST_F(Alpha, One) {}", "class Alpha {\n  void SetUp() override {\n    ACL_OK(aclA());\n  }\n};\n"),
    ('MP_ROLE(Child) { ROLE_CHECK(aclA() == ACL_SUCCESS); return 0; }\nTEST_F(Alpha, One) { ExpectRole("Child"); }', ""),
])
def test_helpers_of_the_file_and_its_fixture_count_for_the_test_that_calls_them(state, test, fixture):
    found = state(f'#include "tests/acl/fixture.h"\n{test}\n', fixture)
    assert found["aclA"] == ("works", "Alpha.One (tests/acl/a_test.cc)")


def test_a_helper_whose_result_nobody_asserts_shows_nothing(state):
    assert state("int Start() { return aclA(); }\nTEST(Alpha, One) { Start(); }\n")["aclA"][0] == "not shown"


def test_functions_without_a_result_and_makers_have_rules_of_their_own(state):
    found = state("TEST(Alpha, One) { aclVoid(1, 2); void* x = aclMake(); EXPECT_NE(x, nullptr); }\n")
    assert (found["aclVoid"][0], found["aclMake"][0]) == ("works", "works")
    assert state("TEST(Alpha, One) { EXPECT_EQ(aclMake(), nullptr); }\n")["aclMake"][0] == "not shown"


def test_what_the_list_refuses_is_refused_whatever_a_test_says(state):
    assert state("TEST(Alpha, One) { ACL_OK(aclA()); }\n", refused="aclA lib 1")["aclA"] == ("refuses", "")


def test_graph_methods_need_a_test_that_names_their_class(tmp_path, root, state):
    (tmp_path / "abi" / "ge").mkdir(parents=True)
    (tmp_path / "abi" / "ge" / "x.exports").write_text("# libge.so\n_ZN2ge7Session8RunGraphEj\n_ZN2ge7SessionC1Ev\n_ZN2ge5Other8RunGraphEj\n")
    state("TEST(Alpha, One) { ge::Session session; GE_OK(session.RunGraph(1)); }\n")
    text = (tmp_path / "docs" / "coverage.md").read_text()
    assert "| `ge::Session::RunGraph` | works | `Alpha.One (tests/acl/a_test.cc)` |" in text
    assert "| `ge::Other::RunGraph` | no test |  |" in text and "Session::Session" not in text


def test_a_macro_is_no_function(tmp_path, state):
    state("TEST(Alpha, One) { ACL_OK(aclA()); }\n")
    text = (tmp_path / "docs" / "coverage.md").read_text()
    assert "3 functions and methods: 1 work" in text and "attribute" not in text


def test_a_stale_page_is_told(tmp_path, root, state):
    state("TEST(Alpha, One) { ACL_OK(aclA()); }\n")
    (tmp_path / "tests" / "acl" / "a_test.cc").write_text("")
    stale = subprocess.run([sys.executable, str(root / "tools" / "gen_coverage.py"), "--root", str(tmp_path), "--check"], capture_output=True,
                           text=True, check=False)
    assert stale.returncode == 1 and "is not current" in stale.stdout
