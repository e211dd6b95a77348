#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site, searchable, into build/site: MkDocs with the Material theme, from pages of the tree.

    python3 tools/site_pages.py                # installs requirements-docs.txt into build/docs-venv the first time
    python3 tools/site_pages.py --with PYTHON  # uses a Python that has them

The pages are the files of docs/ and the README as they are: what only a reader of the repository has (sources, folders) becomes plain text, and a link
that leads nowhere ends the build. The site asks no other host for anything.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PAGES = BUILD / "site-pages"
SITE = BUILD / "site"
VENV = BUILD / "docs-venv"
REQUIREMENTS = ROOT / "requirements-docs.txt"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
# Pages that do not lie in docs/, by the name that they have on the site.
OTHERS = {"bench/README.md": "benchmarks.md", "README.md": "index.md", "README.zh.md": "zh/index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md",
          "THIRD_PARTY.md": "third_party.md", "examples/torch/README.md": "examples_torch.md", "examples/torchair/README.md": "examples_torchair.md"}
CODE = re.compile(r"(^```[\s\S]*?^```$|(?<=\n\n)(?: {4}.*\n)+|`[^`\n]*`)", re.M)


def sources():
    """{file of the tree: its name on the site}."""
    found = {path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*")) if path.is_file()}
    return {**found, **OTHERS}


def relative(target, page):
    up = len(Path(page).parent.parts)
    return "../" * up + target


def moved(text, source, places):
    """The page with its links as the site has them."""
    here = (ROOT / source).parent

    def link(found):
        image, label, address = found.groups()
        path, _, anchor = address.partition("#")
        if re.match(r"[a-z]+:", address) or not path:
            return found[0]
        inner = os.path.relpath((here / path).resolve(), ROOT)
        if inner in places:
            return f"{image}[{label}]({relative(places[inner], places[source])}{'#' + anchor if anchor else ''})"
        if (ROOT / inner).exists() and not inner.startswith(".."):
            return label
        raise SystemExit(f"{source}: no file '{path}' where a link leads")

    parts = CODE.split(text)
    return "".join(part if number % 2 else LINK.sub(link, part) for number, part in enumerate(parts))


def anchors(text):
    """What a link to this page may name: its headings and its own marks."""
    marks = set(re.findall(r'<a id="([^"]+)">', text))
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M):
        marks.add(re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.replace("`", "").lower()).strip()))
    return marks


def write_pages():
    shutil.rmtree(PAGES, ignore_errors=True)
    places = sources()
    for source, place in places.items():
        target = PAGES / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            target.write_text(moved((ROOT / source).read_text(), source, places))
        else:
            shutil.copyfile(ROOT / source, target)
    return places


def python():
    copy = VENV / REQUIREMENTS.name
    if not copy.exists() or copy.read_text() != REQUIREMENTS.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([VENV / "bin" / "python", "-m", "pip", "-q", "--disable-pip-version-check", "install", "-r", REQUIREMENTS], check=True)
        copy.write_text(REQUIREMENTS.read_text())
    return VENV / "bin" / "python"


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--with", dest="python", metavar="PYTHON", help="a Python with what requirements-docs.txt lists")
    arguments = parser.parse_args(argv)
    count = len(write_pages())
    # Not --quiet: what is not said is not counted, and --strict ends with what is counted.
    done = subprocess.run([arguments.python or python(), "-m", "mkdocs", "build", "--strict", "--config-file", ROOT / "mkdocs.yml"], check=False,
                          env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    status = done.returncode
    if status != 0:
        print(done.stdout, file=sys.stderr)
    else:
        print(f"{count} pages and pictures: {SITE.relative_to(ROOT)}/index.html")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
