# SPDX-License-Identifier: Apache-2.0
"""What the user sees: one line per step with its time, the full output in build/log, its tail when a step fails.

All of it goes to standard error. Standard output belongs to the command: `env` is eval'ed, `run` is the program's.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time

from layout import LOG, ROOT

TAIL_LINES = 40
NINJA_COUNT = re.compile(r"^\[(\d+)/(\d+)\]")


class Stop(Exception):
    """Ends ./millpond with a sentence for the user and an exit code."""

    def __init__(self, text, code=1):
        super().__init__(text)
        self.code = code


def say(text):
    print(f"millpond: {text}", file=sys.stderr, flush=True)


def shown(path):
    """A path as the user would type it from the root."""
    try:
        return str(path.relative_to(ROOT))
    except ValueError:
        return str(path)


def seconds(span):
    return f"{span:.1f} s" if span < 60 else f"{int(span // 60)} min {int(span % 60)} s"


class _Progress:
    """Rewrites one terminal line with ninja's or ctest's count; silent when standard error is no terminal."""

    def __init__(self, title):
        self.title = title
        self.live = sys.stderr.isatty()
        self.last = 0.0

    def feed(self, line):
        if not self.live or time.monotonic() - self.last < 0.1:
            return
        self.last = time.monotonic()
        text = f"{self.title}: {line.strip()}"[: max(20, _width() - 1)]
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()

    def close(self):
        if self.live:
            sys.stderr.write("\r\033[K")


def _width():
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        return 80


def run_logged(title, command, log_name, env=None, cwd=ROOT, limit=None):
    """Runs a command with its output in build/log/<log_name>; returns (exit status, log path, seconds).

    limit: seconds after which the command and all it started are killed; the log's last line then says so.
    """
    LOG.mkdir(parents=True, exist_ok=True)
    log_path = LOG / log_name
    progress = _Progress(title)
    started = time.monotonic()
    with open(log_path, "w", encoding="utf-8", errors="replace") as log:
        log.write("$ " + " ".join(str(part) for part in command) + "\n")
        log.flush()
        try:
            child = subprocess.Popen(
                [str(part) for part in command], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace", start_new_session=True)
        except OSError as error:
            log.write(f"{error}\n")
            return 127, log_path, 0.0
        late = threading.Event()
        watch = threading.Timer(limit or 0, lambda: (late.set(), _end(child, signal.SIGKILL)))
        if limit:
            watch.start()
        try:
            for line in child.stdout:
                log.write(line)
                progress.feed(line)
            status = child.wait()
        except BaseException:
            _end(child, signal.SIGTERM)
            child.wait()
            raise
        finally:
            watch.cancel()
            progress.close()
        if late.is_set():
            log.write(f"killed: it ran longer than {seconds(limit)}\n")
    return status, log_path, time.monotonic() - started


def _end(child, number):
    """To the whole session of the command: what it started must not outlive it and hold the pipe open."""
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        pass


def tail(log_path, lines=TAIL_LINES):
    text = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(text[-lines:])


def step(title, command, log_name, env=None, cwd=ROOT):
    """run_logged for a step that must succeed: one line with its time, or the tail of its log and a Stop."""
    say(f"{title} ...")
    status, log_path, span = run_logged(title, command, log_name, env=env, cwd=cwd)
    if status != 0:
        print(tail(log_path), file=sys.stderr)
        raise Stop(f"{title} failed (exit {status}) after {seconds(span)}; the whole log is {shown(log_path)}")
    say(f"{title}: done in {seconds(span)}")
