"""Names in code are words of the field: `words.toml` lists the old words. Each class name means one thing."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.documents import ROOT, name_of
from tests.each import each

RULES = tomllib.loads(Path(__file__).with_name("words.toml").read_text())["names"]
INSTEAD = {old: rule["new"] for rule in RULES["instead"] for old in rule["old"]}
"""Old words, joined by `_` → what to write instead."""
PACKAGES = ("accesslist", "alerting", "automation", "events", "integrations", "opsapi", "tools")
NOT_YET = ("automation/measurements", "integrations/channels/pagerduty.py", "tools")
"""Directories and files of the product whose variables still have names of `names.locals`."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TAG = re.compile(r"{%(.*?)%}")
_LOOP = re.compile(r" *for (.*?) in ")
_NAME = re.compile(r"\w+")
_ARGUMENT = re.compile(r"\b(\w+)=")
_DEFINING = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.arg, ast.Name, ast.Attribute)
_NESTED = frozenset({"Command", "Media", "Meta"})
"""Names that Django gives to classes."""


class DefinedName(NamedTuple):
    """A name that a module has or defines."""

    path: Path
    line: int
    name: str
    is_class: bool = False


@cache
def defined() -> list[DefinedName]:
    """The names in the product and its tests; migrations keep the names of their time."""
    paths = sorted(path for package in (*PACKAGES, "tests") for path in (ROOT / package).rglob("*.py"))
    return [found for path in paths if "migrations" not in path.parts for found in names(path)]


def names(path: Path) -> Iterator[DefinedName]:
    """The name of a module, and every name that it defines."""
    yield DefinedName(path, 1, path.stem)
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, _DEFINING):
            continue
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield DefinedName(path, node.lineno, node.name, isinstance(node, ast.ClassDef))
            case ast.arg():
                yield DefinedName(path, node.lineno, node.arg)
            case ast.Name(ctx=ast.Store()):
                yield DefinedName(path, node.lineno, node.id)
            case ast.Attribute(ctx=ast.Store()):
                yield DefinedName(path, node.lineno, node.attr)


def local_names(text: str) -> Iterator[tuple[int, str]]:
    """The line and the name of each variable and parameter of a module; members of classes are neither."""
    tree = ast.parse(text)
    owners = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    members = {target for owner in owners for statement in owner.body for target in targets_of(statement)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if node not in members:
                yield node.lineno, name
            case (
                ast.arg(arg=name)
                | ast.alias(asname=str(name))
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchMapping(rest=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield node.lineno, name


def targets_of(statement: ast.stmt) -> list[ast.expr]:
    """The targets of an assignment; of another statement, none."""
    match statement:
        case ast.Assign(targets=targets):
            return targets
        case ast.AnnAssign(target=target):
            return [target]
    return []


def vague_locals(places: Iterable[str], *, without: Collection[str] = ()) -> list[str]:
    """Where the modules in these places have variables whose names say nothing."""
    refused, instead = RULES["locals"]["old"], RULES["locals"]["new"]
    roots = [ROOT / place for place in places]
    paths = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*.py")))]
    left_out = [ROOT / place for place in without]
    return [
        f"{name_of(path)}:{line}: {name!r} → {instead}"
        for path in paths
        if "migrations" not in path.parts and not any(path.is_relative_to(place) for place in left_out)
        for line, name in local_names(path.read_text())
        if name in refused
    ]


def template_variables(text: str) -> Iterator[str]:
    """The variables that the tags of a template define: of loops, and in `name=value`."""
    for tag in _TAG.findall(text):
        loop = _LOOP.match(tag)
        yield from _NAME.findall(loop[1]) if loop else _ARGUMENT.findall(tag)


@cache
def old_words(name: str) -> list[str]:
    """The old words in a name of any case."""
    if name in RULES["keep"]:
        return []
    words = f"_{'_'.join(word.lower() for word in _WORD.findall(name))}_"
    return [old for old in INSTEAD if f"_{old}_" in words]


@pytest.mark.slow
def test_names_of_modules_classes_functions_and_variables_have_no_old_word() -> None:
    found = [
        f"{name_of(path)}:{line}: {name!r}: {old!r} → {INSTEAD[old]}"
        for path, line, name, _ in defined()
        for old in old_words(name)
    ]
    assert found == []


@pytest.mark.slow
def test_variables_have_names_of_their_own() -> None:
    refused, instead = RULES["variables"]["old"], RULES["variables"]["new"]
    found = [
        f"{name_of(path)}:{line}: {name!r} → {instead}"
        for path, line, name, _ in defined()
        if name.strip("_") in refused
    ]
    assert found == []


@pytest.mark.slow
def test_variables_of_the_product_say_what_they_hold() -> None:
    assert vague_locals(PACKAGES, without=NOT_YET) == []


@pytest.mark.slow
@each("place", NOT_YET)
def test_a_place_that_is_not_done_yet_has_such_variables(place: str) -> None:
    assert vague_locals([place])


def test_variables_of_templates_have_names_of_their_own() -> None:
    refused, instead = RULES["variables"]["old"], RULES["variables"]["new"]
    found = [
        f"{name_of(path)}: {name!r} → {instead}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for name in template_variables(path.read_text())
        if name in refused
    ]
    assert found == []


@pytest.mark.slow
def test_each_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path, line, name, is_class in defined():
        if is_class and name not in _NESTED and not name.startswith("Test"):
            places[name].append(f"{name_of(path)}:{line}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_it_finds_old_words_in_names_of_any_case() -> None:
    old = next(iter(INSTEAD))
    camel = "".join(word.title() for word in old.split("_"))
    assert old_words(f"a_{old}_b") == old_words(f"{camel}Row") == old_words(f"_{old.upper()}") == [old]
    assert old_words(f"x{old}") == []


def test_it_finds_the_variables_of_a_template() -> None:
    text = (
        "{% for one, other in rows %}{{ whom }}{% with those=rows.first %}{% include 'a.html' with row=one %}"
    )
    assert list(template_variables(text)) == ["one", "other", "those", "row"]


@each(
    "text",
    [
        "found = 1",
        "found: int = 1",
        "found += 1",
        "(row, [*found]) = rows",
        "def read(found): ...",
        "def read(*, found=None): ...",
        "def read(*found): ...",
        "def read(**found): ...",
        "read = lambda found: 1",
        "class Row:\n    def read(self):\n        found = 1",
        "rows = [1 for found in hosts]",
        "for found in hosts: ...",
        "async def read():\n    async for found in hosts: ...",
        "if found := read(): ...",
        "with read() as found: ...",
        "try: ...\nexcept OSError as found: ...",
        "match row:\n    case [*found]: ...",
        "match row:\n    case {'id': 1, **found}: ...",
        "match row:\n    case int() as found: ...",
        "import rows as found",
        "from rows import first as found",
    ],
)
def test_it_finds_a_variable_wherever_it_is_bound(text: str) -> None:
    assert "found" in [name for _, name in local_names(text)]


def test_members_of_classes_are_no_variables() -> None:
    text = (
        "class Row:\n    found = 1\n    shown: int = 2\n    def each(self): ...\n"
        "row.found = 1\nread(found=1)\nrow.shown.each()\n"
    )
    assert not {"found", "shown", "each"} & {name for _, name in local_names(text)}
