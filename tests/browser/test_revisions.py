"""Two versions of an automation document: next to each other, and on a phone one after the other."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from accesslist.models import Project
from opsapi.console.admin_urls import page_url
from tests.browser.accessibility import is_for_everybody
from tests.browser.viewports import DARK, LIGHT, PHONE, Viewport
from tests.factories.automation import publish
from tests.hostile.budget import LONG

pytestmark = pytest.mark.chromium

PHONE_IN_DARK = Viewport("dark phone", "dark", PHONE.width, PHONE.height, has_touch=True)
# Two lines that follow each other change.
OLD = {"a": 1, "b": 1, "kept": True}
NEW = {"a": 2, "b": 2, "kept": True}


_LOOKS = """(cells) => cells.map((cell) => [
    getComputedStyle(cell, "::before").content, getComputedStyle(cell).backgroundColor])"""


def _open(console: Page, project: Project) -> Locator:
    publish(project, 0, auth=OLD)
    console.goto(page_url(publish(project, 1, auth=NEW)))
    return console.locator(".revision-side-by-side")


def _line(table: Locator, text: str) -> Any:
    return table.locator("pre:visible").filter(has_text=text).bounding_box()


@pytest.mark.parametrize("look", [LIGHT, DARK] if LONG else [LIGHT], ids=str)
def test_a_line_is_next_to_what_it_was(look: Viewport, console: Page, project: Project) -> None:
    table = _open(console, project)
    old, new = _line(table, '"a": 1'), _line(table, '"a": 2')
    assert old["y"] == new["y"]
    assert old["x"] < new["x"]
    assert table.locator("pre:visible").filter(has_text='"kept"').count() == 2
    looks = table.locator(".changed td").filter(has_text='"a"').evaluate_all(_LOOKS)
    assert [sign for sign, _ in looks] == ['"−"', '"+"']
    assert len({background for _, background in looks}) == 2


@pytest.mark.parametrize("look", [PHONE, PHONE_IN_DARK] if LONG else [PHONE], ids=str)
def test_on_a_phone_what_is_follows_what_was(look: Viewport, console: Page, project: Project) -> None:
    table = _open(console, project)
    lines = [_line(table, text) for text in ('"a": 1', '"b": 1', '"a": 2', '"b": 2', '"kept"')]
    assert len({line["x"] for line in lines}) == 1
    assert [line["y"] for line in lines] == sorted({line["y"] for line in lines})
    is_for_everybody(console)
