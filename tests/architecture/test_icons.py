"""The icon font contains the icons of `tools/icons.txt`, so every icon of a page is in this list."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import unfold

from alerting.incidents.alert_page import ENTRY_BADGES
from tests.processes.platform import ROOT

LISTED = frozenset((ROOT / "tools" / "icons.txt").read_text().split())
THEME = Path(unfold.__file__).parent
_PACKAGES = ("opsapi", "accesslist", "alerting", "automation", "events", "integrations")
_ELEMENT = re.compile(r"material-symbols-outlined[^>]*>([^<]*)<")
_ATTRIBUTE = re.compile(r"""\bicon[a-z_]*=["']([a-z0-9_]+)["']""")
_CONTENT = re.compile(r'content: ?"([a-z_]{2,})"')
_TAG = re.compile(r"{{.*?}}|{%.*?%}")
_TEXT_EDITOR = {"toolbar", "format_align_left", "format_align_right"}
"""Values in the style sheet of the theme, for elements that our pages do not have."""


def in_templates(directories: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """The icons that templates write; not the icons that are values of variables."""
    for directory in directories:
        for path in sorted(directory.rglob("*.html")):
            text = path.read_text()
            for name in [*" ".join(_TAG.sub(" ", each) for each in _ELEMENT.findall(text)).split()]:
                yield name, path
            for name in _ATTRIBUTE.findall(text):
                yield name, path


def in_code(source: str) -> Iterator[str]:
    """The texts that are the argument, attribute or dictionary value `icon`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.keyword(arg="icon", value=ast.Constant(value=str(name))):
                yield name
            case (
                ast.Assign(targets=[ast.Name(id="icon")], value=ast.Constant(value=str(name)))
                | ast.AnnAssign(target=ast.Name(id="icon"), value=ast.Constant(value=str(name)))
            ):
                yield name
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    match key, value:
                        case ast.Constant(value="icon"), ast.Constant(value=str(name)):
                            yield name


def test_it_finds_icons() -> None:
    lines = [
        'a = f(icon="one")',
        "class B:",
        '    icon: str = "two"',
        'c = {"icon": "three", "name": "no"}',
        'icon = "four"',
    ]
    assert sorted(in_code("\n".join(lines))) == ["four", "one", "three", "two"]


def test_icons_of_templates_are_in_the_font() -> None:
    used = list(in_templates([ROOT / "templates", THEME / "templates"]))
    assert len(used) > 50
    missing = [f"{path}: {name}" for name, path in used if name not in LISTED]
    assert not missing, "add to tools/icons.txt, then make fonts:\n" + "\n".join(missing)


def test_icons_of_code_are_in_the_font() -> None:
    files = [path for package in _PACKAGES for path in (ROOT / package).rglob("*.py")]
    used = [(name, path) for path in files for name in in_code(path.read_text())]
    used += [(name, ROOT / "alerting/incidents/presentation.py") for name, _ in ENTRY_BADGES.values()]
    assert len(used) > 50
    missing = [f"{path}: {name}" for name, path in used if name not in LISTED]
    assert not missing, "add to tools/icons.txt, then make fonts:\n" + "\n".join(missing)


def test_icons_of_style_sheets_are_in_the_font() -> None:
    ours = (ROOT / "opsapi" / "static").rglob("*.css")
    sheets = [*ours, THEME / "static" / "unfold" / "css" / "styles.css"]
    used = {name for sheet in sheets for name in _CONTENT.findall(sheet.read_text())}
    assert used
    assert used - _TEXT_EDITOR <= LISTED, "add to tools/icons.txt, then make fonts"


def test_the_list_is_sorted() -> None:
    listed = (ROOT / "tools" / "icons.txt").read_text().split()
    assert listed == sorted(set(listed))
