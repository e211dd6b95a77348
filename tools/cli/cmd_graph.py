# SPDX-License-Identifier: Apache-2.0
"""`graph`: compiles a model and shows where its memory goes; --html writes the page that MILLPOND_GRAPH_REPORT requests.

atc does the compiling, so what is shown is what a program gets. The figures are read from the page.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

import ensure
import environment
import files
import ui
from arguments import Parser
from layout import ASCEND, DEFAULT_SOC

# By how a file's name ends: atc's words for it.
FRAMEWORKS = {".onnx": "5", ".air": "1", ".pb": "1"}
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def graph_parser():
    parser = Parser("graph", description="Compiles a model (.onnx, .air or .om) and shows where its memory goes: steps, "
        "fused nodes, weights, and feature memory as it was planned.")
    parser.add_argument("model", metavar="MODEL", type=Path)
    parser.add_argument("--html", metavar="FILE", type=Path,
                        help="write a page that shows buffers over time, fused nodes and sizes (docs/plan.md)")
    parser.add_argument("--input-shape", metavar="SHAPES",
                        help='shapes of inputs that have none: "x:1,3,224,224;mask:1,128"')
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead")
    return parser


def graph(argv):
    parser = graph_parser()
    arguments = parser.parse_args(argv)
    if arguments.model.suffix not in (*FRAMEWORKS, ".om"):
        parser.error(f"'{arguments.model}': known are files that end in .onnx, .air, .pb or .om")
    if not arguments.model.is_file():
        parser.error(f"'{arguments.model}' is not there")
    if arguments.html and not arguments.html.absolute().parent.is_dir():
        parser.error(f"cannot write '{arguments.html}': there is no folder '{arguments.html.absolute().parent}'; create it first")
    ensure.ready()
    page = compiled_page(ASCEND, environment.for_program(argparse.Namespace()), arguments.model, arguments.input_shape)
    if arguments.html:
        files.write_whole(arguments.html, page)
    found = figures(page)
    print(json.dumps(found) if arguments.json else words(found, arguments.html))
    return 0


def compiled_page(ascend, variables, model, shapes):
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        command = [str(ascend / "bin" / "atc"), f"--soc_version={DEFAULT_SOC}"]
        if model.suffix == ".om":
            if shapes:
                raise ui.Stop("--input-shape: an .om has the shapes it was built with; give the model it was built from", code=2)
            command += ["--mode=6", f"--om={model}"]
        else:
            command += [f"--framework={FRAMEWORKS[model.suffix]}", f"--model={model}", f"--output={folder}/{model.stem}"]
            command += [f"--input_shape={shapes}"] if shapes else []
        done = subprocess.run(command, env={**variables, "MILLPOND_GRAPH_REPORT": str(page)}, capture_output=True, text=True,
                              errors="replace", check=False)
        if done.returncode != 0 or not page.is_file():
            raise ui.Stop(f"{model} cannot be compiled:\n{done.stderr.strip() or done.stdout.strip()}")
        return page.read_text(encoding="utf-8", errors="replace")


def figures(page):
    data = json.loads(DATA.search(page)[1])
    fused = [len(step[3]) for step in data["steps"] if len(step) > 3 and len(step[3]) > 1]
    homes = {home["name"]: home["bytes"] for home in data["homes"]}
    return {"graph": data["title"], "steps": len(data["steps"]), "fused_steps": len(fused), "fused_from": sum(fused),
            "bytes": homes, "planned": data["planned"], "peak": data["peak"], "bound": data["bound"],
            "optimal": data["optimal"]}


def words(found, html):
    sizes = found["bytes"]
    weights = sizes["packed weights"] + sizes["other weights and constants"]
    lines = [f"graph    {found['graph']}",
             f"steps    {found['steps']}, {found['fused_steps']} of them fused from {found['fused_from']} nodes",
             f"weights  {weights} ({_sized(weights)}), {_sized(sizes['packed weights'])} of them packed"]
    if found["planned"]:
        ratio = found["peak"] / found["bound"] if found["bound"] else 1
        optimal = " (optimal: no plan has a smaller peak)" if found["optimal"] else ""
        lines += [f"peak     {found['peak']} ({_sized(found['peak'])}) of feature memory",
                  f"bound    {found['bound']} ({_sized(found['bound'])})", f"ratio    {ratio:.4f}{optimal}"]
    else:
        lines.append("peak     not planned: some shapes are known only when it runs; --input-shape may give them")
    lines += [f"{name:8} {sizes[name]} ({_sized(sizes[name])})" for name in ("inputs", "outputs", "variables") if sizes[name]]
    return "\n".join([*lines, *([f"page     {html}"] if html else [])])


def _sized(count):
    if count < 1024:
        return f"{count} B"
    for unit in ("KiB", "MiB"):
        count /= 1024
        if count < 1024:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} GiB"
