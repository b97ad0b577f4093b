"""Cells of a CSV file: none is a formula, and everything can be read back."""

import csv
import json
from io import StringIO

from events.log.csv_cells import csv_lines, json_cell, text_cell
from tests.each import each

FULL_WIDTH_EQUALS, FULL_WIDTH_AT, MINUS_SIGN = "\uff1d", "\uff20", "\u2212"
NO_BREAK_SPACE, ZERO_WIDTH_SPACE, BYTE_ORDER_MARK = "\u00a0", "\u200b", "\ufeff"


@each(
    ("text", "cell"),
    [
        ("", ""),
        ("db1.example.com:27017", "db1.example.com:27017"),
        ("ada@example.com", "ada@example.com"),
        ("a=b+c-d", "a=b+c-d"),
        ("a - b", "a - b"),
        ("''", "''"),
        ("=1+1", "'=1+1"),
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("\nx", "'\nx"),
        ("\t=1", "'\t'=1"),
        (" =1", "' =1"),
        ('"=1', "'\"=1"),
        ("'=1", "''=1"),
        (" \" ' =1", "' \" ' =1"),
        (f"{NO_BREAK_SPACE}=1", f"'{NO_BREAK_SPACE}=1"),
        (f"{ZERO_WIDTH_SPACE}{BYTE_ORDER_MARK}=1", f"'{ZERO_WIDTH_SPACE}{BYTE_ORDER_MARK}=1"),
        (f"{FULL_WIDTH_EQUALS}1", f"'{FULL_WIDTH_EQUALS}1"),
        (f"{FULL_WIDTH_AT}SUM(A1)", f"'{FULL_WIDTH_AT}SUM(A1)"),
        (f"{MINUS_SIGN}1", f"'{MINUS_SIGN}1"),
        ("x;=1;y", "x;'=1;y"),
        ('x", =1', "x\", '=1".replace(", '=", ",' =")),
        ("x\r\n=1", "x\r\n'=1"),
        ("x|y;z,é", "x|y;z,é"),
    ],
    ids=ascii,
)
def test_a_text_a_spreadsheet_would_run_gets_an_apostrophe(text: str, cell: str) -> None:
    assert text_cell(text) == cell


@each(
    ("value", "cell"),
    [
        ({}, "{}"),
        ({"port": 27017, "isGlobalAdmin": False}, '{"port":27017,"isGlobalAdmin":false}'),
        ({"currentValue": {"number": -5.5}}, '{"currentValue":{"number":-5.5}}'),
        ([1, -5], "[1,-5]"),
        ({"username": "ada@example.com"}, '{"username":"ada@example.com"}'),
        ({"name": "é"}, '{"name":"é"}'),
        ({"name": "=1"}, r'{"name":"\u003d1"}'),
        (["a", " -1"], r'["a"," \u002d1"]'),
        ({"old": "x;@y|+z"}, r'{"old":"x;\u0040y|\u002bz"}'),
        ({"old": '";=1'}, r'{"old":"\";\u003d1"}'),
        ({"old": FULL_WIDTH_EQUALS}, r'{"old":"\uff1d"}'),
        ({"old": "a\\"}, r'{"old":"a\\"}'),
        ({"old": "\n=1"}, r'{"old":"\n=1"}'),
    ],
    ids=ascii,
)
def test_json_is_compact_and_its_formulas_are_escaped(value: object, cell: str) -> None:
    assert json_cell(value) == cell
    assert json.loads(cell) == value


def test_a_record_is_quoted_and_ends_as_rfc_4180_says() -> None:
    assert csv_lines([["a", 'b "c"', "d\r\ne", ""]]) == '"a","b ""c""","d\r\ne",""\r\n'


def test_what_was_written_is_read_back() -> None:
    cells = ["a,b", '"', "\r\n", "", json_cell({"a": '","'})]
    assert list(csv.reader(StringIO(csv_lines([cells]), newline=""))) == [cells]


@each("text", ["\t" * 100_000, " " * 100_000, "'" * 100_000, '"\\' * 50_000, ";=" * 50_000])
def test_no_text_however_odd_takes_long_or_is_lost(text: str) -> None:
    assert text_cell(text).replace("'", "") == text.replace("'", "")
    assert json.loads(json_cell([text])) == [text]
