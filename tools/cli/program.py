# SPDX-License-Identifier: Apache-2.0
"""The program behind `--`: found, then either become it (`run`) or stay as its parent until it ends (`check`)."""

import os
import shutil
import signal
from collections import namedtuple

import ui

# Python ignores these, and a program would inherit that: `run -- yes | head` must end by SIGPIPE.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
# What is passed on to the program. SIGTSTP is not: a shell stops and continues the whole group.
LOOKS = 0.1  # seconds between two questions whether the program should end
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def parse(parser, argv):
    """The options, and the program behind --; what is wrong with them ends ./millpond."""
    place = argv.index("--") if "--" in argv else len(argv)
    start = _first_word(parser, argv[:place])
    if start is not None:
        # Taken as it is, `run train.py --seed 3` would be an option of ours; so nothing is guessed.
        import shlex
        typed = [*argv[:start], "--", *argv[start:place], *argv[place + 1:]]
        parser.error(f"the program goes after --; type: {parser.prog} {shlex.join(typed)}")
    return parser.parse_args(argv[:place]), argv[place + 1:]


def _first_word(parser, argv):
    """The place of the first argument that is neither an option nor an option's value, or None."""
    actions = parser._option_string_actions
    place = 0
    while place < len(argv):
        word = argv[place]
        if not word.startswith("-"):
            return place
        meant = [action for option, action in actions.items() if option.startswith(word.partition("=")[0])]
        if not meant:
            parser.unknown([word])
        place += 1 if "=" in word or meant[0].nargs == 0 else 2
    return None


def require(parser, program):
    if not program:
        parser.error(f"no program given; usage: {parser.usage}")


def find(name, variables):
    """The program's file. Codes 126 and 127 are the shell's."""
    found = shutil.which(name, path=variables["PATH"])
    if found is None:
        if os.path.exists(name):
            raise ui.Stop(f"'{name}' is there but cannot be executed; is it marked executable (chmod +x)?", code=126)
        raise ui.Stop(f"no program '{name}' on the PATH or at that place", code=127)
    return found


def become(program, variables):
    """Exit status and death by signal are then the program's own."""
    found = find(program[0], variables)
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(found, program, variables)
    except OSError as error:
        raise _cannot_execute(found, error) from None


class Outcome(namedtuple("Outcome", "status signal", defaults=(0, 0))):
    """How a program ended: by a signal, or with an exit status."""

    @property
    def words(self):
        return f"was ended by {signal.Signals(self.signal).name}" if self.signal else f"exited with {self.status}"


class Witness:
    """A member of our process group that does nothing and to which nobody sends anything: what it has got was sent to the whole group.

    The signals are blocked in it, and the kernel says which ones wait (/proc/PID/status). It is younger than we are, and the kernel goes through a
    group from the youngest: what we have, it has. When in doubt (no /proc, no process to be had) a signal counts as sent to us alone.
    """

    def __init__(self, signals):
        self._signals = signals
        self._process = 0
        self._pipe = ()
        self._start()

    def _start(self):
        """`cat` of a pipe that we hold: it ends when we do, however that happens."""
        file = shutil.which("cat")
        try:
            self._pipe = os.pipe()
            actions = [(os.POSIX_SPAWN_DUP2, self._pipe[0], 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
            self._process = os.posix_spawn(file, ["cat"], {}, file_actions=actions, setsigmask=self._signals) if file else 0
        except OSError:
            self._process = 0

    def got(self, number):
        """Asked once for each signal: the answer is used up."""
        try:
            with open(f"/proc/{self._process}/status", encoding="ascii", errors="replace") as file:
                pending = next(int(line.split()[1], 16) for line in file if line.startswith("ShdPnd:"))
        except (OSError, StopIteration, ValueError):
            return False
        if not pending >> (number - 1) & 1:
            return False
        self.end()
        self._start()
        return True

    def end(self):
        if self._process:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        for end in self._pipe:
            os.close(end)
        self._process, self._pipe = 0, ()


def watch(program, variables, should_end=None):
    """Runs the program as a child in our process group and waits for it; signals sent to us are passed on.

    A key at the terminal (Ctrl-C) reaches the whole group by itself, and so does what somebody sends to the group: neither is passed on, or the
    program would get it twice. should_end, if given, is asked now and then whether the program is to be ended; it ends what it wants
    ended, and gives the Outcome then.
    """
    found = find(program[0], variables)
    waited = {*FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    witness = Witness(FORWARDED)  # before the program, which may begin with a signal
    try:
        try:
            child = os.posix_spawn(found, program, variables, setsigmask=before, setsigdef=IGNORED_BY_PYTHON)
        except OSError as error:
            raise _cannot_execute(found, error) from None
        instead = None
        while True:
            came = signal.sigtimedwait(waited, LOOKS) if should_end else signal.sigwaitinfo(waited)
            if should_end:
                instead = should_end() or instead
            if came is None:
                continue
            if came.si_signo != signal.SIGCHLD:
                if came.si_code <= 0 and not witness.got(came.si_signo):  # of a process (SI_USER, SI_QUEUE, SI_TKILL), not of the kernel
                    os.kill(child, came.si_signo)
                continue
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                own = Outcome(signal=os.WTERMSIG(status)) if os.WIFSIGNALED(status) else Outcome(os.WEXITSTATUS(status))
                return instead or own
    finally:
        witness.end()
        while signal.sigtimedwait(waited, 0):  # what came for a program that is gone must not end us before the files are written
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_as(outcome):
    """The exit status, or the same death by signal, which the caller (a shell, a CI) then sees as the program's."""
    if outcome.signal:
        import resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the core to look at is the program's
        if outcome.signal not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(outcome.signal, signal.SIG_DFL)
        os.kill(os.getpid(), outcome.signal)
        return 128 + outcome.signal  # blocked by whoever started us
    return outcome.status


def _cannot_execute(found, error):
    return ui.Stop(f"cannot execute '{found}': {error.strerror}", code=126)
