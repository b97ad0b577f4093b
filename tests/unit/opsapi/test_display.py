"""How values look in the console."""

from datetime import timedelta

from django.utils.html import strip_tags

from opsapi import clock
from opsapi.clock import time_words
from opsapi.console.display import EMPTY, LONGEST, ago, cut, link, short
from opsapi.console.widgets import Cell
from opsapi.first_rows import more_words
from tests.each import each

HOSTILE = '"><script>alert(1)</script>'


@each(
    ("rows", "found"),
    [("", ("", 0)), ("abc", ("abc", 0)), ("abcd", ("abc", 1)), ("abcdef", ("abc", 3))],
    ids=["none", "as many as fit", "one more", "more"],
)
def test_a_list_is_cut_and_returns_the_number_of_missing_entries(rows: str, found: tuple[str, int]) -> None:
    assert cut(rows, 3) == found


@each(
    ("left_out", "at_least", "words"),
    [
        (0, False, ""),
        (0, True, ""),
        (1, False, "… and 1 more"),
        (1234, False, "… and 1,234 more"),
        (991, True, "… and at least 991 more"),
    ],
)
def test_the_number_of_missing_rows_is_shown(left_out: int, at_least: bool, words: str) -> None:
    assert more_words(left_out, at_least=at_least) == words


@each("text", [None, "", "x" * LONGEST])
def test_a_value_that_fits_stays(text: str | None) -> None:
    assert short(text) == text


def test_a_long_value_is_cut_and_complete_in_its_tooltip() -> None:
    text = HOSTILE + "x" * LONGEST
    shown = str(short(text))
    assert "<script>" not in shown
    assert shown.count("x" * LONGEST) == 1
    assert shown.endswith("…</span>")


def test_a_link_escapes_its_text() -> None:
    assert "<script>" not in link("/a?b=1&c=2", HOSTILE)
    assert 'href="/a?b=1&amp;c=2"' in link("/a?b=1&c=2", HOSTILE)


def test_how_long_ago_bears_the_time_itself() -> None:
    moment = clock.now() - timedelta(minutes=5, seconds=30)
    assert ago(None) == EMPTY
    assert f'title="{time_words(moment)}"' in ago(moment)
    assert strip_tags(ago(moment)) == "5 min ago"


@each(
    ("text", "css"),
    [
        ("accounts-c.harbour.example:27017", "console-address"),
        ("oncall@harbour.example", "console-address"),
        ("Webhook hooks.brightside.example", "console-words"),
        ("customer-accounts", "console-words"),
        ("", "console-words"),
        ("x" * 46, "console-long"),
        ("Host down, " + "x" * 63 + ".example.com:27017", "console-long"),
    ],
)
def test_an_address_stays_whole_and_only_long_names_break_anywhere(text: str, css: str) -> None:
    assert Cell(text).css == css
