"""Secrets of the automation document: never shown, never lost by writing back what was shown."""

from copy import deepcopy
from typing import Any

from automation.desired_state.document.secrets import redacted, restored
from automation.desired_state.document.text import write
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS
from opsapi.redaction import MASK
from tests.each import each
from tests.factories.documents import agent, document, full_document, process, version

SECRET = "s3cret-Value"
OTHER = "another-Value"

SECRET_PATHS = [
    "password",
    "passwords",
    "queryPassword",
    "PASSWORD",
    "passwd",
    "passphrase",
    "passwordHash",
    "passSalt",
    "DB_PASS",
    "db.pass",
    "pwd",
    "autoPwd",
    "secret",
    "clientSecret",
    "client_secrets",
    "secretName",
    "token",
    "accessToken",
    "refresh-token",
    "tokenUrl",
    "apiKey",
    "apiKeys",
    "apiKeyId",
    "api_key",
    "api-key",
    "API KEY",
    "agentAPIKEY",
    "privateKey",
    "PRIVATE_KEY",
    "ssh_private_keys",
    "privateKeyFileContents",
    "accessKey",
    "awsAccessKeyId",
    "credentials",
    "credentials.user",
    "awsCreds",
    "keyFilePassword",
    "processes.password",
    "ldap.bind.queryPassword",
    "token.value",
    "token.values.deep",
    "passwords.ada.0",
    "auth.key",
    "auth.keys",
    "auth.newKey",
    "auth.new_key",
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
    "keyFile",
    "certificateKeyFile",
    "privateKeyFile",
    "private_key_path",
    "monkey",
    "apiVersion",
    "accessControl",
    "private",
    "auth.monkey",
    "auth.mechanisms",
    "auth.mechanism",
    "authentication.key",
    "args.keyFile",
    "gitVersion",
    "lastKmipMasterKeyRotation",
]
URLS = [
    ("https://ada:pa55@db.example.com/x", "https://******@db.example.com/x"),
    ("https://pa55@db.example.com:8443", "https://******@db.example.com:8443"),
    ("https://db.example.com/x?token=pa55&region=eu", "https://db.example.com/x?******"),
    ("https://db.example.com?pa55", "https://db.example.com?******"),
    ("https://ada:pa55@db.example.com/x?y=pa55#pa55", "https://******@db.example.com/x?******"),
    ("mongodb://ada:pa55@a:1,b:2/admin?authSource=pa55", "mongodb://******@a:1,b:2/admin?******"),
    ("HTTPS://ada:pa:55@[::1]:80/", "HTTPS://******@[::1]:80/"),
    ("jdbc:postgresql://db/x?password=pa55", "jdbc:postgresql://db/x?******"),
    ("postgres://ada:p/a55@db/x", "postgres://******@db/x"),
    ("postgres://ada:p#a55@db/x", "postgres://******@db/x"),
    ("postgres://ada:p?a55@db/x", "postgres://******@db/x"),
    ("from https://ada:pa55@a to http://b/?c=pa55 now", "from https://******@a to http://b/?****** now"),
    ("https://ada:pa55@a,https://ada:pa55@b", "https://******@a,https://******@b"),
    ("/agents?token=pa55", "/agents?******"),
    ("downloads.example.com/agents?x&token=pa55", "downloads.example.com/agents?******"),
    ("/go?to=https://ada:pa55@a", "/go?******"),
    ("//ada:pa55@db.example.com/x?pa55", "//******@db.example.com/x?******"),
    ("get (//pa55@db), //ada:pa55@b", "get (//******@db), //******@b"),
]
PLAIN_TEXTS = [
    "https://downloads.example.com:8443/7.0.2.tgz#part",
    "https://example.com/@scope/package@1.0",
    "https://[::1]:8080/@x",
    "https://example.com:8080/a@b",
    "/srv//ada:1@b",
    "file:///srv/a@b",
    "// ada:1@b",
    "ada@example.com",
    "what is this? a=b",
    "is/it/so?",
    "^colou?r=",
    "CANCEL",
    "",
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


@each("path", SECRET_PATHS)
def test_a_secret_is_not_shown(path: str) -> None:
    assert redacted(at(path, SECRET)) == at(path, MASK)
    assert redacted(at(path, [SECRET, {"a": SECRET}])) == at(path, [MASK, {"a": MASK}])
    assert redacted(at(path, "")) == at(path, MASK)


@each("path", OPEN_PATHS)
def test_what_is_no_secret_is_shown(path: str) -> None:
    assert redacted(at(path, SECRET)) == at(path, SECRET)


@each("value", [5, 0.5, True, False], ids=repr)
def test_numbers_and_booleans_are_secrets_too(value: Any) -> None:
    stored = {"password": value, "pins": {"pass": [value, {"x": value}]}}
    shown = {"password": MASK, "pins": {"pass": [MASK, {"x": MASK}]}}
    assert redacted(stored) == shown
    assert write(put_back(shown, stored)) == write(stored)


@each("value", [None, {}, []], ids=repr)
def test_nothing_is_shown_as_it_is(value: Any) -> None:
    assert redacted({"password": value}) == {"password": value}
    assert unknown({"password": MASK}, {"password": value}) == ["/password"]


@each(("url", "shown"), URLS)
def test_user_info_and_query_of_urls_are_not_shown(url: str, shown: str) -> None:
    stored = {"directoryUrl": url, "args": [url, {"x": url}]}
    assert redacted(stored) == {"directoryUrl": shown, "args": [shown, {"x": shown}]}
    assert redacted(redacted(stored)) == redacted(stored)
    assert put_back(redacted(stored), stored) == stored


@each("text", PLAIN_TEXTS)
def test_other_texts_are_shown(text: str) -> None:
    assert redacted({"x": text}) == {"x": text}


@each(
    "sent",
    ["https://******@elsewhere/x?******", "https://******@db/x?y=1", "https://db/x?******", "/x?******"],
)
def test_a_redacted_url_is_for_nothing_but_itself(sent: str) -> None:
    stored = {"url": "https://ada:pa55@db/x?y=pa55"}
    assert unknown({"url": sent}, stored) == ["/url"]
    assert unknown({"other": sent}, stored) == ["/other"]


def test_long_texts_take_no_longer_than_their_length() -> None:
    for part in ("://", "://a:b", "?", "/?a", "@", "://a:b@", "apikey", "a"):
        long = part * (2**20 // len(part))
        redacted({"x": long, long: 1})


def test_what_comes_in_is_not_touched() -> None:
    given = at("auth.key", SECRET)
    before = deepcopy(given)
    redacted(given)
    restored(redacted(given), given)
    assert given == before


def test_a_full_document_without_secrets_stays_as_it_is() -> None:
    assert redacted(full_document()) == full_document()


@each("path", SECRET_PATHS)
def test_what_was_shown_can_be_written_back(path: str) -> None:
    for value in (SECRET, [SECRET, OTHER], "", MASK):
        assert put_back(redacted(at(path, value)), at(path, value)) == at(path, value)


@each("path", SECRET_PATHS)
def test_a_new_value_is_taken(path: str) -> None:
    assert put_back(at(path, OTHER), at(path, SECRET)) == at(path, OTHER)


@each("path", SECRET_PATHS)
@each("stored", [{}, {"password": []}, {"auth": 5, "token": {}}], ids=["empty", "list", "other"])
def test_a_redacted_value_that_is_for_nothing_is_refused_and_named(path: str, stored: dict[str, Any]) -> None:
    assert unknown(at(path, MASK), stored) == ["/" + path.replace(".", "/")]


@each("path", OPEN_PATHS)
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


@each(("array", "items"), ARRAYS, ids=[f"{at}-{array}" for at, (array, _) in enumerate(ARRAYS)])
def test_an_item_is_found_by_what_it_is_known_by(array: str, items: list[dict[str, Any]]) -> None:
    first, other = ({**item, "pwd": f"pwd-{place}"} for place, item in enumerate(items))
    stored, turned = {array: [first, other]}, {array: [other, first]}
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


def test_values_with_the_same_name_are_found_in_their_order() -> None:
    stored = {"list": [{"name": "a", "pwd": "1"}, {"name": "a", "pwd": "2"}]}
    assert put_back(redacted(stored), stored) == stored
    assert unknown({"list": [{"name": "a", "pwd": MASK}]}, stored) == ["/list/0/pwd"]


def test_what_is_known_by_nothing_is_found_by_what_is_shown_of_it() -> None:
    first, other = {"host": "a", "pwd": "1"}, {"host": "b", "pwd": SECRET, "list": [["x"], ["y"]]}
    for sent in ([first, other], [other, first], [other], [other, {"host": "c"}, first]):
        assert put_back(redacted({"list": sent}), {"list": [first, other]}) == {"list": sent}
    urls = ["https://ada:1@a", "https://ada:2@b", "https://c"]
    assert put_back(redacted({"list": urls[::-1]}), {"list": urls}) == {"list": urls[::-1]}


def test_what_was_edited_is_found_by_its_index_while_nothing_else_moved() -> None:
    stored = {"list": [{"host": "a", "pwd": "1"}, {"host": "b", "pwd": SECRET}, {"host": "c", "pwd": "3"}]}
    shown = redacted(stored)["list"]
    edited = {**shown[1], "host": "new"}
    found = put_back({"list": [shown[0], edited, shown[2]]}, stored)
    assert found["list"][1] == {"host": "new", "pwd": SECRET}
    assert unknown({"list": [shown[2], edited, shown[0]]}, stored) == ["/list/1/pwd"]
    assert unknown({"list": [edited, shown[2]]}, stored) == ["/list/0/pwd"]


def test_what_looks_alike_is_found_while_none_is_gone() -> None:
    stored = {"list": [{"pwd": "1"}, {"pwd": SECRET}]}
    assert put_back(redacted(stored), stored) == stored
    assert unknown({"list": [{"pwd": MASK}]}, stored) == ["/list/0/pwd"]
    assert unknown({"list": [{"pwd": MASK}] * 3}, stored) == [f"/list/{at}/pwd" for at in range(3)]


def test_secrets_in_a_list_are_found_by_their_index_in_a_list_of_the_same_length() -> None:
    stored = {"tokens": ["1", SECRET]}
    assert put_back({"tokens": [MASK, "new"]}, stored) == {"tokens": ["1", "new"]}
    assert unknown({"tokens": [MASK]}, stored) == ["/tokens/0"]


def test_not_more_faults_are_reported_than_the_most() -> None:
    assert len(unknown({"token": [MASK] * 1000}, {})) == MOST_FAULTS
