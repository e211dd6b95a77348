# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: every page is in its contents, links between pages are right, and it asks no other host. `./millpond test --long` builds it."""

import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(name="site", scope="module")
def site_fixture():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import site_pages
    finally:
        sys.path.pop(0)
    return site_pages


def pages(node):
    """The files of a nav."""
    if isinstance(node, str):
        return [node]
    return [page for part in (node.values() if isinstance(node, dict) else node) for page in pages(part)]


def test_every_page_is_in_the_contents_once(site):
    listed = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    assert sorted(listed) == sorted(place for place in site.sources().values() if place.endswith(".md"))


def test_links_of_all_pages_lead_to_pages_and_their_headings(site):
    places = site.sources()
    anchors = {place: site.anchors((ROOT / source).read_text()) for source, place in places.items() if place.endswith(".md")}
    for source, place in places.items():
        if not place.endswith(".md"):
            continue
        text = site.CODE.sub("", site.moved((ROOT / source).read_text(), source, places))
        for address in re.findall(r"(?<!!)\]\(([^)\s]+)\)", text):
            path, _, anchor = address.partition("#")
            if re.match(r"[a-z]+:", address) or not anchor:
                continue
            target = (Path(place).parent / path).as_posix() if path else place
            target = re.sub(r"(^|/)[^/.]+/\.\./", r"\1", target)
            assert anchor in anchors[target], f"{source}: no heading #{anchor} in {target}"


def test_a_link_that_leads_nowhere_ends_the_build(site):
    with pytest.raises(SystemExit, match="no file 'gone.md'"):
        site.moved("see [it](gone.md)", "docs/guide.md", site.sources())
    assert site.moved("see [it](../src/CMakeLists.txt), `[x](y)`", "docs/guide.md", site.sources()) == "see it, `[x](y)`"
    assert site.moved("[a](docs/rules.md#MP304)", "README.zh.md", site.sources()) == "[a](../rules.md#MP304)"


def test_the_site_asks_no_other_host():
    theme = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["theme"]
    assert theme["font"] is False
