"""Secrets of the automation document: never shown, never lost by writing back what was shown."""

from copy import deepcopy
from typing import Any

import pytest

from automation.document.secrets import redacted, restored
from automation.document.text import write
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS
from opsapi.redaction import MASK
from tests.factories.documents import agent, document, full_document, process, version

SECRET = "s3cret-Value"
OTHER = "another-Value"

SECRET_PATHS = [
    "password",
    "queryPassword",
    "PASSWORD",
    "pwd",
    "autoPwd",
    "secret",
    "clientSecret",
    "token",
    "accessToken",
    "apiKey",
    "agentAPIKEY",
    "processes.password",
    "ldap.bind.queryPassword",
    "token.value",
    "token.values.deep",
    "auth.key",
    "auth.newKey",
    "auth.NEWKEY",
    "Auth.key",
    "auth.keyfile",
    "auth.keyFileContents",
    "auth.keyfile.contents",
    "auth.credentials",
    "auth.credentials.user",
    "auth.users.scramSha256Creds.storedKey",
    "auth.deeper.key",
    "deeper.auth.key",
]
OPEN_PATHS = [
    "key",
    "newKey",
    "keyfile",
    "credentials",
    "passwords",
    "tokenUrl",
    "secretName",
    "apiKeyId",
    "monkey",
    "auth.monkey",
    "auth.keys",
    "auth.mechanism",
    "authentication.key",
    "args.keyFile",
]


def at(path: str, value: Any) -> dict[str, Any]:
    """A document with the value at that path."""
    for name in reversed(path.split(".")):
        value = {name: value}
    found: dict[str, Any] = value
    return found


def put_back(shown: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    found, faults = restored(shown, stored)
    assert faults == []
    return found


def unknown(shown: dict[str, Any], stored: dict[str, Any]) -> list[str]:
    found, faults = restored(shown, stored)
    assert {fault.code for fault in faults} <= {ErrorCode.REDACTED_VALUE_UNKNOWN}
    assert SECRET not in write(found)
    return [fault.field for fault in faults]


@pytest.mark.parametrize("path", SECRET_PATHS)
def test_a_secret_is_not_shown(path: str) -> None:
    assert redacted(at(path, SECRET)) == at(path, MASK)
    assert redacted(at(path, [SECRET, {"a": SECRET}])) == at(path, [MASK, {"a": MASK}])
    assert redacted(at(path, "")) == at(path, MASK)


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_what_is_no_secret_is_shown(path: str) -> None:
    assert redacted(at(path, SECRET)) == at(path, SECRET)


@pytest.mark.parametrize("value", [5, True, None, {}, []], ids=repr)
def test_only_strings_are_secrets(value: Any) -> None:
    assert redacted({"password": value}) == {"password": value}


def test_what_comes_in_is_not_touched() -> None:
    given = at("auth.key", SECRET)
    before = deepcopy(given)
    redacted(given)
    restored(redacted(given), given)
    assert given == before


def test_a_full_document_without_secrets_stays_as_it_is() -> None:
    assert redacted(full_document()) == full_document()


@pytest.mark.parametrize("path", SECRET_PATHS)
def test_what_was_shown_can_be_written_back(path: str) -> None:
    for value in (SECRET, [SECRET, OTHER], "", MASK):
        assert put_back(redacted(at(path, value)), at(path, value)) == at(path, value)


@pytest.mark.parametrize("path", SECRET_PATHS)
def test_a_new_value_is_taken(path: str) -> None:
    assert put_back(at(path, OTHER), at(path, SECRET)) == at(path, OTHER)


@pytest.mark.parametrize("path", SECRET_PATHS)
@pytest.mark.parametrize(
    "stored", [{}, {"password": 5}, {"auth": 5, "token": {}}], ids=["empty", "number", "other"]
)
def test_a_redacted_value_that_stands_for_nothing_is_refused_and_named(
    path: str, stored: dict[str, Any]
) -> None:
    assert unknown(at(path, MASK), stored) == ["/" + path.replace(".", "/")]


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_elsewhere_stars_are_a_text_as_any(path: str) -> None:
    assert put_back(at(path, MASK), at(path, SECRET)) == at(path, MASK)


def test_a_name_with_a_slash_is_escaped() -> None:
    assert unknown({"a/b~c": {"token": MASK}}, {}) == ["/a~1b~0c/token"]


ARRAYS: list[tuple[str, list[dict[str, Any]]]] = [
    ("processes", [process(name="a"), process(name="b")]),
    ("processes", [process(name=None), process(name=None, hostname="other")]),
    ("databaseVersions", [version(name="7.0"), version(name="8.0")]),
    ("monitoringVersions", [agent(hostname="a"), agent(hostname="b")]),
    ("backupVersions", [agent(hostname="a", name="x"), agent(hostname="b", name="x")]),
    ("replicaSets", [{"_id": "a"}, {"_id": "b"}]),
    ("anything", [{"id": "a", "name": "x"}, {"id": "b", "name": "x"}]),
    ("anything", [{"name": "a"}, {"name": "b"}]),
    ("users", [{"user": "u", "db": "a"}, {"user": "u", "db": "b"}]),
]


@pytest.mark.parametrize(
    ("array", "items"), ARRAYS, ids=[f"{at}-{array}" for at, (array, _) in enumerate(ARRAYS)]
)
def test_an_item_is_found_by_what_it_is_known_by(array: str, items: list[dict[str, Any]]) -> None:
    one, other = ({**item, "pwd": f"pwd-{place}"} for place, item in enumerate(items))
    stored, turned = {array: [one, other]}, {array: [other, one]}
    assert put_back(redacted(stored), stored) == stored
    assert put_back(redacted(turned), stored) == turned
    assert put_back(redacted({array: [other]}), stored) == {array: [other]}


def test_a_process_is_found_by_its_name_whatever_else_changed() -> None:
    stored = document(processes=[process(pwd=SECRET)])
    moved = process(pwd=MASK, hostname="elsewhere", version="8.0")
    assert put_back(document(processes=[moved]), stored)["processes"][0]["pwd"] == SECRET


def test_a_renamed_process_is_another_one() -> None:
    stored = document(processes=[process(pwd=SECRET)])
    assert unknown(document(processes=[process(name="new", pwd=MASK)]), stored) == ["/processes/0/pwd"]


def test_those_that_share_a_name_are_found_in_their_order() -> None:
    stored = {"list": [{"name": "a", "pwd": "1"}, {"name": "a", "pwd": "2"}]}
    assert put_back(redacted(stored), stored) == stored


def test_what_is_known_by_nothing_is_found_by_its_index_in_an_array_of_the_same_length() -> None:
    stored = {"list": [{"pwd": "1"}, {"pwd": SECRET}]}
    assert put_back(redacted(stored), stored) == stored
    assert unknown({"list": [{"pwd": MASK}]}, stored) == ["/list/0/pwd"]


def test_secrets_in_a_list_are_found_by_their_index_in_a_list_of_the_same_length() -> None:
    stored = {"tokens": {"token": ["1", SECRET]}}
    assert put_back({"tokens": {"token": [MASK, "new"]}}, stored) == {"tokens": {"token": ["1", "new"]}}
    assert unknown({"tokens": {"token": [MASK]}}, stored) == ["/tokens/token/0"]


def test_not_more_faults_are_told_than_the_most() -> None:
    assert len(unknown({"token": [MASK] * 1000}, {})) == MOST_FAULTS
