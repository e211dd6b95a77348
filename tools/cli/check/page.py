# SPDX-License-Identifier: Apache-2.0
"""--html and `run --report`: one page that needs nothing else. It reads without its script, which adds a filter and the chart's
tip: CI servers show pages with scripts forbidden. src/report/base.css is the look that it shares with the page of a plan."""

import json
from dataclasses import dataclass

from layout import HERE, data

from . import lanes, memory_map, model, places, rules, timeline
from .markup import Markup, e, joined, plural, sized

STYLES = (data("src/report/base.css"), HERE / "check" / "page.css")
SCRIPT = HERE / "check" / "page.js"
MAX_FINDINGS, MAX_FRAMES, MAX_LIVE, MAX_PROCESSES = 500, 64, 100, 200
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
KINDS = {"error": ("Errors", "the documents forbid it, or it corrupts memory"), "warning": ("Warnings", "it fails elsewhere, or was forgotten"),
         "advice": ("Advice", "it costs time, or has no effect")}


@dataclass(frozen=True)
class Heading:
    command: list
    outcome: object
    checked: bool


def render(run, heading):
    base = places.base_folder()
    series = [(process, timeline.series(process)) for process in run.processes if process.memory]
    charts, data = _charts(series)
    title = ("Check of " if heading.checked else "Report of ") + " ".join(heading.command)[:200]
    largest = _blocks("Largest blocks of the run", [(block, process) for process in run.processes for block in process.largest], base, counted=True)
    live = _blocks("Largest blocks that were live at the end", [(block, process) for process in run.processes for block in process.live], base)
    if live is None and series:
        live = e("section", e("h2", "Live at the end"), e("p", "Nothing: all memory was given back." if all(process.ended for process, _ in series)
                                                          else "Not known: a process left without a last line."))
    main = [_findings(run, heading, base), charts, largest, live, _processes(run)]
    head = e("head", e("meta", charset="utf-8"), e("meta", name="viewport", content="width=device-width, initial-scale=1"),
             e("meta", http_equiv="Content-Security-Policy", content=POLICY), e("title", title),
             e("style", Markup("\n".join(path.read_text(encoding="utf-8") for path in STYLES))))
    # "<" as \u003c: a name cannot end the script element.
    values = Markup(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"))
    body = e("body", _header(run, heading, series), e("main", *main), e("script", values, type="application/json", id="data"),
             e("script", Markup(SCRIPT.read_text(encoding="utf-8"))))
    return "<!doctype html>\n" + e("html", head, body, lang="en") + "\n"


def _header(run, heading, series):
    figures = []
    for severity, (title, note) in KINDS.items() if heading.checked or run.findings else ():
        count = run.count(severity)
        times = sum(finding.count for finding in run.findings if finding.severity == severity)
        figures.append(_figure(title, f"{count:,}", f"{plural(times, 'time')} in all" if times > count else note, severity if count else None))
    if series:
        figures.append(_figure("Peak memory", sized(max(timeline.peak_of(steps) for _, (_, steps, _) in series)), "of one process" if len(run.processes) > 1 else "of the device"))
    figures.append(_figure("Processes", f"{len(run.processes):,}", "that used the runtime"))
    if run.suppressed:
        figures.append(_figure("Suppressed", f"{sum(run.suppressed.values()):,}", "times"))
    version = next((f", runtime {process.version}" for process in run.processes if process.version), "")
    why = ", which stands for the errors here" if heading.outcome.status == model.FOUND and run.has_errors else ""
    return e("header", e("h1", " ".join(heading.command)), e("p", f"The program {heading.outcome.words}{why}{version}.", id="subtitle"),
             e("dl", *figures, id="figures"))


def _figure(name, value, note, severity=None):
    return e("div", e("dt", name), e("dd", value, e("small", note)), class_=severity)


def _findings(run, heading, base):
    if not heading.checked and not run.findings:
        return None
    shown = run.findings[:MAX_FINDINGS]
    tools = e("div", e("label", "Find ", e("input", type="search", id="search", placeholder="rule, function, file", autocomplete="off")),
              *(e("label", e("input", type="checkbox", checked=True, value=severity, class_="kind"), f" {KINDS[severity][0].lower()}")
                for severity in model.SEVERITIES if run.count(severity)),
              e("span", e("button", "Unfold all", type="button", id="unfold"), e("button", "Fold all", type="button", id="fold"), class_="buttons"),
              e("span", id="shown", role="status"), class_="tools", id="tools", hidden=True)
    table = rules.by_id()
    parts = [_finding(finding, number, table.get(finding.rule), base) for number, finding in enumerate(shown, 1)]
    notes = [f"{len(run.findings) - MAX_FINDINGS:,} more are in the file of --json."] if len(run.findings) > MAX_FINDINGS else []
    if not run.findings:
        parts = [e("p", "Nothing was found." if run.processes else "No process used the runtime: nothing was checked.")]
    return e("section", e("h2", "Findings"), tools if len(run.findings) > 1 else None, *parts, *(e("p", note, class_="hint") for note in notes))


def _finding(finding, number, rule, base):
    (_, frame), _ = places.of(finding, base)
    where = f"{frame.function + ', ' if frame.function else ''}{places.short(frame)}" if frame else ""
    processes = f" in {plural(len(finding.processes), 'process', 'processes')}" if len(finding.processes) > 1 else ""
    summary = e("summary", e("span", finding.severity, class_=f"badge {finding.severity}"),
                e("h3", e("b", f"{finding.rule} {rule.name if rule else ''}"), f" {where}"),
                e("span", f"{plural(finding.count, 'time')}{processes}", class_="quiet") if finding.count > 1 else None,
                e("span", finding.message, class_="message"))
    words = e("dl", e("dt", "Rule"), e("dd", rule.rule, e("small", f" {rule.source}")) if rule else e("dd", f'page "{finding.page}"'),
              e("dt", "What to do"), e("dd", finding.advice or (rule.do if rule else "")), class_="words")
    drawn = None
    if finding.lanes:
        drawn = e("figure", e("figcaption", "From left to right in the order of calls. What stands on one line runs in that order, and so does what a solid arrow joins; all else may run in any order."),
                  e("div", lanes.draw(finding.lanes, number), class_="scroll", tabindex="0", role="region", aria_label="Lanes of streams and host"))
    stacks = e("div", *(_stack(stack, stack.role == "later" and number == 1, base) for stack in finding.stacks), class_="stacks")
    return e("details", summary, e("div", words, drawn, memory_map.draw(finding.memory, finding.objects),
                                   stacks, _objects(finding), class_="body"),
             class_=f"finding {finding.severity}", id=f"finding-{number}", open=number == 1, data_kind=finding.severity)


def _stack(stack, is_open, base):
    frame = places.users_frame(stack, base) or next(iter(stack.frames), None)
    where = (places.short(frame) if frame.file else frame.place) if frame else ""
    thread = f" · thread {stack.thread}" if stack.thread not in ("", "0") else ""
    summary = e("summary", e("b", stack.title), f" {frame.function} " if frame and frame.function else " ", e("span", where + thread, class_="quiet"))
    return e("details", summary, _frames(stack.frames), class_=f"stack {stack.role if stack.role in ('earlier', 'later') else ''}".strip(), open=is_open)


def _frames(frames):
    if not frames:
        return e("p", "No frames were kept.", class_="quiet")
    rows = [e("li", e("code", frame.function or "?"), " ", e("span", frame.place, class_="quiet")) for frame in frames[:MAX_FRAMES]]
    if len(frames) > MAX_FRAMES:
        rows.append(e("li", f"and {len(frames) - MAX_FRAMES} more"))
    return e("ol", *rows, class_="frames")


def _objects(finding):
    rows = []
    for each in finding.objects:
        rest = ", ".join(f"{key} {value}" for key, value in each.items() if key not in ("kind", "name"))
        rows += [e("dt", f"{each.get('kind', '')} "), e("dd", e("b", each.get("name", "")), f" {rest}")]
    rows += [e("dt", "process"), e("dd", joined((f"{process.pid}" + (f" (rank {process.rank})" if process.rank is not None else "")
                                                 for process in finding.processes[:20]), ", "))]
    rows += [e("dt", "fingerprint"), e("dd", e("code", f"{finding.rule} fingerprint={finding.fingerprint}"))]
    return e("details", e("summary", "Objects, process, fingerprint"), e("dl", *rows, class_="words"))


def _charts(series):
    drawn, data = [], []
    for number, (process, each) in enumerate(series):
        figure, values = timeline.draw(process, each, number)
        drawn.append(figure)
        data.append(values)
    if not drawn:
        return None, data
    rest = e("details", e("summary", f"{plural(len(drawn) - 1, 'more process', 'more processes')}"), *drawn[1:]) if len(drawn) > 1 else None
    return e("section", e("h2", "Device memory over time"), drawn[0], rest), data


def _blocks(title, pairs, base, counted=False):
    """A table of (block, process), the largest first; each place unfolds to its stack."""
    blocks = sorted(pairs, key=lambda pair: -pair[0].bytes)
    if not blocks:
        return None
    titles = ("size", *(("times",) if counted else ()), "owner", "device", "process", "allocated at")
    rows = []
    for block, process in blocks[:MAX_LIVE]:
        first = places.users_frame(block, base) or next(iter(block.frames), None)
        where = e("details", e("summary", f"{first.function or '?'} ", e("span", places.short(first) if first.file else first.place, class_="quiet")),
                  _frames(block.frames)) if first else "unknown"
        rows.append(e("tr", e("td", e("span", sized(block.bytes), title=f"{block.bytes:,} bytes"), class_="number"),
                      e("td", f"{block.count:,}", class_="number") if counted else None, e("td", block.owner, class_="name"),
                      e("td", "host" if block.device < 0 else block.device, class_="number"), e("td", process.name.removeprefix("process "), class_="together"),
                      e("td", where, class_="name")))
    head = e("tr", *(e("th", name, scope="col", class_="number" if name in ("size", "times", "device") else None) for name in titles))
    return e("section", e("h2", title), e("div", e("table", e("thead", head), e("tbody", *rows)), class_="scroll"),
             e("p", f"{len(blocks) - MAX_LIVE:,} more.", class_="hint") if len(blocks) > MAX_LIVE else None)


def _processes(run):
    rows = [e("tr", e("td", process.pid, class_="number"), e("td", "" if process.rank is None else process.rank, class_="number"),
              e("td", " ".join([process.program, *process.arguments]), class_="name"),
              e("td", "told its end" if process.ended else "killed, left by _exit, or still runs"))
            for process in run.processes[:MAX_PROCESSES]]
    if not rows:
        return None
    head = e("tr", *(e("th", title, scope="col", class_="number" if title in ("pid", "rank") else None) for title in ("pid", "rank", "program", "how it ended")))
    return e("section", e("h2", "Processes"), e("div", e("table", e("thead", head), e("tbody", *rows)), class_="scroll"),
             e("ul", *(e("li", note) for note in run.notes()), class_="notes") if run.notes() else None)
