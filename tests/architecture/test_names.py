"""Names in code are words of the field: `words.toml` lists the old words. Each class name means one thing."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.documents import ROOT, name_of

RULES = tomllib.loads(Path(__file__).with_name("words.toml").read_text())["names"]
INSTEAD = {old: rule["new"] for rule in RULES["instead"] for old in rule["old"]}
"""Old words, joined by `_` → what to write instead."""
PACKAGES = ("accesslist", "alerting", "automation", "events", "integrations", "opsapi", "tools")
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
