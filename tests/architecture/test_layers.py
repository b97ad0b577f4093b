"""Layers that import-linter cannot check: views ask selectors and services, and use no manager of a model."""

import ast
from pathlib import Path

from django.conf import settings

from tests.each import each

MANAGERS = {"objects", "_default_manager", "_base_manager"}
APPS = ("accesslist", "alerting", "automation", "events", "integrations")
VIEWS = sorted(
    path
    for app in APPS
    for path in (settings.BASE_DIR / app).rglob("*.py")
    if "views" in {path.stem, path.parent.name}
)


def managers_in(text: str) -> list[int]:
    """The lines of a module that use a manager."""
    used = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute))
    return [node.lineno for node in used if node.attr in MANAGERS]


@each("path", VIEWS)
def test_views_do_not_query(path: Path) -> None:
    assert managers_in(path.read_text()) == []


def test_it_finds_a_query() -> None:
    assert managers_in("from m import Host\n\nrows = Host.objects.filter(id=1)\n") == [3]
    assert len(VIEWS) > 20
