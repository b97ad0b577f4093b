"""Hosts as people and attackers write them, and names whose addresses change."""

from collections.abc import Iterator, Sequence

import pytest
from pytest_django import Settings

from opsapi.outbound import OutboundError, OutboundReason, post
from tests.receivers import LOOPBACK, HttpReceiver
from tests.unit.opsapi.outbound.names import answer_names

REFUSED, UNRESOLVABLE, INVALID = (
    OutboundReason.REFUSED_ADDRESS,
    OutboundReason.UNRESOLVABLE,
    OutboundReason.INVALID_URL,
)


def reason_of(url: str) -> OutboundReason:
    """Why a POST there gets no answer."""
    with pytest.raises(OutboundError) as caught:
        post(url, b"{}", {}, total_timeout=5.0)
    return caught.value.reason


@pytest.fixture
def guarded(http_receiver: HttpReceiver, settings: Settings) -> Iterator[HttpReceiver]:
    """A receiver on loopback that nobody may reach."""
    settings.OPSAPI_OUTBOUND_ALLOW = []
    yield http_receiver
    assert http_receiver.requests == []


@pytest.mark.parametrize(
    ("host", "reasons"),
    [
        ("LOCALHOST", {REFUSED}),
        # Resolvers differ on a final dot; none of them leads inside.
        ("localhost.", {REFUSED, UNRESOLVABLE}),
        ("127.0.0.1.", {REFUSED, UNRESOLVABLE}),
        ("127.0.1", {REFUSED}),
        ("0x7f000001", {REFUSED}),
        ("0X7F000001", {REFUSED}),
        ("0x7f.0.0.0x1", {REFUSED}),
        ("017700000001", {REFUSED}),
        ("00000177.1", {REFUSED}),
        ("%31%32%37.0.0.1", {REFUSED}),
        ("0", {REFUSED}),
        ("0.0.0.0", {REFUSED}),
        ("0xa9fea9fe", {REFUSED}),
        ("2852039166", {REFUSED}),
        ("0251.0376.0251.0376", {REFUSED}),
        ("[::]", {REFUSED}),
        ("[0000::1]", {REFUSED}),
        ("[::127.0.0.1]", {REFUSED}),
        ("[::ffff:7f00:1]", {REFUSED}),
        ("[0:0:0:0:0:ffff:127.0.0.1]", {REFUSED}),
        ("[64:ff9b::7f00:1]", {REFUSED}),
        ("[2002:7f00:1::]", {REFUSED}),
        ("[fe80::1%25lo]", {REFUSED, UNRESOLVABLE}),
        ("127.0.0.1\\@example.com", {REFUSED, INVALID}),
        ("4294967297", {UNRESOLVABLE}),
        ("0x100000000", {UNRESOLVABLE}),
        ("127.0.0.256", {UNRESOLVABLE}),
        ("\uff11\uff12\uff17.0.0.1", {INVALID}),
        ("127\u30020\u30020\u30021", {INVALID}),
        ("\u24dbocalhost", {INVALID}),
        ("localhost%00.example.com", {INVALID}),
        ("example.com@127.0.0.1", {INVALID}),
    ],
    ids=lambda value: ascii(value) if isinstance(value, str) else " or ".join(sorted(value)),
)
def test_no_spelling_of_an_inner_address_gets_through(
    guarded: HttpReceiver, host: str, reasons: set[OutboundReason]
) -> None:
    # A URL whose authority ends early has its port there.
    assert reason_of(guarded.url(host=host)) in reasons


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param(["8.8.8.8", "127.0.0.1"], id="beside a public one"),
        pytest.param(["::ffff:127.0.0.1"], id="mapped"),
        pytest.param(["64:ff9b::7f00:1"], id="behind NAT64"),
        pytest.param(["2002:7f00:1::1"], id="behind 6to4"),
        pytest.param(["169.254.169.254"], id="metadata"),
        pytest.param(["fd00:ec2::254"], id="metadata over IPv6"),
    ],
)
def test_a_name_that_leads_inside_is_refused(
    guarded: HttpReceiver, monkeypatch: pytest.MonkeyPatch, addresses: Sequence[str]
) -> None:
    answer_names(monkeypatch, {"hook.example": [addresses]})
    assert reason_of(guarded.url(host="hook.example")) is REFUSED


def test_the_connection_uses_the_checked_address(
    http_receiver: HttpReceiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    asked = answer_names(monkeypatch, {"hook.example": [["127.0.0.1"], ["10.0.0.1"]]})
    assert post(http_receiver.url(host="hook.example"), b"{}", {}).status == 200
    assert asked == ["hook.example"]


def test_a_name_that_has_moved_inside_is_refused_the_next_time(
    http_receiver: HttpReceiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    asked = answer_names(monkeypatch, {"hook.example": [["127.0.0.1"], ["10.0.0.1"]]})
    post(http_receiver.url(host="hook.example"), b"{}", {})
    assert reason_of(http_receiver.url(host="hook.example")) is REFUSED
    assert (len(asked), len(http_receiver.requests)) == (2, 1)
