"""How settings are read: accepted values, refused values, and the list of settings."""

import re
import runpy
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsapi import environment, metric_files, settings
from opsapi.environment import READ, Setting
from opsapi.outgoing_proxy import OutgoingProxy, Unproxied
from tests.each import each
from tests.processes.certificates import make_certificate

NAME = "OPSAPI_TRIAL"


@pytest.fixture(autouse=True)
def nothing_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests read is forgotten."""
    monkeypatch.setattr(environment, "READ", {})
    monkeypatch.delenv(NAME, raising=False)


def read(reader: str, *args: Any, **kwargs: Any) -> Any:
    """The value of the setting."""
    return getattr(environment, reader)(NAME, *args, **kwargs)


@pytest.mark.parametrize(
    ("reader", "args", "given", "value"),
    [
        ("text", ("a",), None, "a"),
        ("text", ("a",), "b", "b"),
        ("choice", ("x", ("x", "y")), "y", "y"),
        ("number", (2, 1, 64), None, 2),
        ("number", (2, 1, 64), "1", 1),
        ("number", (2, 1, 64), "64", 64),
        ("flag", (True,), None, True),
        ("flag", (True,), "FALSE", False),
        ("networks", (), None, []),
        ("networks", (), "10.0.0.0/8, ::1", [ip_network("10.0.0.0/8"), ip_network("::1")]),
        ("bind", ("127.0.0.1:8000",), None, ("127.0.0.1", 8000)),
        ("bind", ("127.0.0.1:8000",), "[::1]:1", ("::1", 1)),
        ("url", (), None, ""),
        ("url", (), "https://ops.example.com/", "https://ops.example.com"),
        ("outgoing_proxy", (), None, None),
        ("outgoing_proxy", (), "http://proxy.example:3128/", OutgoingProxy("http", "proxy.example", 3128)),
        ("outgoing_proxy", (), "https://[::1]", OutgoingProxy("https", "::1", 443)),
        (
            "outgoing_proxy",
            (),
            "http://ada:hunter%402@10.0.0.1",
            OutgoingProxy("http", "10.0.0.1", 80, "Basic YWRhOmh1bnRlckAy"),
        ),
        ("unproxied", (), None, Unproxied([], [])),
        (
            "unproxied",
            (),
            "Intern.Example, .lan.example,*.corp.example,10.0.0.0/8,[::1]",
            Unproxied(
                ["intern.example", "lan.example", "corp.example"],
                [ip_network("10.0.0.0/8"), ip_network("::1")],
            ),
        ),
        ("url", (), "http://[::1]:8000/ops/", "http://[::1]:8000/ops"),
    ],
    ids=str,
)
def test_a_setting_is_read(
    monkeypatch: pytest.MonkeyPatch, reader: str, args: tuple[Any, ...], given: str | None, value: Any
) -> None:
    if given is not None:
        monkeypatch.setenv(NAME, given)
    assert read(reader, *args) == value
    assert set(environment.READ) == {NAME}


LONG = "k" * 32


@pytest.mark.parametrize(
    ("named", "in_file", "keys"),
    [
        (None, None, []),
        (None, LONG, [LONG]),
        (f"{LONG},{LONG}2", None, [LONG, f"{LONG}2"]),
        (f"{LONG},older", "unused", [LONG, "older"]),
    ],
)
def test_encryption_keys_come_from_the_setting_or_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str | None, in_file: str | None, keys: list[str]
) -> None:
    assert read_keys(monkeypatch, tmp_path, named, in_file) == keys
    assert (tmp_path / "key").exists() is (in_file is not None)


@pytest.mark.parametrize(("named", "in_file"), [(LONG[1:], None), (f"short,{LONG}", LONG), (None, LONG[1:])])
def test_an_encryption_key_that_is_too_short_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str | None, in_file: str | None
) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"characters, at least 32 are needed") as refusal:
        read_keys(monkeypatch, tmp_path, named, in_file)
    assert str(refusal.value).startswith(f"{NAME if named else tmp_path / 'key'}: ")
    assert LONG[1:] not in str(refusal.value)


def read_keys(
    monkeypatch: pytest.MonkeyPatch, directory: Path, named: str | None, in_file: str | None
) -> list[str]:
    """The keys of the setting, next to a file that holds one."""
    file = directory / "key"
    if in_file is not None:
        file.touch(0o600)
        file.write_text(in_file)
    if named is not None:
        monkeypatch.setenv(NAME, named)
    found: list[str] = read("keys", file)
    return found


@pytest.mark.parametrize(
    ("reader", "args", "given", "fault"),
    [
        ("choice", ("x", ("x", "y")), "z", "'z' is not one of x, y"),
        ("number", (2, 1, 64), "0", "'0' is not a whole number from 1 to 64"),
        ("number", (2, 1, 64), "65", "'65' is not a whole number from 1 to 64"),
        ("number", (2, 1, 64), "2.0", "'2.0' is not a whole number from 1 to 64"),
        ("number", (2, 1, 64), "٢", "'٢' is not a whole number from 1 to 64"),
        ("flag", (True,), "1", "'1' is not true or false"),
        ("networks", (), "10.0.0.1/8", "10.0.0.1/8 has host bits set"),
        ("bind", ("127.0.0.1:8000",), "8000", "'8000' is not <address>:<port>"),
        ("bind", ("127.0.0.1:8000",), "a:65536", "'a:65536' is not <address>:<port>"),
        ("unproxied", (), "*", "'*' is not a host name, a domain or a network in CIDR form"),
        ("unproxied", (), "a:80", "'a:80' is not a host name, a domain or a network in CIDR form"),
        (
            "unproxied",
            (),
            "10.0.0.1/8",
            "'10.0.0.1/8' is not a host name, a domain or a network in CIDR form",
        ),
        ("url", (), "ftp://x", "'ftp://x' is not an http or https URL"),
        ("url", (), "http://", "'http:' is not an http or https URL"),
        ("url", (), "http://:80", "'http://:80' is not an http or https URL"),
        ("url", (), "http://a:0", "'http://a:0' is not an http or https URL"),
        ("url", (), "http://a:65536", "'http://a:65536' is not an http or https URL"),
        ("url", (), "http://[a", "'http://[a' is not an http or https URL"),
        ("url", (), "http://a/?x=1", "'http://a/?x=1' must not have a query or a fragment"),
        ("url", (), "http://a/?", "'http://a/?' must not have a query or a fragment"),
        ("url", (), "http://a#b", "'http://a#b' must not have a query or a fragment"),
        ("url", (), "http://ada:hunter2@a", "must not contain a username or password"),
        ("url", (), "http://@a", "must not contain a username or password"),
        (
            "url",
            (),
            "http://a b",
            "'http://a b' must not contain spaces or other characters that need escaping",
        ),
        (
            "url",
            (),
            "http://a/b ",
            "'http://a/b ' must not contain spaces or other characters that need escaping",
        ),
        ("url", (), "http://é", "'http://é' must not contain spaces or other characters that need escaping"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused(
    monkeypatch: pytest.MonkeyPatch, reader: str, args: tuple[Any, ...], given: str, fault: str
) -> None:
    monkeypatch.setenv(NAME, given)
    with pytest.raises(ImproperlyConfigured) as caught:
        read(reader, *args)
    assert str(caught.value) == f"{NAME}: {fault}"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OPSAPI_BIND", "nonsense", "is not <address>:<port>"),
        ("OPSAPI_WORKERS", "many", "is not a whole number"),
        ("OPSAPI_ACCESS_LIST_EXEMPT", "10.0.0.1/8", "has host bits set"),
        ("OPSAPI_PUBLIC_URL", "http://a/?x=1", "must not have a query"),
        ("DATABASE_URL", "mysql://a/b", "only postgresql:// is supported"),
        ("DATABASE_URL", "foo", "only postgresql:// is supported"),
        ("OPSAPI_BUILD", "abc", "is not 40 hex digits"),
        ("OPSAPI_OUTBOUND_PROXY", "proxy.example:3128", "not a URL of the form http://host:port"),
        ("OPSAPI_OUTBOUND_NO_PROXY", "a b", "'a b' is not a host name"),
    ],
)
def test_a_malformed_setting_of_the_platform_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=f"^{name}: .*{re.escape(words)}"):
        runpy.run_path(settings.__file__)


@each(
    ("reader", "args", "default", "allowed"),
    [
        ("choice", ("x", ("x", "y")), "x", "`x`, `y`"),
        ("number", (2, 1, 64), "2", "whole number, 1 to 64"),
        ("flag", (False,), "false", "`true`, `false`"),
        ("url", (), "", "http or https URL"),
    ],
    ids=str,
)
def test_default_and_allowed_values_are_written_down(
    reader: str, args: tuple[Any, ...], default: str, allowed: str
) -> None:
    read(reader, *args)
    assert environment.READ[NAME] == Setting(NAME, default, allowed)


def test_a_list_is_read_and_its_default_written_down() -> None:
    assert read("words", ["a", "b"], allowed="names") == ["a", "b"]
    assert environment.READ[NAME] == Setting(NAME, "a,b", "names, separated by commas")


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text(f"{NAME}=file\nOPSAPI_TRIAL_TWO=file\n")
    monkeypatch.setenv("OPSAPI_ENV_FILE", str(file))
    monkeypatch.setenv(NAME, "environment")
    monkeypatch.delenv("OPSAPI_TRIAL_TWO", raising=False)
    environment.lines_of(tmp_path / ".env")
    assert (read("text"), environment.text("OPSAPI_TRIAL_TWO")) == ("environment", "file")
    monkeypatch.setenv("OPSAPI_TRIAL_TWO", "")  # so that the end of the test removes the value


def test_the_settings_of_this_process_were_written_down() -> None:
    assert {"OPSAPI_BIND", "DATABASE_URL", "OPSAPI_ENV_FILE", metric_files.VARIABLE} <= READ.keys()


def test_authorities_are_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, _ = make_certificate(tmp_path)
    monkeypatch.setenv(NAME, certificate.name)
    assert read("authorities", tmp_path) == str(certificate)
    monkeypatch.delenv(NAME)
    assert read("authorities", tmp_path) == ""


@pytest.mark.parametrize(
    "content", [None, b"", b"no certificate"], ids=["missing", "empty", "something else"]
)
def test_a_file_without_authorities_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv(NAME, str(path))
    with pytest.raises(ImproperlyConfigured, match=f"^{NAME}: .*ca.pem") as caught:
        read("authorities", tmp_path)
    assert "\n" not in str(caught.value)
