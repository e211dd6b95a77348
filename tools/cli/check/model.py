# SPDX-License-Identifier: Apache-2.0
"""What checked processes told: processes, findings, stacks. Built from the lines with every value made what it must be, so
that whoever renders them need not ask; a line that is something else raises one of MALFORMED."""

from dataclasses import dataclass, field

MALFORMED = (TypeError, ValueError, KeyError, AttributeError, OverflowError)
SEVERITIES = ("error", "warning", "advice")
FOUND = 66  # the status for errors in a program that itself ended well


def text_of(value):
    """A string that can be written as UTF-8: a name may be any bytes, and JSON can say half a surrogate pair."""
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"{type(value).__name__} where a string belongs")
    return str(value).encode("utf-8", "replace").decode("utf-8")


def address_of(value):
    return int(value, 0) if isinstance(value, str) else int(value)


def plain(value):
    """JSON without what cannot be written."""
    if isinstance(value, dict):
        return {text_of(key): plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return text_of(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Frame:
    function: str
    file: str
    line: int
    module: str
    offset: str
    language: str

    @staticmethod
    def of(row):
        return Frame(text_of(row.get("function", "")), text_of(row.get("file", "")), int(row.get("line", 0)), text_of(row.get("module", "")),
                     text_of(row.get("offset", "")), text_of(row.get("language", "")))

    @property
    def place(self):
        """file:line, or the module and offset for addr2line."""
        if self.file:
            return f"{self.file}:{self.line}" if self.line > 0 else self.file
        return f"{self.module}+{self.offset}" if self.module and self.offset else self.module

    def as_json(self):
        return {"function": self.function, "file": self.file, "line": self.line, "module": self.module, "offset": self.offset,
                "language": self.language}


@dataclass(frozen=True)
class Stack:
    operation: str
    role: str
    label: str
    thread: str
    frames: tuple

    @staticmethod
    def of(row):
        return Stack(text_of(row.get("operation", "")), text_of(row.get("role", "")), text_of(row.get("label", "")),
                     text_of(row.get("thread", "")), tuple(map(Frame.of, row.get("frames", []))))

    @property
    def title(self):
        name = self.label or self.role or "the call"
        return f"{name} ({self.operation})" if self.operation and self.operation not in name else name

    def as_json(self):
        return {"operation": self.operation, "role": self.role, "label": self.label, "thread": self.thread,
                "frames": [frame.as_json() for frame in self.frames]}


@dataclass(frozen=True)
class Task:
    count: int
    name: str
    mark: str
    order: int  # of calls, over all lanes
    after: object = None  # (stream, count) of the task it waits for

    @staticmethod
    def of(row):
        after = row.get("after")
        return Task(int(row.get("count", 0)), text_of(row.get("name", "")), text_of(row.get("mark", "")), int(row.get("order", 0)),
                    (int(after[0]), int(after[1])) if after else None)


@dataclass(frozen=True)
class Lane:
    stream: int
    label: str
    tasks: tuple

    @staticmethod
    def of(row):
        return Lane(int(row.get("stream", -1)), text_of(row.get("label", "")), tuple(map(Task.of, row.get("tasks", []))))


@dataclass(frozen=True)
class Block:
    """One block of the memory map around a finding."""
    begin: int
    bytes: int
    state: str
    number: str
    label: str
    mark: bool

    @staticmethod
    def of(row):
        return Block(address_of(row["begin"]), int(row["bytes"]), text_of(row.get("state", "")), text_of(row.get("number", "")),
                     text_of(row.get("label", "")), bool(row.get("mark")))


@dataclass(frozen=True)
class LargeBlock:
    """One of the largest blocks that were live at the end, or of a size and place of the whole run."""
    bytes: int
    owner: str
    device: int
    frames: tuple
    count: int  # how often such a one was allocated

    @staticmethod
    def of(row):
        return LargeBlock(int(row["bytes"]), text_of(row.get("owner", "")), int(row.get("device", 0)), tuple(map(Frame.of, row.get("frames", []))),
                          int(row.get("count", 1)))


@dataclass(eq=False)
class Process:
    pid: int
    index: int = 0  # numbers of processes come again
    ppid: int = 0
    rank: object = None
    program: str = ""
    arguments: tuple = ()
    started_ns: int = 0
    version: str = ""
    format: int = 1
    ended: bool = False
    counts: dict = field(default_factory=dict)  # at the end: errors, warnings, advice
    tasks: int = 0  # at the end: how many it launched
    notes: tuple = ()
    memory: list = field(default_factory=list)  # (time_ns, device, owner, live bytes from then on)
    largest: tuple = ()
    live: tuple = ()

    @property
    def name(self):
        return f"process {self.pid}" + (f" (rank {self.rank})" if self.rank is not None else "")


@dataclass(eq=False)
class Finding:
    rule: str
    severity: str
    message: str
    advice: str
    page: str
    objects: list
    stacks: tuple
    lanes: tuple
    memory: tuple
    fingerprint: str
    process: Process
    counts: dict = field(default_factory=dict)  # how often, by Process.index
    processes: list = field(default_factory=list)
    witness: object = None  # of --explore: an order that shows it, and what it shows

    @staticmethod
    def of(row, process):
        if row["severity"] not in SEVERITIES or not all(isinstance(each, dict) for each in row.get("objects", [])):
            raise ValueError("not a finding")
        return Finding(text_of(row["rule"]), row["severity"], text_of(row["message"]), text_of(row.get("advice", "")), text_of(row.get("page", "")),
                       plain(row.get("objects", [])), tuple(map(Stack.of, row.get("stacks", []))), tuple(map(Lane.of, row.get("lanes", []))),
                       tuple(map(Block.of, row.get("memory", []))), text_of(row["fingerprint"]), process)

    @property
    def count(self):
        return sum(self.counts.values())

    def stack(self, *roles):
        """The first stack with one of the roles, in the order of the roles."""
        return next((stack for role in roles for stack in self.stacks if stack.role == role), None)
