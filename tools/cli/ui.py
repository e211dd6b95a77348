# SPDX-License-Identifier: Apache-2.0
"""What the user sees: one line per step with its time, the full output in build/log, its tail when a step fails.

All of it goes to standard error. Standard output belongs to the command: `env` is eval'ed, `run` is the program's.
"""

import contextlib
import io
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
TERMINAL_SECONDS = 0.1  # between two rewritings of the progress line
LOG_SECONDS = 30  # between two lines where there is no terminal
MIN_STEPS = 4  # before a guess at what is left


if sys.stderr is None:  # closed by whoever started us; print would take standard output instead
    sys.stderr = io.StringIO()


class Stop(Exception):
    """Ends ./millpond with a sentence for the user and an exit code."""

    def __init__(self, text, code=1):
        super().__init__(text)
        self.code = code


def say(text):
    clear = "\r\033[K" if sys.stderr.isatty() else ""  # a progress line may be there, of another thread
    try:
        print(f"{clear}millpond: {text}", file=sys.stderr, flush=True)
    except OSError:  # nobody reads it any more, or there is no room, which changes nothing about what was done
        sys.stderr = io.StringIO()  # or Python would try again at its end, and make 120 of the status


def shown(path):
    """A path as the user would type it from the root."""
    try:
        return str(path.relative_to(ROOT))
    except ValueError:
        return str(path)


def seconds(span):
    return f"{span:.1f} s" if span < 60 else f"{int(span // 60)} min {int(span % 60)} s"


class _Progress:
    """What a command has done and what is left: one line on a terminal, rewritten; elsewhere a line now and then.

    Work in the background says nothing between its first line and its last: the line belongs to the main thread.
    """

    def __init__(self, title):
        self.title = title
        self.shown = threading.current_thread() is threading.main_thread()
        self.live = sys.stderr.isatty()
        self.started = time.monotonic()
        self.last = 0.0 if self.live else self.started

    def feed(self, line):
        now = time.monotonic()
        if not self.shown or now - self.last < (TERMINAL_SECONDS if self.live else LOG_SECONDS):
            return
        left = self._left(line, now)
        if self.live:
            text = f"{self.title}: {left or line.strip()}"[: max(20, _width() - 1)]
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()
        elif left:
            say(f"{self.title}: {left}")
        else:
            return
        self.last = now

    def _left(self, line, now):
        """Of ninja's lines: how many steps are done, and how long the rest takes if it goes on like this."""
        count = NINJA_COUNT.match(line)
        if not count:
            return ""
        done, total = int(count[1]), int(count[2])
        text = f"{done} of {total} steps"
        if done >= MIN_STEPS and now > self.started:
            text += f", about {seconds((now - self.started) / done * (total - done))} left"
        return text

    def close(self):
        if self.live and self.shown:
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
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


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
