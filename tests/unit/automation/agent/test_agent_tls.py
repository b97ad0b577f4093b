"""TLS of the agent with the platform: the same certificates are accepted on every version of Python."""

import ssl
from pathlib import Path

import pytest

from automation.agent.check import check
from automation.agent.client import Client, Unreachable, trusting
from automation.agent.settings import Settings
from opsapi.outbound.trust import Purpose
from opsapi.outbound.trust import trusting as trusting_of_platform
from tests.processes.certificates import Authority
from tests.receivers import HttpReceiver

STRICT, PARTIAL = ssl.VERIFY_X509_STRICT, ssl.VERIFY_X509_PARTIAL_CHAIN
OF_311, OF_313 = ssl.VerifyFlags(0), STRICT | PARTIAL
"""What Python 3.11 and 3.13 add to the flags."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """An authority without keyUsage, as many companies have."""
    return Authority(tmp_path / "ca")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has."""
    monkeypatch.setenv("no_proxy", "*")


def default_flags(monkeypatch: pytest.MonkeyPatch, flags: ssl.VerifyFlags) -> None:
    """Let Python's default contexts have these flags, as another version does."""
    create = ssl.create_default_context

    def creating() -> ssl.SSLContext:
        context = create()
        context.verify_flags = context.verify_flags & ~(STRICT | PARTIAL) | flags
        return context

    monkeypatch.setattr(ssl, "create_default_context", creating)


def server(authority: Authority, name: str = "localhost") -> HttpReceiver:
    """A platform that is busy, with a certificate for the name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue(name, name))
    receiver = HttpReceiver(context)
    receiver.answer(503, {}, b"{}")
    return receiver


def client_at(receiver: HttpReceiver, url: str = "") -> Client:
    """An agent's client of this platform."""
    url = url or receiver.url("", host="localhost")
    return Client(url=url, group_id="0" * 24, public_key="a", private_key="b")


def checked(url: str, spool_dir: Path) -> tuple[bool, list[str]]:
    """The result and the lines of `--check` of an agent that watches nothing."""
    settings = Settings(
        url=url,
        group_id="0" * 24,
        public_key="a",
        private_key="b" * 36,
        postgresql=(),
        mongodb=(),
        labels={},
        backup_markers={},
        interval=60,
        spool_dir=spool_dir,
        hostname="agent1",
        update=True,
        automation=False,
        automation_dirs=(),
    )
    lines: list[str] = []
    return check(lambda: settings, None, lines.append), lines


@pytest.mark.parametrize("flags", [OF_311, OF_313], ids=["3.11", "3.13"])
@pytest.mark.parametrize("is_issuing", [False, True], ids=["root without keyUsage", "issuing authority"])
def test_report_and_check_accept_the_same_authorities(
    authority: Authority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: ssl.VerifyFlags,
    *,
    is_issuing: bool,
) -> None:
    default_flags(monkeypatch, flags)
    signing = authority.authority("issuing") if is_issuing else authority
    monkeypatch.setenv("SSL_CERT_FILE", str(signing.file))
    with server(signing).running() as receiver:
        assert client_at(receiver).report(b"{}").status == 503
        _, lines = checked(receiver.url("", host="localhost"), tmp_path)
    assert [line[:2] for line in lines if "TLS with localhost" in line] == ["ok"]


def test_the_flags_equal_the_flags_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    for flags in (OF_311, OF_313):
        default_flags(monkeypatch, flags)
        context = trusting()
        assert context.verify_flags == trusting_of_platform(Purpose.RECEIVER).verify_flags
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_the_reason_of_the_tls_library_is_shown(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    other = Authority(tmp_path / "other", "Another authority")
    unencrypted = HttpReceiver()
    for receiver, reason in (
        (server(other), "unable to get local issuer certificate"),
        (server(authority, "other.example"), "Hostname mismatch"),
        (unencrypted, "wrong version number"),
    ):
        with receiver.running():
            url = receiver.url("", host="localhost").replace("http:", "https:")
            with pytest.raises(Unreachable) as caught:
                client_at(receiver, url).report(b"{}")
            works, lines = checked(url, tmp_path)
            assert not works
        assert reason in str(caught.value)
        assert "_ssl.c" not in str(caught.value)
        assert receiver.requests == []
        assert [reason in line for line in lines if line.startswith("FAILED")] == [True]
