# SPDX-License-Identifier: Apache-2.0
"""./millpond check: options, exit status, signals, and what all processes of a program wrote. checked.py stands for the checked program."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from check_lines import again, end, expected, finding, start

CHECKED = Path(__file__).with_name("checked.py")
ERROR = [start(), finding(), end(1)]
WARNING = [start(), finding(severity="warning", rule="MP502"), end()]


def command_of(spec):
    return [sys.executable, str(CHECKED), json.dumps(spec)]


def check(tree, spec, *options, **extra):
    return tree.call("check", *options, "--", *command_of(spec), **extra)


def found(tree, spec, *options, **extra):
    """The findings of --json, and the outcome of the command."""
    path = tree.root / "found.json"
    path.unlink(missing_ok=True)
    outcome = check(tree, spec, "--json", path, *options, **extra)
    return json.loads(path.read_text()), outcome


def said(outcome):
    """What the command said, without the steps of building."""
    return [line for line in outcome.stderr.splitlines() if "check:" in line or line.startswith("millpond:   ")]


@pytest.mark.parametrize("lines, status, expected", [
    (ERROR, 0, 66), (ERROR, 1, 1), (ERROR, 7, 7), (ERROR, 66, 66), (ERROR, 255, 255),
    (WARNING, 0, 0), (WARNING, 3, 3), ([start(), finding(severity="advice", rule="MP505"), end()], 0, 0),
    ([start(), end()], 0, 0), ([start(), end()], 66, 66), ([], 0, 0), ([], 5, 5),
    ([start(), finding()], 0, 66),  # left by _exit: no last line
    ([start(), end(1)], 0, 66),  # the line of the finding itself was lost
])
def test_exit_status_is_66_only_for_errors_in_a_program_that_ended_well(tree, lines, status, expected):
    assert check(tree, {"lines": lines, "exit": status}).returncode == expected


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTRAP, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE])
def test_death_by_signal_is_the_programs_and_the_file_is_there(tree, number):
    findings, outcome = found(tree, {"lines": [start(), finding()], "kill": int(number)})
    assert outcome.returncode == -number
    assert [each["rule"] for each in findings] == ["MP304"]
    assert any("left no last line" in line for line in said(outcome))


@pytest.mark.parametrize("status, expected", [(0, 66), (1, 66), (66, 66)])
def test_until_first_gives_66_whatever_a_launcher_made_of_it(tree, status, expected):
    assert check(tree, {"lines": ERROR, "exit": status}, "--until-first").returncode == expected
    assert check(tree, {"lines": WARNING, "exit": status}, "--until-first").returncode == status


def test_findings_of_all_processes_are_merged_by_fingerprint(tree):
    other = finding(rule="MP611", fingerprint="f" * 16)
    spec = {"lines": [start(rank=0), finding(), again(2), again(8), again(4)], "children": [
        {"lines": [start(rank=1), finding(), end(1)]}, {"lines": [start(rank=2), other, other, end(2)], "exit": 3}]}
    findings, outcome = found(tree, spec)
    assert outcome.returncode == 66
    assert [(each["rule"], each["count"], len(each.get("pids", [0]))) for each in findings] == [("MP304", 9, 2), ("MP611", 1, 1)]
    assert findings[0]["ranks"] == [0, 1] and findings[0]["rank"] == 0 and findings[1]["rank"] == 2
    assert findings[0]["pid"] == findings[0]["pids"][0]
    assert "2 errors, 0 warnings, 0 advice in 3 processes" in said(outcome)[0]


@pytest.mark.parametrize("lines, status, rules", [
    ([start(), finding(), expected(1), end(1)], 0, []), ([start(), finding(), expected(1)], 0, []),
    ([start(), finding(), expected(1), again(2), end(1)], 66, ["MP304"]), ([start(), finding(), expected(1), again(2), expected(1), end(1)], 0, []),
    ([start(), finding(), finding(rule="MP611", fingerprint="f" * 16), expected(1), end(2)], 66, ["MP611"]), ([start(), expected(1), end(1)], 66, []),
    ([start(), finding(), expected(1), start(), finding(), end(1)], 66, ["MP304"]), ([start(), finding(), expected(1), end(2)], 66, []),
])
def test_what_every_test_that_made_it_expected_is_no_error(tree, lines, status, rules):
    findings, outcome = found(tree, {"lines": lines})
    assert (outcome.returncode, [each["rule"] for each in findings]) == (status, rules)
    left_out = "MP304" not in rules and any(line["event"] == "finding" for line in lines)
    assert ("1 finding left out: tests expected it" in outcome.stderr) == left_out


def test_a_finding_has_what_the_format_promises(tree):
    (each,), _ = found(tree, {"lines": ERROR})
    assert set(each) == {"rule", "severity", "message", "advice", "page", "count", "objects", "stacks", "fingerprint", "pid", "rank"}
    assert each["stacks"][0]["role"] == "later" and each["stacks"][0]["operation"] == "aclrtFree"
    assert each["stacks"][0]["frames"][0] == {"function": "Trim", "file": "/src/pool.cpp", "line": 140, "module": "libpool.so", "offset": "0x1f2",
                                              "language": "c++"}
    assert each["objects"][0]["offset"] == 64


def test_a_process_that_starts_again_under_its_number_counts_anew(tree):
    findings, outcome = found(tree, {"lines": [start(), finding(), start(program="exec'ed"), finding(), again(3), end(1)]})
    assert [each["count"] for each in findings] == [4]
    assert "in 2 processes" in said(outcome)[0]


@pytest.mark.parametrize("raw", ['{"event":"finding","rule', "{", json.dumps(again(5))])
def test_a_last_line_without_its_end_is_passed_over(tree, raw):
    findings, outcome = found(tree, {"lines": ERROR, "raw": raw})
    assert [each["count"] for each in findings] == [1]
    assert "could not be read" not in outcome.stderr


@pytest.mark.parametrize("raw", ["{\n", "[]\n", "7\n", '{"event":"finding","pid":1}\n', '{"event":"memory","pid":"x"}\n', "\udcff\udcfe\n", "[" * 100000 + "\n",
                                 '{"event":"again","pid":1,"fingerprint":"none","count":2}\n', '{"event":"live","pid":1,"blocks":7}\n'])
def test_a_spoilt_line_is_told_and_costs_only_itself(tree, raw):
    findings, outcome = found(tree, {"lines": ERROR, "raw": raw})
    assert len(findings) == 1 and outcome.returncode == 66
    assert any("1 line(s) could not be read" in line for line in said(outcome))


def test_an_event_of_a_newer_library_is_no_mistake(tree):
    _, outcome = found(tree, {"lines": [start(format=2), {"event": "weather"}, end()]})
    assert "could not be read" not in outcome.stderr and "wrote format 2" in outcome.stderr


def test_a_program_that_never_used_the_runtime_is_not_called_clean(tree):
    outcome = tree.call("check", "--", "true")
    assert outcome.returncode == 0 and "nothing was checked" in outcome.stderr


def test_standard_output_is_the_programs_alone(tree):
    assert tree.call("check", "--", "echo", "hello").stdout == "hello\n"


def variables_of(tree, *options, command="check", **extra):
    path = tree.root / "environment.json"
    outcome = tree.call(command, *options, "--", *command_of({"environment": str(path)}), **extra)
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(path.read_text())


def test_options_of_order_and_share_become_variables_too(tree):
    values = variables_of(tree, "--sample", "1/100", "--host-order=threads", "--schedule", "hold:3:12")
    assert (values["MILLPOND_CHECK_SAMPLE"], values["MILLPOND_CHECK_HOST_ORDER"], values["MILLPOND_SCHEDULE"]) == ("1/100", "threads", "hold:3:12")


def test_options_become_variables_of_the_process(tree):
    (tree.root / "s.txt").write_text("MP304 function=Trim\n")
    values = variables_of(tree, "--only", "MP3*,stream-race", "--except", "mp305", "--also", "*", "--until-first", "--break", "--suppress", "s.txt", "--devices", "2", "--html", "page.html")
    ours = {name: value for name, value in values.items() if name.startswith("MILLPOND_")}
    assert Path(ours.pop("MILLPOND_CHECK_JSON")).name == "lines"
    assert "run-" in ours.pop("MILLPOND_SHARED_DEVICES")
    assert ours == {"MILLPOND_CHECK": "1", "MILLPOND_CHECK_ONLY": "MP3*,MP611", "MILLPOND_CHECK_EXCEPT": "MP305", "MILLPOND_CHECK_ALSO": "*",
                    "MILLPOND_CHECK_STATUS": "keep", "MILLPOND_CHECK_UNTIL_FIRST": "1", "MILLPOND_CHECK_BREAK": "1",
                    "MILLPOND_CHECK_SUPPRESS": str(tree.root / "s.txt"), "MILLPOND_DEVICES": "2", "MILLPOND_REPORT": "1",
                    "MILLPOND_SEED": "0"}  # for MP507, which is among all


def test_without_options_only_the_checker_is_turned_on(tree):
    values = variables_of(tree)
    assert {name for name in values if name.startswith("MILLPOND_")} == {"MILLPOND_CHECK", "MILLPOND_CHECK_JSON", "MILLPOND_CHECK_STATUS",
                                                                                  "MILLPOND_SHARED_DEVICES"}
    assert values["TASK_QUEUE_ENABLE"] == "0"
    assert not Path(values["MILLPOND_CHECK_JSON"]).parent.exists(), "the folder with the lines is left behind"


def test_what_the_caller_has_set_stays(tree):
    values = variables_of(tree, TASK_QUEUE_ENABLE="2", MILLPOND_CHECK_ONLY="free-in-flight", MILLPOND_CHECK_JSON=str(tree.root / "mine"))
    assert values["TASK_QUEUE_ENABLE"] == "2"
    assert values["MILLPOND_CHECK_ONLY"] == "MP304", "the process knows ids, not names"
    assert not (tree.root / "mine").exists()


@pytest.mark.parametrize("options, parts", [
    (["--only", "MP999"], ["no rule 'MP999'", "MP304 free-in-flight", "MP803 call-before-init", "MP3*"]),
    (["--except", "MP9*"], ["no rule 'MP9*'"]), (["--also", "M*"], ["no rule 'M*'"]), (["--only", "MP304,"], ["no rule ''"]),
    (["--sample", "2"], ["'2' is not a share", "1/N", "1/100"]), (["--sample", "1/0"], ["1/N"]), (["--sample", "2/3"], ["1/N"]),
    (["--host-order", "locks"], ["no order 'locks'", "time, threads"]),
    (["--explore", "0"], ["1 to 100000"]), (["--explore", "many"], ["'many'", "1 to 100000"]),
    (["--schedule", "hold:3"], ["hold:STREAM:TASK", "pct:SEED:STEP,STEP"]), (["--schedule", "pct:1:5,5"], ["ascending"]),
    (["--json", "no/such/f"], ["no/such", "create it first"]), (["--html", "."], ["folder"]),
    (["--suppress", "none.txt"], ["none.txt", "No such file", "nothing was started"]), (["--suppress", "."], ["Is a directory"]),
    (["--suppress", "/dev/null"], ["not a regular file"]),
    (["--soc", "Ascend999"], ["Ascend910B3"]), (["--no-such-option"], ["unknown option '--no-such-option'", "--soc", "--explore", "--sarif"]),
    (["--jsn", "f"], ["unknown option '--jsn'", "--json"]),
])
def test_bad_option_is_refused_before_the_program_starts(tree, options, parts):
    outcome = tree.call("check", *options, "--", "echo", "ran")
    assert outcome.returncode == 2 and outcome.stdout == ""
    assert all(part in outcome.stderr for part in parts), outcome.stderr
    assert tree.calls() == [], "a refusal must come before any building"


@pytest.mark.parametrize("variable, value, known", [("MILLPOND_CHECK_ONLY", "MP999", "MP304"), ("MILLPOND_CHECK_HOST_ORDER", "locks", "threads"),
                                                    ("MILLPOND_CHECK_SAMPLE", "half", "1/N"), ("MILLPOND_SCHEDULE", "hold", "hold:STREAM:TASK")])
def test_bad_variable_is_refused_like_the_option(tree, variable, value, known):
    outcome = tree.call("check", "--", "echo", "ran", **{variable: value})
    assert outcome.returncode == 2 and variable in outcome.stderr and known in outcome.stderr and outcome.stdout == ""


def test_missing_program(tree):
    (tree.root / "data.txt").write_text("no program")
    assert tree.call("check", "--", "no-such-program").returncode == 127
    assert tree.call("check", "--", "./data.txt").returncode == 126
    assert tree.call("check", "--").returncode == tree.call("check").returncode == 2


def test_rules_prints_every_rule_and_needs_no_program(tree, root):
    outcome = tree.call("check", "--rules")
    ids = [line.split()[-1] for line in (root / "src/check/rules.yaml").read_text().splitlines() if line.startswith("- id:")]
    printed = [line.split() for line in outcome.stdout.splitlines() if line.startswith("MP")]
    assert outcome.returncode == 0 and [row[0] for row in printed] == ids
    assert ["MP203", "error", "blocks-too-close", "(off", "until", "--also)"] in printed
    assert ["MP511", "error", "pending-copy-read", "(off", "until", "--also)"] in printed
    assert "Not looked for" not in outcome.stdout


@pytest.mark.parametrize("line, reason", [
    ("MP999 function=a", "no rule 'MP999'"), ("MP304 functoin=a", "'functoin=a' is not a condition"), ("MP304 function=", "is not a condition"),
    ("MP304 fingerprint=12", "16 hexadecimal digits"), ("MP304 file=a file=b", "'file=' stands twice"), ("*", "'*' alone would hide everything"),
    ("MP304 fingerprint=0123456789abcdef file=a", "no other condition"), ("MP304 Trim", "'Trim' is not a condition"),
])
def test_a_wrong_suppression_stops_before_the_program_and_names_line_and_reason(tree, line, reason):
    (tree.root / "s.txt").write_text(f"# why\n\nMP304 file=*/pool.cpp function=A::*\n{line}\n")
    outcome = tree.call("check", "--suppress", "s.txt", "--", "echo", "ran")
    assert outcome.returncode == 2 and outcome.stdout == ""
    assert "line 4: " in outcome.stderr and reason in outcome.stderr


def test_suppressions_that_matched_nothing_are_told_when_the_program_ended_well(tree):
    (tree.root / "s.txt").write_text("MP304 function=Trim # why\n# a comment\n* module=libx.so\n")
    lines = [start(), {"event": "suppressed", "line": 1, "count": 2}, end()]
    outcome = check(tree, {"lines": lines, "children": [{"lines": [start(), {"event": "suppressed", "line": 1, "count": 3}, end()]}]}, "--suppress", "s.txt")
    assert outcome.returncode == 0
    assert any("5 times suppressed" in line for line in said(outcome))
    assert [line for line in said(outcome) if "matched nothing" in line] == [
        f"millpond: check: {tree.root}/s.txt, line 3 matched nothing: * module=libx.so"]
    assert "matched nothing" not in check(tree, {"lines": lines, "exit": 1}, "--suppress", "s.txt").stderr


def test_written_suppressions_are_readable_and_are_added_to_what_is_there(tree):
    path = tree.root / "s.txt"
    path.write_text("MP502 function=Keep  # no newline")
    spec = {"lines": [start(), finding(message="two\nlines\u2028three\x85four"), finding(rule="MP611", fingerprint="f" * 16), end(2)]}
    for _ in range(2):  # the second time nothing is new
        check(tree, spec, "--write-suppressions", path)
    assert path.read_text().split("\n") == ["MP502 function=Keep  # no newline", "# two lines three four", "MP304 fingerprint=0123456789abcdef",
                                            f"# {finding()['message']}", "MP611 fingerprint=ffffffffffffffff", ""]


def started(tree, tmp_path, number, *options, **extra):
    """A check whose program lasts until it gets the signal; returns when the program runs."""
    ready = tmp_path / "ready"
    spec = {"lines": ERROR[:2], "ready": str(ready), "wait": int(number)}
    process = subprocess.Popen([str(tree.root / "millpond"), "check", *options, "--", *command_of(spec)], env=tree.environment(), cwd=tree.root,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **extra)
    deadline = time.monotonic() + 60
    while not (ready.exists() and ready.read_text()):
        assert process.poll() is None and time.monotonic() < deadline, process.stderr.read()
        time.sleep(0.01)
    return process, int(ready.read_text())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_reaches_the_program(tree, tmp_path, number):
    process, _ = started(tree, tmp_path, number, "--json", "found.json", "--html", "page.html")
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 66 and f"got {number.name}" in told
    assert len(json.loads((tree.root / "found.json").read_text())) == 1 and (tree.root / "page.html").exists()


def test_a_program_that_is_killed_from_outside_leaves_complete_files(tree, tmp_path):
    process, pid = started(tree, tmp_path, signal.SIGTERM, "--json", "found.json", "--sarif", "found.sarif")
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert len(json.loads((tree.root / "found.json").read_text())) == 1
    assert len(json.loads((tree.root / "found.sarif").read_text())["runs"][0]["results"]) == 1


COUNTS_INTERRUPTS = """
import os, signal
both = {signal.SIGINT, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, both)
os.kill(os.getppid(), signal.SIGSTOP)  # or what it passes on may melt into the one that is not yet taken
print("ready", flush=True)
count = 0
while signal.sigwait(both) == signal.SIGINT:
    count += 1
    if count == 1:
        os.kill(os.getppid(), signal.SIGUSR1)  # comes back behind whatever the parent passes on
        os.kill(os.getppid(), signal.SIGCONT)
print("interrupts", count, flush=True)
"""
AT_A_TERMINAL = """
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
text = b""
try:
    while part := os.read(master, 4096):
        if b"ready" not in text and b"ready" in text + part:
            os.write(master, b"\x03")
        text += part
except OSError:
    pass  # the other end is closed
os.waitpid(pid, 0)
print(text.decode())
"""


def test_a_key_at_the_terminal_reaches_the_program_once(tree):
    """The kernel sends Ctrl-C to the whole foreground group; passing it on as well would interrupt the program's clean-up."""
    command = [str(tree.root / "millpond"), "check", "--", sys.executable, "-c", COUNTS_INTERRUPTS]
    done = subprocess.run([sys.executable, "-c", AT_A_TERMINAL, *command], env=tree.environment(), cwd=tree.root, capture_output=True, text=True, timeout=60,
                          check=False)
    assert "interrupts 1\n" in done.stdout, done.stdout + done.stderr


COUNTS_TERMS = """
import os, signal
both = {signal.SIGTERM, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, both)
os.kill(os.getppid(), signal.SIGSTOP)  # or what it passes on may melt into the one that is not yet taken
os.kill(0, signal.SIGTERM)             # to the whole group: to this process, to its parent, and to what the parent has there
count = 0
while signal.sigwait(both) == signal.SIGTERM:
    count += 1
    if count == 1:
        os.kill(os.getppid(), signal.SIGUSR1)  # to the parent alone: it passes this on, behind whatever it passes on before
        os.kill(os.getppid(), signal.SIGCONT)
    if count == 2:
        break
if count == 1:
    os.kill(0, signal.SIGTERM)  # and once more: the parent can still tell the two apart
    signal.sigwait({signal.SIGTERM})
    os.kill(os.getppid(), signal.SIGUSR1)
    count += signal.sigwait(both) == signal.SIGTERM
print("terms", count, flush=True)
"""


def test_a_signal_to_the_group_reaches_the_program_once(tree):
    """A CI's timeout, or `kill -- -GROUP`: the kernel gives it to every process of the group, the command and the program."""
    command = [str(tree.root / "millpond"), "check", "--", sys.executable, "-c", COUNTS_TERMS]
    done = subprocess.run(command, env=tree.environment(), cwd=tree.root, capture_output=True, text=True, timeout=60, check=False, start_new_session=True)
    assert done.stdout == "terms 1\n" and done.returncode == 0, done.stdout + done.stderr


def test_until_first_ends_the_other_processes_of_the_run(tree, tmp_path):
    """They may wait for the one that has ended."""
    children = [{"lines": [start()], "ready": str(tmp_path / f"ready{number}"), "wait": int(signal.SIGUSR1)} for number in range(2)]
    started = " ".join(f"{sys.executable} {CHECKED} '{json.dumps(child)}' &" for child in children)
    gate = " && ".join(f"[ -s {child['ready']} ]" for child in children)
    script = f"{started} until {gate}; do sleep 0.01; done; {sys.executable} {CHECKED} '{json.dumps({'lines': ERROR, 'exit': 66})}'; wait; echo survived"
    outcome = tree.call("check", "--until-first", "--json", "found.json", "--", "sh", "-c", script)
    assert outcome.returncode == 66 and outcome.stdout == "", outcome.stderr
    assert len(json.loads((tree.root / "found.json").read_text())) == 1
    for child in children:
        number = int(Path(child["ready"]).read_text())
        assert not Path(f"/proc/{number}").exists() or Path(f"/proc/{number}/stat").read_text().split(")")[-1].split()[0] == "Z"


def test_until_first_leaves_a_program_alone_that_found_no_error(tree):
    script = f"{sys.executable} {CHECKED} '{json.dumps({'lines': WARNING})}'; echo survived"
    outcome = tree.call("check", "--until-first", "--", "sh", "-c", script)
    assert outcome.returncode == 0 and outcome.stdout == "survived\n"


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full", "2</dev/null"])
def test_a_standard_error_that_takes_nothing_changes_nothing(tree, where):
    path = tree.root / "found.json"
    command = [str(tree.root / "millpond"), "check", "--json", str(path), "--", *command_of({"lines": ERROR})]
    done = subprocess.run(["sh", "-c", f'exec "$@" {where}', "sh", *command], env=tree.environment(), cwd=tree.root, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 66 and done.stdout == ""
    assert len(json.loads(path.read_text())) == 1


@pytest.mark.parametrize("option", ["--json", "--sarif", "--junit", "--html", "--write-suppressions"])
@pytest.mark.parametrize("status, expected", [(0, 66), (3, 3)])
def test_a_full_disk_loses_the_file_and_nothing_else(tree, option, status, expected):
    outcome = check(tree, {"lines": ERROR, "exit": status}, option, "/dev/full", "--json" if option != "--json" else "--sarif", "kept")
    assert outcome.returncode == expected
    assert "cannot write" in outcome.stderr and "No space left" in outcome.stderr
    assert (tree.root / "kept").exists()


def test_annotations_on_a_full_standard_output_change_nothing(tree):
    command = [str(tree.root / "millpond"), "check", "--github", "--", *command_of({"lines": ERROR})]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(command, env=tree.environment(), cwd=tree.root, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 66 and "cannot write the annotations" in done.stderr


def test_without_a_place_for_lines_the_program_runs_and_no_file_claims_that_nothing_was_found(tree):
    session = tree.root / "tools" / "cli" / "check" / "session.py"
    session.write_text(session.read_text() + "\ndef _fail(**_): raise OSError(28, 'No space left on device')\ntempfile.mkdtemp = _fail\n")
    outcome = check(tree, {"lines": ERROR, "exit": 4}, "--json", "found.json", "--github")
    assert outcome.returncode == 4 and outcome.stdout == "" and not (tree.root / "found.json").exists()
    assert "files will not be written" in outcome.stderr and "nothing is known" in outcome.stderr


def test_a_child_that_outlives_the_program_keeps_nobody_waiting(tree):
    script = f"sleep 600 >/dev/null 2>&1 & echo $!; exec {sys.executable} {CHECKED} '{json.dumps({'lines': ERROR})}'"
    outcome = tree.call("check", "--json", "found.json", "--", "sh", "-c", script)
    os.kill(int(outcome.stdout), signal.SIGTERM)  # it is still there
    assert outcome.returncode == 66 and len(json.loads((tree.root / "found.json").read_text())) == 1


def test_names_cannot_move_the_cursor_or_start_a_line(tree):
    outcome = check(tree, {"lines": [start(), finding(message="a\x1b[2J\r\nmillpond: check: 0 errors\x9b1m"), end(1)]})
    assert "\x1b" not in outcome.stderr and "\x9b" not in outcome.stderr
    assert "a\\x1b[2J\\x0d\\x0amillpond: check: 0 errors\\x9b1m" in outcome.stderr


def test_a_long_list_is_cut_in_the_terminal_alone(tree):
    many = [finding(fingerprint=f"{number:016x}") for number in range(100)]
    path = tree.root / "spec.json"
    path.write_text(json.dumps({"lines": [start(), *many, end(100)]}))
    outcome = tree.call("check", "--json", "found.json", "--", sys.executable, CHECKED, path)
    assert "100 errors" in outcome.stderr and "and 60 more" in outcome.stderr
    assert len(json.loads((tree.root / "found.json").read_text())) == 100


def test_run_ends_by_a_broken_pipe_as_the_program_alone_would(tree):
    for command in ("run", "check"):
        script = f"{tree.root}/millpond {command} -- sh -c 'yes; echo $? >status' | head -1"
        subprocess.run(["sh", "-c", script], env=tree.environment(), cwd=tree.root, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60, check=False)
        assert (tree.root / "status").read_text().strip() == str(128 + signal.SIGPIPE)
