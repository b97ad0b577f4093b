"""The sender: reports arrive in order and once, and no answer of the platform stops it for good."""

import json
import logging
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from accesslist.digest.rules import ha1, response
from automation.agent import client as answering
from automation.agent import sender as sending
from automation.agent.client import LONGEST_WAIT, Client, NoChallenge, Unreachable, _retry_after, clock_words
from automation.agent.report import bodies_of
from automation.agent.sender import Sender, Spool, Waiting
from tests.each import each
from tests.eventually import eventually
from tests.receivers import HttpReceiver

GROUP = "0123456789abcdef01234567"
NAME = "db1.example.com"
NOW = datetime(2026, 11, 21, 7, 26, 14, tzinfo=UTC)
CHALLENGE = {
    "WWW-Authenticate": 'Digest realm="Ops Public API", domain="", nonce="n1", algorithm=MD5, qop="auth"'
}


def bare(body: bytes) -> bytes:
    """A report without the fields that the sender adds at each attempt."""
    return re.sub(rb'^\{("waiting":[0-9]+,)?("observed":"[^"]*",)?', b"{", body)


class FakePlatform:
    """Answers each report with the next status and document of a script, and the last for ever."""

    def __init__(self, receiver: HttpReceiver) -> None:
        self.receiver = receiver
        self.script: list[tuple[int, dict[str, str], object]] = [(202, {}, {})]
        self.taken: list[tuple[str, bytes]] = []
        self.sent: list[dict[str, Any]] = []
        self.is_busy_before_challenges = False
        self._guard = threading.Lock()
        receiver.behave(self._answer)

    def say(self, *answers: tuple[int, dict[str, str], object]) -> None:
        """From now on answer so."""
        self.script = list(answers)

    def asked(self) -> list[tuple[str, bytes]]:
        """Idempotency-Key and body of every report that came with credentials."""
        return [
            (request.headers["Idempotency-Key"], bare(request.body))
            for request in self.receiver.requests
            if "Authorization" in request.headers
        ]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        if "Authorization" not in handler.headers and not self.is_busy_before_challenges:
            return self._write(handler, 401, CHALLENGE, {})
        with self._guard:
            status, headers, document = self.script[0]
            if len(self.script) > 1:
                self.script.pop(0)
        if status == 202:
            last = self.receiver.requests[-1]
            self.sent.append(json.loads(last.body or b"{}"))
            self.taken.append((last.headers["Idempotency-Key"], bare(last.body)))
        return self._write(handler, status, headers, document)

    @staticmethod
    def _write(
        handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], document: object
    ) -> None:
        octets = json.dumps(document).encode()
        if status == 0:
            handler.connection.close()  # the answer is lost
            return
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(octets))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(octets)


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    """One that takes everything."""
    with HttpReceiver().running() as receiver:
        yield FakePlatform(receiver)


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    """An empty spool, whose clock does not move."""
    made = Spool(tmp_path / "spool", lambda: 1_795_000_000.0)
    yield made
    made.close()


@pytest.fixture
def sender(platform: FakePlatform, spool: Spool, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sender]:
    """One that is not started, and takes short pauses."""
    monkeypatch.setattr(sending, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(sending, "LONGEST_PAUSE", 0.02)
    url = platform.receiver.url("")
    made = Sender(
        Client(url=url, group_id=GROUP, public_key="KEY", private_key="secret", timeout=20), spool, NAME
    )
    yield made
    made.stop(60)


def report(number: int, *metrics: str) -> bytes:
    """A report of one host."""
    measurements = [{"metricName": name, "number": number} for name in metrics]
    return json.dumps({"hosts": [{"hostname": "db1", "measurements": measurements}]}).encode()


def send(sender: Sender, spool: Spool, *bodies: bytes) -> None:
    """Put them, and wait until nothing waits."""
    for body in bodies:
        spool.put(body)
    sender.start()
    sender.wake()
    eventually(lambda: not len(spool), message="everything is sent or dropped")


def test_reports_are_sent_in_order_with_credentials(
    sender: Sender, spool: Spool, platform: FakePlatform
) -> None:
    send(sender, spool, report(1), report(2), report(3))
    assert [body for _, body in platform.taken] == [report(1), report(2), report(3)]
    last = platform.receiver.requests[-1]
    assert last.path == f"/agents/v1.0/groups/{GROUP}/reports"
    given = dict(re.findall(r'(\w+)="?([^",]+)"?', last.headers["Authorization"]))
    secret = ha1("KEY", "Ops Public API", "secret")
    expected = response(secret, "POST", last.path, "n1", given["nc"], given["cnonce"])
    assert (given["nc"], given["response"]) == ("00000003", expected)


def test_a_lost_answer_is_repeated_under_the_same_key(
    sender: Sender, spool: Spool, platform: FakePlatform
) -> None:
    platform.say((0, {}, {}), (0, {}, {}), (202, {}, {}))
    send(sender, spool, report(1))
    asked = platform.asked()
    assert len(asked) == 3
    assert len(set(asked)) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 502, 503, 302])
def test_what_may_be_put_right_waits_and_keeps_its_order(
    sender: Sender, spool: Spool, platform: FakePlatform, status: int
) -> None:
    headers = CHALLENGE if status == 401 else {"Location": "http://127.0.0.1:1/"}
    platform.say(*[(status, headers, {"detail": "no"})] * 4, (202, {}, {}))
    send(sender, spool, report(1), report(2))
    assert [body for _, body in platform.taken] == [report(1), report(2)]


def test_reports_under_a_former_name_of_the_agent_are_sent_under_its_name(
    sender: Sender, spool: Spool, platform: FakePlatform
) -> None:
    body = b'{"agentType":"MONITORING","hostname":"%s","version":"1","hosts":[{"hostname":"db0"}]}'
    send(sender, spool, body % b"db0", body % NAME.encode())
    assert [(report["hostname"], report["hosts"]) for report in platform.sent] == [
        (NAME, [{"hostname": "db0"}])
    ] * 2


def test_a_proxy_that_rewrites_paths_loses_no_report(
    sender: Sender, spool: Spool, platform: FakePlatform
) -> None:
    refusal = {"errorCode": "INVALID_AUTHORIZATION_URI", "detail": "a proxy"}
    platform.say(*[(400, {}, refusal)] * 2, (202, {}, {}))
    send(sender, spool, report(1), report(2))
    assert [body for _, body in platform.taken] == [report(1), report(2)]


@pytest.mark.parametrize("status", [404, 429, 503])
def test_an_answer_that_comes_before_a_challenge_is_reported_as_it_is(
    platform: FakePlatform, status: int
) -> None:
    platform.is_busy_before_challenges = True
    platform.say((status, {"Retry-After": "7"}, {"errorCode": "BUSY", "detail": "no"}))
    client = Client(url=platform.receiver.url(""), group_id=GROUP, public_key="KEY", private_key="secret")
    answer = client.report(report(1), "a" * 32)
    assert (answer.status, answer.code, answer.retry_after) == (status, "BUSY", 7.0)


def test_a_platform_that_takes_anything_from_anybody_is_none(platform: FakePlatform) -> None:
    platform.is_busy_before_challenges = True
    client = Client(url=platform.receiver.url(""), group_id=GROUP, public_key="KEY", private_key="secret")
    with pytest.raises(NoChallenge):
        client.report(report(1), "a" * 32)


def test_an_answer_that_never_ends_is_no_answer(
    platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "LONGEST_REQUEST", -1.0)
    client = Client(url=platform.receiver.url(""), group_id=GROUP, public_key="KEY", private_key="secret")
    with pytest.raises(Unreachable):
        client.report(report(1), "a" * 32)


def test_headers_that_never_end_are_no_answer(
    platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "LONGEST_REQUEST", 0.2)
    ended, went_on = threading.Event(), []

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 202 Accepted\r\nX-Long: ")
        for _ in range(1000):
            if ended.wait(0.01):
                return
            handler.wfile.write(b"x")
        went_on.append(True)

    platform.receiver.behave(drip)
    client = Client(url=platform.receiver.url(""), group_id=GROUP, public_key="KEY", private_key="secret")
    with pytest.raises(Unreachable):
        client.report(report(1), "a" * 32)
    ended.set()
    assert not went_on


@pytest.mark.parametrize(
    ("ahead", "described"),
    [(90, "90 seconds ahead of"), (-90, "90 seconds behind"), (-600, "10 minutes behind")],
)
def test_the_clock_that_is_wrong_is_reported_by_how_much_and_in_which_direction(
    ahead: int, described: str
) -> None:
    date = datetime.now(UTC) - timedelta(seconds=ahead)
    assert clock_words(date) == f"{described} the platform's"


def test_an_agent_whose_clock_is_ahead_reports_its_hosts_without_measurements(
    sender: Sender, spool: Spool, platform: FakePlatform, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = {"badFields": [{"field": f"hosts[0].measurements[{number}].timestamp"} for number in range(2)]}
    platform.say((400, {}, refusal), (202, {}, {}))
    send(sender, spool, report(1, *["CONNECTIONS"] * 30))
    ((_, body),) = platform.taken
    assert json.loads(body)["hosts"] == [{"hostname": "db1", "measurements": []}]
    assert "ahead of the platform's" in caplog.text


@pytest.mark.parametrize("unknown", [(), ("problem",)])
def test_hosts_of_an_agent_with_a_wrong_clock_have_it_as_their_problem(
    sender: Sender, spool: Spool, platform: FakePlatform, unknown: tuple[str, ...]
) -> None:
    sender._unknown = sender._unknown | frozenset(unknown)
    document = json.loads(report(1, "CONNECTIONS"))
    document["hosts"][0]["reachable"] = True
    platform.say((400, {}, {"badFields": [{"field": "hosts[0].measurements[0].timestamp"}]}), (202, {}, {}))
    send(sender, spool, json.dumps(document).encode())
    (host,) = json.loads(platform.taken[-1][1])["hosts"]
    assert host["measurements"] == []
    assert ("clock" in host.get("problem", "")) is (not unknown)


def test_a_clock_that_is_wrong_is_logged_once_until_the_clocks_agree(
    sender: Sender, spool: Spool, platform: FakePlatform, caplog: pytest.LogCaptureFixture
) -> None:
    taken: tuple[int, dict[str, str], object] = (202, {}, {})
    refused: tuple[int, dict[str, str], object] = (
        400,
        {},
        {"badFields": [{"field": "hosts[0].measurements[0].timestamp"}]},
    )
    caplog.set_level(logging.INFO)
    platform.say(refused, taken, refused, taken, taken, taken, refused, taken)
    send(sender, spool, *(report(number, "CONNECTIONS") for number in range(5)))
    lines = [record.getMessage() for record in caplog.records if "clock" in record.getMessage()]
    assert [line.startswith("the clock of this machine is ") for line in lines] == [True, False, True]
    assert [
        record
        for record in caplog.records
        if record.levelno >= logging.ERROR and "clock" not in record.getMessage()
    ] == []


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_what_would_be_refused_again_is_reported_and_dropped(
    sender: Sender, spool: Spool, platform: FakePlatform, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    platform.say(
        (status, {}, {"errorCode": "INVALID_ATTRIBUTE", "detail": "agentType is wrong"}), (202, {}, {})
    )
    send(sender, spool, report(1), report(2))
    assert [body for _, body in platform.taken] == [report(2)]
    assert "INVALID_ATTRIBUTE: agentType is wrong" in caplog.text


def test_metrics_that_an_older_platform_does_not_know_are_left_out(
    sender: Sender, spool: Spool, platform: FakePlatform
) -> None:
    refusal = {
        "errorCode": "INVALID_METRIC_NAME",
        "badFields": [{"field": "hosts[0].measurements[1].metricName"}],
    }
    platform.say((400, {}, refusal), (202, {}, {}))
    send(sender, spool, report(1, "OLD", "NEW"))
    (key, body), (again, reduced) = platform.asked()
    assert key == again
    assert (body, reduced) == (
        report(1, "OLD", "NEW"),
        report(1, "OLD").replace(b", ", b",").replace(b": ", b":"),
    )
    assert set(sender.unknown) == {"NEW"}


def test_labels_that_an_older_platform_does_not_know_are_left_out(
    sender: Sender, spool: Spool, platform: FakePlatform
) -> None:
    (body,) = bodies_of([], hostname=NAME, version="1", labels={"env": "production"}, observed=NOW)
    platform.say((400, {}, {"badFields": [{"field": "labels"}]}), (202, {}, {}))
    send(sender, spool, body)
    ((_, taken),) = platform.taken
    without = {name: value for name, value in json.loads(body).items() if name != "labels"}
    assert json.loads(taken) == without
    assert without["observed"] == "2026-11-21T07:26:14Z"
    assert set(sender.unknown) == {"labels"}


_FIELDS = ["agentType", "hosts", "hostname"]


def test_reports_say_when_they_were_observed_and_how_many_newer_reports_wait(
    platform: FakePlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "FIRST_PAUSE", 0.01)
    moments = [NOW.timestamp(), NOW.timestamp() + 0.5, NOW.timestamp() + 60, NOW.timestamp() + 120]
    clock = moments[0]
    spool = Spool(tmp_path / "spool", lambda: clock)
    for number, moment in enumerate(moments):
        clock = moment
        spool.put(report(number))
    (timed,) = bodies_of([], hostname=NAME, version="1", labels={}, observed=NOW - timedelta(minutes=9))
    spool.put(timed)
    url = platform.receiver.url("")
    sender = Sender(Client(url=url, group_id=GROUP, public_key="KEY", private_key="secret"), spool, NAME)
    send(sender, spool)
    sender.stop(60)
    spool.close()
    # The first two reports are from one round. Reports of an earlier agent have the time at which they were
    # added.
    assert [(sent["observed"], sent["waiting"]) for sent in platform.sent] == [
        ("2026-11-21T07:26:14Z", 3),
        ("2026-11-21T07:26:14Z", 3),
        ("2026-11-21T07:27:14Z", 2),
        ("2026-11-21T07:28:14Z", 0),
        ("2026-11-21T07:17:14Z", 0),
    ]


@pytest.mark.parametrize("name", ["observed", "waiting"])
def test_times_that_an_older_platform_does_not_know_are_left_out(
    sender: Sender, spool: Spool, platform: FakePlatform, name: str
) -> None:
    (body,) = bodies_of([], hostname=NAME, version="1", labels={}, observed=NOW)
    platform.say((400, {}, {"badFields": [{"field": name, "allowed": _FIELDS}]}), (202, {}, {}))
    send(sender, spool, body, body)
    assert [name in sent for sent in platform.sent] == [False, False]
    assert set(sender.unknown) == {name}


def test_an_agent_whose_clock_is_wrong_sends_its_newest_report_without_its_time(
    sender: Sender, spool: Spool, platform: FakePlatform, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = {"badFields": [{"field": "observed", "allowed": ["now"]}]}
    platform.say((400, {}, refusal), (400, {}, refusal), (202, {}, {}))
    send(sender, spool, report(1, "CONNECTIONS"), report(2, "CONNECTIONS"))
    [sent] = platform.sent
    assert ("observed" in sent, sent["hosts"]) == (False, [{"hostname": "db1", "measurements": []}])
    assert not sender.unknown
    assert "ahead of the platform's" in caplog.text


def test_a_report_that_the_platform_has_accepted_before_is_done(
    sender: Sender, spool: Spool, platform: FakePlatform, caplog: pytest.LogCaptureFixture
) -> None:
    platform.say((422, {}, {"errorCode": "IDEMPOTENCY_KEY_REUSED"}), (202, {}, {}))
    send(sender, spool, report(1), report(2))
    assert [body for _, body in platform.taken] == [report(2)]
    assert not caplog.records


def test_waiting_reports_keep_their_labels_when_the_setting_changes(
    sender: Sender, spool: Spool, platform: FakePlatform
) -> None:
    made: list[bytes] = []
    for labels in ({"env": "test"}, {"env": "production"}, {}):
        made.extend(bodies_of([], hostname=NAME, version="1", labels=labels, observed=NOW))
    platform.say((503, {}, {}), (202, {}, {}))
    send(sender, spool, *made)
    assert [body for _, body in platform.taken] == made
    assert [json.loads(body)["labels"] for body in made] == [{"env": "test"}, {"env": "production"}, {}]


def test_a_refusal_that_never_ends_ends(
    sender: Sender, spool: Spool, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "_MOST_REDUCTIONS", 3)
    platform.say((400, {}, {"badFields": [{"field": "hosts[0].measurements[0].number"}]}))
    send(sender, spool, report(1, *["OLD"] * 30))
    assert len(platform.asked()) == 4


def test_a_fault_of_our_own_ends_no_sender(
    sender: Sender, spool: Spool, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise KeyError("hosts")

    monkeypatch.setattr(sending, "without", fails)
    platform.say((400, {}, {}), (202, {}, {}))
    send(sender, spool, report(1, "OLD"))
    assert len(platform.taken) == 1


def test_a_spool_that_cannot_be_read_for_a_moment_ends_no_sender(
    sender: Sender, spool: Spool, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [OSError(24, "Too many open files"), OSError(5, "Input/output error")]
    first = spool.first

    def fails_twice(oldest: float) -> tuple[Waiting, bytes] | None:
        if faults:
            raise faults.pop()
        return first(oldest)

    monkeypatch.setattr(spool, "first", fails_twice)
    send(sender, spool, report(1))
    assert len(platform.taken) == 1


def test_a_stop_leaves_what_is_not_sent(sender: Sender, spool: Spool, platform: FakePlatform) -> None:
    platform.say((503, {"Retry-After": "600"}, {}))
    spool.put(report(1))
    sender.start()
    eventually(platform.asked)
    sender.stop(60)
    assert len(spool) == 1


@each(
    ("text", "seconds"),
    [
        ("30", 30.0),
        ("99999", LONGEST_WAIT),
        ("-3", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0),
        ("Fri, 31 Dec 2199 23:59:59 GMT", LONGEST_WAIT),
    ],
)
def test_retry_after_is_read_within_bounds(text: str | None, seconds: float | None) -> None:
    assert _retry_after(text) == seconds


def test_waiting_ends_when_the_agent_is_stopped(sender: Sender, spool: Spool, platform: FakePlatform) -> None:
    platform.say((503, {}, {}))
    spool.put(report(1))
    sender.start()
    stop = threading.Event()
    stop.set()
    assert not sender.drain(3600, stop)
    assert len(spool) == 1
