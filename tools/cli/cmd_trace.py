# SPDX-License-Identifier: Apache-2.0
"""`trace merge`: the traces of several ranks in one file, with arrows between the ranks of each operation."""

import json
import sys
from collections import defaultdict
from pathlib import Path

import files
from arguments import Parser, one_of

# Of ChromeTrace: the process number of the host's lanes; device d is process d.
HOST = 1000000
# How many process numbers one file's lanes get in the merged one: devices, then the host.
STRIDE = 1000


def trace_parser():
    parser = Parser("trace", usage="merge FILE... [-o FILE]", description="Merges the traces of several ranks (run --trace FILE%%p, one file for each process) "
                    "into one file for Perfetto (https://ui.perfetto.dev): the ranks' lanes below each other on one clock, and arrows between "
                    "ranks. Of a collective they go from the rank that came last to the others; with a root, from or to that; of a message from "
                    "sender to receiver.")
    parser.add_argument("action", type=one_of(("merge",), "action"), metavar="merge", help="the one thing it does so far")
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="traces that `run --trace` or MILLPOND_TRACE wrote")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, default=Path("merged.json"), help="the merged trace (default merged.json)")
    return parser


class Trouble(Exception):
    pass


class Lane:
    """A slice of an operation between ranks, where it is in the merged file."""

    def __init__(self, event):
        self.pid, self.tid = event["pid"], event["tid"]
        self.begin, self.end = event["ts"], event["ts"] + event["dur"]
        self.args = event["args"]
        self.rank = event["args"]["rank"]


def parsed(text):
    """The events, or None when this is not all of a trace."""
    try:
        events = json.loads(text)["traceEvents"]
    except (ValueError, KeyError, TypeError):
        return None
    return events if isinstance(events, list) else None


def load(path):
    try:
        text = path.read_text()
    except OSError as error:
        raise Trouble(f"cannot read '{path}': {error.strerror}") from None
    # A process that was killed has written neither the end of the file nor, perhaps, its last line.
    for candidate in (text, text.rstrip().rstrip(",") + "]}", text[:text.rfind(",\n")] + "]}"):
        events = parsed(candidate)
        if events is not None:
            return events
    raise Trouble(f"'{path}' is not a trace that Millpond wrote")


def origin(path, events):
    for event in events:
        if event.get("name") == "millpond_origin":
            return event["args"]
    raise Trouble(f"'{path}' does not say when it begins: it was written by an older version, or is no trace of Millpond's")


def shifts(origins):
    """By how much each file's times move: processes of one boot have a clock in common, those of other hosts the time of day."""
    one_boot = len({(each["host"], each["boot"]) for each in origins}) == 1 or len({each["boot"] for each in origins}) == 1
    clock = "origin_us" if one_boot else "day_us"
    first = min(each[clock] for each in origins)
    return [each[clock] - first for each in origins]


def title(where, events):
    ranks = sorted({event["args"]["rank"] for event in events if event.get("ph") == "X" and "communicator" in event.get("args", {})
                    and event["args"]["ranks"] == max_ranks(events)})
    name = "rank " + ", ".join(map(str, ranks)) if ranks else "no rank"
    return f"{name} (process {where['process']} on {where['host']})", ranks[0] if ranks else 1 << 20


def max_ranks(events):
    return max((event["args"]["ranks"] for event in events if event.get("ph") == "X" and "communicator" in event.get("args", {})), default=0)


def moved(events, index, shift, name, order):
    """The file's events with process numbers, arrows and times of its own."""
    base = (index + 1) * STRIDE
    for original in events:
        if original.get("name") in ("millpond_origin", "process_sort_index"):
            continue
        event = dict(original)
        event["pid"] = base + (STRIDE - 1 if event["pid"] == HOST else event["pid"])
        if "ts" in event:
            event["ts"] += shift
        if event.get("ph") in ("s", "f"):
            event["id"] = f"{index}.{event['id']}"
        if event.get("name") == "process_name":
            event["args"] = {"name": f"{name}: {event['args']['name']}"}
        yield event
    for pid in sorted({event["pid"] for event in events}):
        place = STRIDE - 1 if pid == HOST else pid
        yield {"ph": "M", "pid": base + place, "name": "process_sort_index", "args": {"sort_index": order * STRIDE + place}}


class Arrows:
    """Between the slices of one operation on several ranks."""

    def __init__(self):
        self.collectives = defaultdict(list)  # by communicator and sequence
        self.sends, self.receives = {}, {}    # by communicator, sender, receiver and number

    def add(self, event):
        args = event.get("args", {})
        if event.get("ph") != "X" or "communicator" not in args:
            return
        lane = Lane(event)
        if "sequence" in args:
            self.collectives[(args["communicator"], args["sequence"])].append(lane)
        for message in args.get("messages", ()):
            if "to" in message:
                self.sends[(args["communicator"], lane.rank, message["to"], message["number"])] = lane
            else:
                self.receives[(args["communicator"], message["from"], lane.rank, message["number"])] = lane

    def pairs(self):
        for (communicator, sequence), lanes in sorted(self.collectives.items()):
            name = f"{lanes[0].args['operation']} {sequence} of {communicator}"
            root = lanes[0].args.get("root")
            roots = [lane for lane in lanes if lane.rank == root]
            middle = roots[0] if roots else max(lanes, key=lambda lane: lane.begin)
            for lane in lanes:
                if lane is middle:
                    continue
                yield (name, lane, middle) if lane.args["operation"].endswith("Reduce") and root is not None else (name, middle, lane)
        for key, sender in sorted(self.sends.items()):
            if key in self.receives:
                communicator, source, to, number = key
                yield f"message {number} from rank {source} to rank {to} of {communicator}", sender, self.receives[key]

    def events(self):
        for number, (name, source, to) in enumerate(self.pairs()):
            shared = {"id": f"ranks.{number}", "cat": "ranks", "name": name}
            # An arrow's end belongs to the slice around its time: just inside.
            yield {"ph": "s", "pid": source.pid, "tid": source.tid, "ts": source.begin, **shared}
            yield {"ph": "f", "bp": "e", "pid": to.pid, "tid": to.tid, "ts": max(to.begin, to.end - 0.001), **shared}


def merge(paths, output):
    loaded = [load(path) for path in paths]
    origins = [origin(path, events) for path, events in zip(paths, loaded)]
    titles = [title(where, events) for where, events in zip(origins, loaded)]
    arrows, count = Arrows(), 0
    merged = []
    for index, (events, shift, (name, rank)) in enumerate(zip(loaded, shifts(origins), titles)):
        for event in moved(events, index, shift, name, rank):
            arrows.add(event)
            merged.append(event)
    for event in arrows.events():
        count += event["ph"] == "s"
        merged.append(event)
    try:
        files.write_whole(output, json.dumps({"displayTimeUnit": "ns", "traceEvents": merged}))
    except OSError as error:
        raise Trouble(f"cannot write '{output}': {error.strerror}") from None
    return len(arrows.collectives), count


def trace(argv):
    arguments = trace_parser().parse_args(argv)
    try:
        operations, count = merge(arguments.files, arguments.output)
    except Trouble as trouble:
        print(f"millpond: {trouble}", file=sys.stderr)
        return 2
    print(f"{arguments.output}: {len(arguments.files)} files, {operations} collectives, {count} arrows between ranks; open it in https://ui.perfetto.dev")
    return 0
