"""Whether a document that was sent is refused or becomes the next version."""

from collections.abc import Sequence
from typing import Any

import pytest

from automation.desired_state.document.publish import NEW_PROJECT, etag, publication
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import WHOLE_BODY, ApiError, BadField
from tests.each import each
from tests.factories.documents import ABSENT, agent, document, process, rotation

STORED = document(version=7)


def refused(sent: Any, stored: Any = STORED, if_match: Sequence[str] | None = None) -> ApiError:
    """How it is refused."""
    with pytest.raises(ApiError) as raised:
        publication(sent, stored, if_match=if_match)
    return raised.value


def test_what_changes_something_is_the_next_version() -> None:
    made = publication({**STORED, "odd": 1}, STORED)
    assert made.changes_something
    assert (made.old, made.new) == (STORED, {**STORED, "odd": 1, "version": 8})


@each(
    "sent",
    [
        STORED,
        dict(reversed(STORED.items())),
        {**STORED, "agentVersion": None},
        document(version=7, processes=[process(alias=None)]),
    ],
    ids=["the same", "in another order", "with a null", "with a null inside"],
)
def test_what_changes_nothing_stays_the_stored_document(sent: Any) -> None:
    made = publication(sent, STORED)
    assert not made.changes_something
    assert made.new is made.old is STORED
    assert made.changes == []


@each(
    ("before", "after"),
    [(1, 1.0), (1, True), (0, False), (None, 0), ("1", 1), ([1, 2], [2, 1])],
    ids=str,
)
def test_values_of_another_type_or_order_are_a_change(before: Any, after: Any) -> None:
    assert publication({**STORED, "odd": after}, {**STORED, "odd": before}).changes_something


def test_what_could_not_be_kept_is_reported_with_all_other_faults_once() -> None:
    unstorable = [
        BadField(place, ErrorCode.INVALID_ATTRIBUTE, "cannot be kept")
        for place in ("/processes/0/name", "/version")
    ]
    sent = document(version=None, processes=[process(name=None, numCores="4")])
    with pytest.raises(ApiError) as raised:
        publication(sent, STORED, unstorable=unstorable)
    assert [(bad.field, bad.message == "cannot be kept") for bad in raised.value.bad_fields] == [
        ("/version", True),
        ("/processes/0/name", True),
        ("/processes/0/numCores", False),
    ]


def test_a_document_that_could_not_be_kept_whole_is_refused_whatever_is_left() -> None:
    unstorable = [BadField(WHOLE_BODY, ErrorCode.INVALID_ATTRIBUTE, "cannot be kept")]
    with pytest.raises(ApiError) as raised:
        publication({**STORED, "odd": 1}, STORED, unstorable=unstorable)
    assert list(raised.value.bad_fields) == unstorable


@each("version", [0, 6, 8, -7])
def test_another_version_is_refused_before_any_fault(version: int) -> None:
    error = refused({"version": version, "options": 5})
    assert error.code is ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION
    assert error.parameters == [str(version), "7"]


@each("version", [ABSENT, None, "7", True, 7.0])
def test_what_is_no_version_is_a_fault(version: Any) -> None:
    error = refused(document(version=version))
    assert [fault.field for fault in error.bad_fields] == ["/version"]


@each("tags", [["*"], ['"7"'], ['"6"', '"7"']])
def test_an_entity_tag_of_the_stored_version_is_met(tags: list[str]) -> None:
    assert publication(STORED, STORED, if_match=tags).new is STORED


@each(
    ("tags", "refusal_message"),
    [(['"6"'], "6"), (['W/"7"'], 'W/"7'), (["7"], "7"), (['"6"', '"8"'], "6, 8"), ([], "")],
)
def test_any_other_is_refused(tags: list[str], refusal_message: str) -> None:
    error = refused(STORED, if_match=tags)
    assert error.code is ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION
    assert error.parameters == [refusal_message, "7"]


def test_faults_of_all_kinds_come_together_in_the_documented_order() -> None:
    sent = document(
        version=7, processes=[process(version="6", hostname=5), process(args2_6={"pwd": "******"})]
    )
    error = refused(sent)
    assert [(fault.field, fault.code.value) for fault in error.bad_fields] == [
        ("/processes/0/hostname", "INVALID_ATTRIBUTE"),
        ("/processes/0/version", "INVALID_SETTINGS"),
        ("/processes/1/args2_6/pwd", "REDACTED_VALUE_UNKNOWN"),
        ("/processes/1/name", "INVALID_SETTINGS"),
    ]
    assert error.code is ErrorCode.INVALID_ATTRIBUTE


def test_secrets_and_names_of_agents_are_taken_from_what_is_stored() -> None:
    stored = document(version=7, auth={"key": "k"}, backupVersions=[agent(logRotate=rotation())])
    sent = document(version=7, auth={"key": "******"}, backupVersions=[agent(name="x", logRotate=rotation())])
    assert publication(sent, stored).new is stored


def test_the_entity_tag_is_the_version() -> None:
    assert (etag(NEW_PROJECT["version"]), etag(STORED["version"])) == ('"0"', '"7"')
