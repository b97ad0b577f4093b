"""The automation document against its schema: every listed field by type and necessity, faults named."""

import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from automation.desired_state.document import schema
from automation.desired_state.document.schema import SCHEMA, in_documented_order, resolved, schema_faults
from automation.plan.reading import MOST_LAG_SECONDS, MOST_PATIENCE_MINUTES
from automation.sections import pointer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, BadField
from tests.each import each
from tests.factories.documents import ABSENT, document, full_document, full_process, process, version

MISSING, INVALID, ENUM = (
    ErrorCode.MISSING_ATTRIBUTE,
    ErrorCode.INVALID_ATTRIBUTE,
    ErrorCode.INVALID_ENUM_VALUE,
)


def fields(
    schema: Any = SCHEMA, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Any, bool]]:
    """Every field the schema lists: its path in `full_document`, its schema, whether it is required."""
    schema = resolved(schema)
    for name, field in schema.get("properties", {}).items():
        if "olderNameOf" in field:
            continue
        yield (*path, name), resolved(field), name in schema.get("required", ())
        yield from fields(field, (*path, name))
        if "items" in field:
            yield from fields(field["items"], (*path, name, 0))


ALL = list(fields())
REQUIRED = [path for path, _, required in ALL if required]
OPTIONAL = [path for path, _, required in ALL if not required]


def pointer_of(path: tuple[str | int, ...]) -> str:
    return "".join(f"/{step}" for step in path)


def replaced(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The full document with another value there."""
    found = deepcopy(full_document())
    above: Any = found
    for step in path[:-1]:
        above = above[step]
    if value is ABSENT:
        del above[path[-1]]
    else:
        above[path[-1]] = value
    return found


def faults(document: Any) -> list[tuple[str, ErrorCode]]:
    return [(fault.field, fault.code) for fault in schema_faults(document)]


def test_the_schema_is_a_valid_json_schema() -> None:
    meta_schema = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    assert list(meta_schema.iter_errors(SCHEMA)) == []


def listed() -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """What docs/contract.md lists in 2.14: path, type, necessity."""
    section = (
        (Path(__file__).parents[3] / "docs/contract.md").read_text().split("### 2.14")[1].split("\n## 3.")[0]
    )
    above = ("", "monitoringVersions/0/", "processes/0/")
    for prefix, table in zip(above, section.split("| field | type |")[1:], strict=True):
        for row in table.splitlines()[2:]:
            if not row.startswith("|"):
                break
            name, kind, necessity = (cell.strip() for cell in row.split("|")[1:4])
            name = name.replace("…", "databaseVersions[n].").removesuffix("[k]")
            steps = (prefix + re.sub(r"\[.\]", "/0", name).replace(".", "/")).split("/")
            yield tuple(int(step) if step.isdigit() else step for step in steps), kind, necessity


LISTED = list(listed())


@each(("path", "kind", "necessity"), LISTED, ids=[pointer_of(row[0]) for row in LISTED])
def test_the_schema_says_what_the_contract_says(
    path: tuple[str | int, ...], kind: str, necessity: str
) -> None:
    schema, required = next((schema, required) for field, schema, required in ALL if field == path)
    assert kind.split(maxsplit=1)[0] in schema["type"]
    assert required is (necessity == "required" and "default" not in schema)


def test_the_full_document_has_every_field_and_no_fault() -> None:
    for path, _, _ in ALL:
        replaced(path, ABSENT)
    assert faults(full_document()) == []


def test_the_document_of_a_new_project_has_no_fault() -> None:
    new = {
        "version": 0,
        "options": {"downloadBase": "/var/lib/ops-agent"},
        "databaseVersions": [],
        "processes": [],
    }
    assert faults(new) == []


@each("value", [ABSENT, None], ids=["absent", "null"])
@each("path", REQUIRED, ids=pointer_of)
def test_a_required_field_must_be_there(path: tuple[str | int, ...], value: Any) -> None:
    assert faults(replaced(path, value)) == [(pointer_of(path), MISSING)]


@each("value", [ABSENT, None], ids=["absent", "null"])
@each("path", OPTIONAL, ids=pointer_of)
def test_an_optional_field_may_be_left_out(path: tuple[str | int, ...], value: Any) -> None:
    assert faults(replaced(path, value)) == []


def test_the_schema_and_the_plan_have_the_same_limits_of_options() -> None:
    options = SCHEMA["properties"]["options"]["properties"]
    limits = {name: options[name]["maximum"] for name in ("maxLagSec", "patienceMin")}
    assert limits == {"maxLagSec": MOST_LAG_SECONDS, "patienceMin": MOST_PATIENCE_MINUTES}


OF_TYPES: list[tuple[Any, set[str]]] = [
    ("text", {"string"}),
    (7, {"integer", "number"}),
    (7.5, {"number"}),
    (True, {"boolean"}),
    ([], {"array"}),
    ({}, {"object"}),
]


@given(st.data())
def test_any_one_field_of_a_wrong_type_is_refused_and_named(data: st.DataObject) -> None:
    path, schema, _ = data.draw(st.sampled_from(ALL))
    types = {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
    value = data.draw(st.sampled_from([value for value, fitting in OF_TYPES if not fitting & types]))
    assert faults(replaced(path, value)) == [(pointer_of(path), INVALID)]


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 70_000)
    | st.floats(-1, 70_000)
    | st.sampled_from(["", "1", "x"]),
    lambda values: (
        st.lists(values, max_size=2) | st.dictionaries(st.sampled_from(["default", "name", "x"]), values)
    ),
    max_leaves=4,
)


@given(st.data())
def test_the_quick_check_agrees_with_the_library(data: st.DataObject) -> None:
    path, _, _ = data.draw(st.sampled_from(ALL))
    found = replaced(path, data.draw(ANYTHING))
    assert schema._fits(found, SCHEMA) is not any(True for _ in schema._VALIDATOR.iter_errors(found))


PROCESS = ("processes", 0)
BUILD = ("databaseVersions", 0, "builds", 0)
CONCERN = (*PROCESS, "defaultRWConcern", "defaultWriteConcern", "w")
LEVEL = (*PROCESS, "defaultRWConcern", "defaultReadConcern", "level")
SET_NAME = (*PROCESS, "args2_6", "replication", "replSetName")
PORT = (*PROCESS, "args2_6", "net", "port")
TIMES = ("lastCompact", "lastRestart", "lastResync", "lastKmipMasterKeyRotation")


@each(
    ("path", "value", "code"),
    [
        (("version",), -1, INVALID),
        (("databaseVersions", 0, "name"), "", INVALID),
        ((*BUILD, "architecture"), "arm64", ENUM),
        ((*BUILD, "architecture"), "AMD64", ENUM),
        ((*BUILD, "winVCRedistOptions"), ["/quiet", 5], INVALID),
        (("monitoringVersions", 0, "hostname"), "", INVALID),
        ((*PROCESS, "name"), "", INVALID),
        ((*PROCESS, "hostname"), "", INVALID),
        ((*PROCESS, "hostname"), "not a host", INVALID),
        (PORT, 0, INVALID),
        (PORT, 65536, INVALID),
        (PORT, 27017.0, INVALID),
        (LEVEL, "LOCAL", ENUM),
        (LEVEL, "eventual", ENUM),
        (CONCERN, "", INVALID),
        (CONCERN, "many", INVALID),
        (CONCERN, "majority\n", INVALID),
        (CONCERN, "-1", INVALID),
        (CONCERN, "2.0", INVALID),
        (CONCERN, "٢", INVALID),
        (CONCERN, 2.0, INVALID),
        (CONCERN, -1, INVALID),
        (CONCERN, True, INVALID),
        ((*PROCESS, "name"), "n" * 301, INVALID),
        ((*PROCESS, "name"), "two\nlines", INVALID),
        (SET_NAME, "r" * 201, INVALID),
        (SET_NAME, "a\u2028b", INVALID),
        ((*PROCESS, "backupRestoreUrl"), "", INVALID),
        ((*PROCESS, "backupRestoreUrl"), "cancel", INVALID),
        ((*PROCESS, "backupRestoreUrl"), "ftp://restore.example.com/1", INVALID),
        ((*PROCESS, "backupRestoreUrl"), "https://", INVALID),
        ((*PROCESS, "backupRestoreUrl"), "https://restore.example.com:0/", INVALID),
        ((*PROCESS, "backupRestoreUrl"), "https://restore.example.com:x/", INVALID),
        ((*PROCESS, "backupRestoreUrl"), "https://restore.example.com/a b", INVALID),
        *(
            ((*PROCESS, name), text, INVALID)
            for name in TIMES
            for text in ("", "now", "2099-11-21", "2099-13-01T00:00:00Z")
        ),
    ],
)
def test_a_value_out_of_range_or_format_is_refused(
    path: tuple[str | int, ...], value: Any, code: ErrorCode
) -> None:
    assert faults(replaced(path, value)) == [
        (f"{pointer_of(path)}/1" if isinstance(value, list) else pointer_of(path), code)
    ]


@each(
    ("path", "value"),
    [
        (("version",), 2**70),
        ((*BUILD, "architecture"), "ppc64le"),
        ((*BUILD, "modules"), ["enterprise", {"any": "thing"}]),
        ((*PROCESS, "hostname"), "localhost"),
        ((*PROCESS, "hostname"), "2001:db8::1"),
        (PORT, 1),
        (PORT, 65535),
        ((*PROCESS, "name"), "é" * 300),
        (SET_NAME, "r" * 200),
        *((SET_NAME, value) for value in (5, ["any"], {"any": "thing"})),
        *((LEVEL, level) for level in ("available", "local", "majority", "linearizable", "snapshot")),
        *((CONCERN, w) for w in ("majority", "0", "3", "50", 0, 3)),
        ((*PROCESS, "backupRestoreUrl"), "CANCEL"),
        ((*PROCESS, "backupRestoreUrl"), "http://198.51.100.7:8080/restore?id=5"),
        *(
            ((*PROCESS, name), text)
            for name in TIMES
            for text in ("2099-11-21T07:26:14", "2099-11-21T07:26:14.5+01:00", "2099-11-21T07:26z")
        ),
        ((*PROCESS, "logRotate", "maxUncompressed"), 5),
        ((*PROCESS, "logRotate", "sizeThresholdMB"), 0.5),
    ],
)  # fmt: skip
def test_a_good_value_is_taken(path: tuple[str | int, ...], value: Any) -> None:
    assert faults(replaced(path, value)) == []


def test_what_the_contract_does_not_list_is_not_looked_at() -> None:
    process_with_more = process(auditLogRotate=5, kerberos=[None])
    assert faults(document(processes=[process_with_more], replicaSets="any", auth={"key": 5})) == []


def test_every_platform_of_urls_needs_a_default_build() -> None:
    urls = {
        "linux": {"default": "https://example.com"},
        "a/b~c": {"rhel7": "https://example.com", "other": 5},
    }
    assert faults(replaced(("monitoringVersions", 0, "urls"), urls)) == [
        ("/monitoringVersions/0/urls/a~1b~0c/default", MISSING),
        ("/monitoringVersions/0/urls/a~1b~0c/other", INVALID),
    ]


def test_allowed_values_are_named() -> None:
    (fault,) = schema_faults(replaced(LEVEL, "eventual"))
    assert list(fault.allowed) == ["available", "local", "majority", "linearizable", "snapshot"]


def test_all_faults_are_reported_at_once_in_the_documented_order() -> None:
    wrong = document(
        processes=[process(), process(hostname=5, args2_6=ABSENT), "text"],
        databaseVersions=[version(builds=ABSENT)],
        options={},
        version=ABSENT,
    )
    assert faults(wrong) == [
        ("/version", MISSING),
        ("/options/downloadBase", MISSING),
        ("/databaseVersions/0/builds", MISSING),
        ("/processes/1/args2_6", MISSING),
        ("/processes/1/hostname", INVALID),
        ("/processes/2", INVALID),
    ]


def test_places_are_reported_in_the_order_of_their_numbers() -> None:
    wrong = document(processes=[process(numCores="4")] * 11)
    assert [field for field, _ in faults(wrong)] == [f"/processes/{place}/numCores" for place in range(11)]


def test_the_order_does_not_depend_on_where_faults_were_found() -> None:
    found = schema_faults(document(processes=[full_process(name=5, alias=5, version=5)], version="1"))
    assert in_documented_order(reversed(found)) == found


@each("key", ["x", "0", "-1", "²", "9" * 5000], ids=lambda key: ascii(key[:2]))
def test_a_place_below_what_should_be_an_array_has_an_order_too(key: str) -> None:
    (below,) = in_documented_order([BadField(pointer(["processes", key, "password"]), INVALID, "x")])
    assert below.code is INVALID


@each(("count", "refused"), [(20_000, False), (20_001, True)])
def test_there_are_at_most_so_many_processes(count: int, refused: bool) -> None:
    found = schema_faults(document(processes=[5] * count))  # of the wrong type: not all are looked at
    assert (found[0] == BadField("/processes", INVALID, "must have at most 20000 items")) is refused


def test_not_more_faults_are_reported_than_the_most() -> None:
    assert len(faults(document(processes=[{}] * 1000))) == MOST_FAULTS


def test_an_endless_key_is_cut_short() -> None:
    urls: dict[str, Any] = {"x" * 5000: {}}
    (fault,) = schema_faults(replaced(("monitoringVersions", 0, "urls"), urls))
    assert len(fault.field) < 300


@each("wrong", [[], "text", 5, None, True], ids=repr)
def test_a_document_that_is_no_object_is_one_fault(wrong: Any) -> None:
    assert [field for field, _ in faults(wrong)] == [""]
