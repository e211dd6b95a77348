# SPDX-License-Identifier: Apache-2.0
"""House rules as tests: sizes, licence lines, formatting, words and paths that must not appear, generated files."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = {".cc", ".h", ".c", ".py", ".sh", ".cmake", ".def"}
MAX_SOURCE_LINES = 600
MAX_TEST_LINES = 800
MAX_README_LINES = 120
MAX_FUNCTION_LINES = 70
# Public headers follow CANN's own division into files, and what a tool writes is as long as it must be.
LENGTH_EXEMPT = ("include/", "docs/coverage.md", "LICENSE")
GENERATED_MARK = "do not edit"
# No machine's own paths, no package registries: a clone must build anywhere.
FORBIDDEN = (
    (re.compile(r"(?<![\w./-])/(?:work|root|home)/\w"), "a path of one machine"),
    (re.compile(r"(?<![\w./-])/tmp/mp_"), "a path of one machine"),
    (re.compile(r"(?:pypi\.org|files\.pythonhosted\.org|deb\.debian\.org|docker\.io|mirrors?\.\w+\.\w+)"), "a registry host"),
    (re.compile(r"(?<!\w)(?:TO" r"DO|FIX" r"ME|XX" r"X)\b"), "a note instead of the work; open an issue"),
)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def is_text(path):
    return b"\0" not in path.read_bytes()[:4096]


def is_test(name):
    return name.startswith("tests/") or re.search(r"_test\.(cc|py)$", name) is not None


def is_exempt(path):
    return name_of(path).startswith(LENGTH_EXEMPT)


def is_generated(text):
    return any(GENERATED_MARK in line.lower() for line in text.splitlines()[:6])


def is_code(path):
    return path.suffix in CODE or path.name in ("CMakeLists.txt", "millpond") or name_of(path) == ".ci/run"


def test_files_are_short(project_files):
    long = []
    for path in project_files:
        if not is_code(path) or is_exempt(path):
            continue
        text = path.read_text(encoding="utf-8")
        limit = MAX_TEST_LINES if is_test(name_of(path)) else MAX_SOURCE_LINES
        if len(text.splitlines()) > limit and not is_generated(text):
            long.append(f"{name_of(path)}: {len(text.splitlines())} lines; at most {limit}, so split it")
    assert long == []


def test_readme_is_short(root):
    lines = len((root / "README.md").read_text().splitlines())
    assert lines <= MAX_README_LINES, f"README.md has {lines} lines; at most {MAX_README_LINES}"


def cpp_functions(text):
    """(line, length) of each function: it starts at the margin with a '(' and ends with a lone '}' there.

    A case label and the return beside it are a row of a table, not a step to follow: they do not count.
    """
    start = None
    rows = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line == "}" and start is not None:
            yield start, number - start + 1 - rows
            start = None
        elif re.match(r"\s+(?:case .*:|default:|return [^;{}]*;)", line):
            rows += 1
        elif line and line[0] not in " \t#/}{":
            is_type = re.match(r"(?:typedef |template |extern \"C\" \{|namespace |class |struct |enum |union )", line)
            start = None if is_type or "(" not in line or line.endswith(";") else number
            rows = 0


def test_the_function_meter_measures():
    text = "namespace a {\nint F(int b,\n      int c) {\n  return 1;\n}\nstruct S {\n  int x;\n};\n}  // namespace a\n"
    assert list(cpp_functions(text)) == [(2, 3)]


def test_cpp_functions_are_short(project_files):
    long = []
    for path in project_files:
        if path.suffix != ".cc" or is_test(name_of(path)):
            continue
        for line, length in cpp_functions(path.read_text(encoding="utf-8")):
            if length > MAX_FUNCTION_LINES:
                long.append(f"{name_of(path)}:{line}: a function of {length} lines; at most {MAX_FUNCTION_LINES}")
    assert long == [], "\n" + "\n".join(long)


def test_code_names_its_licence(project_files):
    bare = []
    for path in project_files:
        if not is_code(path) or path.stat().st_size == 0:
            continue
        head = path.read_text(encoding="utf-8").splitlines()[:3]
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head):
            bare.append(name_of(path))
    assert bare == [], "no SPDX line near the top"


def test_nothing_forbidden_is_written_down(project_files):
    found = []
    for path in project_files:
        if name_of(path) == "tests/tidy/test_tidy.py" or path.is_symlink() or not is_text(path):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            found += [f"{name_of(path)}:{number}: {why}: {line.strip()[:100]}" for what, why in FORBIDDEN if what.search(line)]
    assert found == []


@pytest.mark.parametrize("line, bad", [
    ("see /work/shared/notes", True), ('cd "/home/ann/x"', True), ("framework/x", False), ("/network/x", False),
    ("build/root/x", False), ("a TO" "DO here", True), ("https://pypi.org/simple", True),
])
def test_the_forbidden_patterns_find_what_they_should(line, bad):
    assert any(what.search(line) for what, _ in FORBIDDEN) == bad


def test_cpp_is_formatted(project_files):
    tool = shutil.which("clang-format-14")
    assert tool, "clang-format-14 is missing; packaging/debian-packages-test.txt names it, ./millpond test installs it"
    files = [str(path) for path in project_files if path.suffix in (".cc", ".h", ".c")]
    outcome = subprocess.run([tool, "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True, text=True, check=False)
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", outcome.stderr, re.M)))
    assert outcome.returncode == 0, f"run clang-format-14 -i on: {' '.join(wrong)}"


@pytest.mark.parametrize("generator", ["gen_aclnn_doc.py", "gen_coverage.py", "gen_headers_doc.py", "gen_options.py", "gen_rules.py"])
def test_generated_file_is_current(root, generator):
    outcome = subprocess.run([sys.executable, str(root / "tools" / generator), "--check"], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout


def test_table_of_pool_settings_follows_the_settings(tmp_path, root):
    """The rest of the page is left alone; a row that cannot be read is an error, not a gap."""
    for name in ("src/base/options.def", "src/base/cann_options.def", "src/pool/settings.def", "docs/options.md", "docs/options_cann.md",
                 "docs/pool.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    page, table = tmp_path / "docs" / "pool.md", tmp_path / "src" / "pool" / "settings.def"
    generator = [sys.executable, str(root / "tools" / "gen_options.py"), "--root", str(tmp_path)]
    before, rows = page.read_text(), table.read_text()
    table.write_text(rows + 'MP_POOL_SETTING(depth, "MILLPOND_POOL_DEPTH", size_t{3} << 21, 0, SIZE_MAX, "How deep")\n')
    stale = subprocess.run([*generator, "--check"], capture_output=True, text=True, check=False)
    assert stale.returncode == 1 and "docs/pool.md is not current" in stale.stdout
    assert subprocess.run(generator, check=False).returncode == 0
    row = "| `depth` | `MILLPOND_POOL_DEPTH` | `6Mi` | 0 to unlimited | How deep |\n"
    assert row in page.read_text() and page.read_text().replace(row, "") == before
    table.write_text(rows + "MP_POOL_SETTING(depth)\n")
    assert subprocess.run(generator, capture_output=True, check=False).returncode != 0


def test_shell_scripts_parse_as_plain_sh(root):
    for name in ("millpond", "tools/cli/packages.sh", "packaging/set_env.sh"):
        assert subprocess.run(["sh", "-n", str(root / name)], check=False).returncode == 0, name
