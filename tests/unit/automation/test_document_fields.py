"""The page of fields has each field of the document, and each test that it names exists."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from automation.desired_state.document.schema import SCHEMA, resolved
from tests.automation_fields import CARRIED_OUT, LEFT_ALONE, REFUSED, FieldRow, field_rows
from tests.documents import ROOT
from tests.each import each

ROWS = field_rows()
LISTED = {row.field for row in ROWS}
_TEST = re.compile(r"`(tests/[\w/]+\.py)`: `(test_\w+)`")


def fields(schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The fields of the document, as paths."""
    schema = resolved(schema)
    for name, member in schema.get("properties", {}).items():
        yield prefix + name
        yield from fields(member, f"{prefix}{name}.")
    if "items" in schema:
        yield from fields(schema["items"], f"{prefix.removesuffix('.')}[].")


FIELDS = list(fields(SCHEMA))


def covering(field: str) -> list[str]:
    """The listed fields that are the field, or have all fields below them."""
    groups = [name for name in LISTED if name.endswith("*") and field.startswith(name.removesuffix("*"))]
    return [field] if field in LISTED else groups


@each("field", FIELDS)
def test_the_page_lists_each_field_of_the_document(field: str) -> None:
    assert len(covering(field)) == 1


def test_the_page_lists_no_other_field_and_none_twice() -> None:
    used = {name for field in FIELDS for name in covering(field)}
    assert sorted(row.field for row in ROWS) == sorted(used)


def test_the_walk_finds_fields_at_all_depths() -> None:
    assert {
        "version",
        "databaseVersions[].builds[].winVCRedistDll",
        "backupVersions[].logRotate.numTotal",
        "processes[].args2_6.net.port",
        "processes[].defaultRWConcern.defaultWriteConcern.wtimeout",
    } <= set(FIELDS)


@each("row", ROWS, ids=lambda row: row.field)
def test_a_field_that_is_carried_out_names_a_test_and_others_a_reason(row: FieldRow) -> None:
    named = _TEST.findall(row.explanation)
    assert row.state in {CARRIED_OUT, REFUSED, LEFT_ALONE}
    assert row.explanation
    assert bool(named) is (row.state == CARRIED_OUT)
    for path, test in named:
        nodes = ast.walk(ast.parse((ROOT / path).read_text()))
        assert test in {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
