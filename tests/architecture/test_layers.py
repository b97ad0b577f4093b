"""Layers that import-linter cannot check: views ask selectors and services, and use no manager of a model."""

import ast
from pathlib import Path

from django.conf import settings

from tests.each import each

QUERIES = {"filter", "exclude", "order_by", "annotate", "alias", "select_related"}
MANAGERS = {"objects", "_default_manager", "_base_manager"}
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


@each("path", VIEWS)
def test_views_do_not_query(path: Path) -> None:
    assert lines_with(MANAGERS, path.read_text()) == []


@each("path", [path for path in VIEWS if path.is_relative_to(settings.BASE_DIR / "automation")])
def test_views_of_the_fleet_do_not_filter_what_selectors_return(path: Path) -> None:
    assert lines_with(QUERIES, path.read_text()) == []


def test_it_finds_a_query() -> None:
    assert lines_with(MANAGERS, "from m import Host\n\nrows = Host.objects.filter(id=1)\n") == [3]
    assert len(VIEWS) > 20
