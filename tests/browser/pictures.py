"""`python -m tests.browser.pictures`: draws the diagrams of the documents, with mermaid in Chromium."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page

from opsapi.documents.rendering import DIAGRAM, picture_name
from tests.browser.chromium import chromium
from tests.documents import ROOT, documents
from tests.processes.downloads import download_npm, kept

DIRECTORY = ROOT / "docs" / "pictures"
_MERMAID = ("mermaid@12.3.0", "be0684e8d20bfc874df12c0f04927a5c482f57f2200eec54cca52a4583fd4040")
_SCRIPT = "package/dist/mermaid.min.js"
_SETTINGS = """() => mermaid.initialize({
  startOnLoad: false, securityLevel: "strict", look: "classic", theme: "neutral", htmlLabels: false,
  flowchart: {htmlLabels: false, useMaxWidth: false}, state: {useMaxWidth: false},
  fontFamily: "system-ui, sans-serif",
})"""
# The site's policy allows no styles, so each element gets attributes. The panel is readable on a dark page.
_DRAW = """async diagram => {
  const inherited = ["fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity", "visibility",
    "font-family", "font-size", "font-weight", "text-anchor"]
  const initial = {"opacity": "1", "dominant-baseline": "auto"}
  document.body.innerHTML = (await mermaid.render("picture", diagram)).svg
  const picture = document.querySelector("svg")
  const drawn = [...picture.querySelectorAll("*")].filter(element => element.localName !== "style")
  const styles = drawn.map(element => {
    const own = getComputedStyle(element), outer = getComputedStyle(element.parentElement)
    const differs = name => own[name] !== (name in initial ? initial[name] : outer[name])
    return [...inherited, ...Object.keys(initial)].filter(differs).map(name => [name, own[name]])
  })
  drawn.forEach((element, number) => {
    for (const {name} of [...element.attributes])
      if (name === "style" || name === "class" || name.startsWith("data-")) element.removeAttribute(name)
    styles[number].forEach(([name, value]) => element.setAttribute(name, value))
  })
  picture.querySelectorAll("style, filter").forEach(element => element.remove())
  const [x, y, width, height] = picture.getAttribute("viewBox").split(" ").map(Number)
  const panel = document.createElementNS("http://www.w3.org/2000/svg", "rect")
  const place = {x: x - 16, y: y - 16, width: width + 32, height: height + 32, rx: 12, fill: "#f4f7fa"}
  Object.entries(place).forEach(([name, value]) => panel.setAttribute(name, value))
  picture.prepend(panel)
  picture.setAttribute("viewBox", [place.x, place.y, place.width, place.height].join(" "))
  picture.setAttribute("width", place.width)
  picture.setAttribute("height", place.height)
  for (const name of ["class", "style"]) picture.removeAttribute(name)
  return new XMLSerializer().serializeToString(picture)
}"""


def diagrams() -> dict[str, str]:
    """Every diagram of the documents, by the name of its picture."""
    found = (diagram for path in documents() for diagram in DIAGRAM.findall(path.read_text()))
    return {picture_name(diagram): diagram for diagram in found}


def pictures() -> set[str]:
    """The names of the pictures that are there."""
    return {path.name for path in DIRECTORY.glob("diagram-*.svg")}


def main() -> None:
    """Draw missing pictures, and delete pictures without a diagram."""
    wanted, there = diagrams(), pictures()
    for name in there - wanted.keys():
        (DIRECTORY / name).unlink()
    with chromium() as browser:
        page = browser.new_page()
        page.set_content("<!doctype html>")
        page.add_script_tag(path=_script())
        page.evaluate(_SETTINGS)
        for name in sorted(wanted.keys() - there):
            (DIRECTORY / name).write_text(_drawn(page, wanted[name]))
            print(f"docs/pictures/{name}")  # noqa: T201 - this is a program


def _drawn(page: Page, diagram: str) -> str:
    picture: str = page.evaluate(_DRAW, diagram)
    return re.sub(r"-?\d+\.\d+(?=[^\w.]|px)", _short, picture) + "\n"


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _script() -> Path:
    package, checksum = _MERMAID
    archive = kept("mermaid.tgz", lambda directory: download_npm(directory, package, checksum))
    return kept(f"mermaid-{checksum[:12]}.js", lambda directory: next(_unpacked(archive, directory)))


def _unpacked(archive: Path, directory: Path) -> Iterator[Path]:
    subprocess.run(["tar", "-xzf", archive, "-C", directory, "--no-same-owner", _SCRIPT], check=True)
    yield directory / _SCRIPT


if __name__ == "__main__":
    main()
