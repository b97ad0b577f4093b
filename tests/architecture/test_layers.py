"""Layers that import-linter cannot check: views ask selectors and services, and do not query themselves."""

import ast
from pathlib import Path

from django.conf import settings

from tests.each import each

MANAGERS = {"objects", "_default_manager", "_base_manager"}
NARROWING = {
    "alias",
    "annotate",
    "distinct",
    "exclude",
    "exists",
    "filter",
    "none",
    "order_by",
    "prefetch_related",
    "select_related",
    "values",
    "values_list",
}
"""Methods that narrow or shape what a selector returned."""
APPS = ("accesslist", "alerting", "automation", "events", "integrations")
VIEWS = sorted(
    path
    for app in APPS
    for path in (settings.BASE_DIR / app).rglob("*.py")
    if "views" in {path.stem, path.parent.name}
)


def lines_with(names: set[str], text: str) -> list[int]:
    """The lines of a module that use an attribute with one of these names."""
    used = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute))
    return [node.lineno for node in used if node.attr in names]


def narrowing_in(text: str) -> list[int]:
    """The lines of a module that narrow what a selector returned. `first()` only reads it."""
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    methods = (node.func for node in calls if isinstance(node.func, ast.Attribute))
    return [method.lineno for method in methods if method.attr in NARROWING]


@each("path", VIEWS)
def test_views_do_not_query(path: Path) -> None:
    assert lines_with(MANAGERS, path.read_text()) == []


@each("path", VIEWS)
def test_views_do_not_narrow_what_selectors_return(path: Path) -> None:
    assert narrowing_in(path.read_text()) == []


def test_it_finds_a_query() -> None:
    assert lines_with(MANAGERS, "from m import Host\n\nrows = Host.objects.filter(id=1)\n") == [3]
    assert narrowing_in("rows = hosts_of(g)\none = rows.filter(id=1)\nrow = one.first()\n") == [2]
    assert narrowing_in("host = HostDocument.first(host_of(g, id))\n") == []
    assert len(VIEWS) > 10
