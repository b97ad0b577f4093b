"""Each row of the table of stages of mail, with a real server that gives the answer of the row."""

import socket
import ssl
from pathlib import Path

import pytest
from pytest_django import Settings

from integrations.channels.base import DeliveryError
from integrations.channels.delivery import deliver
from integrations.channels.email import EMAIL, send
from integrations.channels.stages import (
    ANYTHING,
    INCOMPLETE,
    MAIL,
    UNREADABLE_CODE,
    Quote,
    Receipt,
    StageRow,
    row_of,
)
from integrations.choices import DeliveryFault, DeliveryStatus
from opsapi.outbound import smtp
from opsapi.outbound.errors import OutboundReason, Stage
from opsapi.outbound.mail import mails_while
from tests.integration.channels.tried_rows import (
    REFUSED_BY_TLS,
    TriedRows,
    asking_for_certificates,
    full_port,
    hanging_resolver,
)
from tests.processes.certificates import make_certificate
from tests.scripted_mail import NoReply, Reply, ScriptedMailServer
from tests.unit.integrations.messages import NOW, make_message

CONFIG = {"emailAddress": "oncall@example.com"}
CODES = {"4xx": 451, "5xx": 554, ANYTHING: 571, UNREADABLE_CODE: 355}
ROWS = [(row, answer) for row in MAIL for answer in row.answers if row.status is not DeliveryStatus.DELIVERED]
UNSAID = {Stage.SETTINGS, Stage.RESOLVE, Stage.CONNECT}
TRIED = TriedRows()
SAID = TRIED.all_of(
    (row, answer)
    for row, answer in ROWS
    if row.stage not in UNSAID
    and answer != OutboundReason.OVERDUE
    and (row.stage, answer) != (Stage.TLS, OutboundReason.TIMED_OUT)
)


def name_of(value: object) -> str | None:
    """The name of a row's test."""
    return str(value.stage) if isinstance(value, StageRow) else None


@pytest.fixture
def server_tls(tmp_path: Path) -> ssl.SSLContext:
    """The TLS of a server with a certificate that is not trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_certificate(tmp_path))
    return context


def reply_of(answer: str) -> Reply:
    """The action of the server that gives this answer."""
    match answer:
        case OutboundReason.NO_ANSWER:
            return NoReply.CLOSE
        case OutboundReason.BAD_RESPONSE:
            return b"hello there\r\n"
        case _:
            code = CODES.get(answer) or int(answer)
            return b"%d-5.7.0 first line\r\n%d 5.7.0 said the server\r\n" % (code, code)


def failure_of(config: dict[str, str] = CONFIG) -> DeliveryError:
    """Why sending fails."""
    with pytest.raises(DeliveryError) as caught:
        send(config, make_message(), now=NOW)
    return caught.value


def assert_as_declared(failure: DeliveryError, row: StageRow) -> None:
    """The failure is that of the row."""
    assert (failure.retryable, failure.fault, failure.perhaps_received) == (
        row.is_retried,
        row.fault,
        row.receipt is Receipt.PERHAPS,
    )
    assert failure.reason.startswith(row.said.partition("{")[0])


@pytest.mark.parametrize(("row", "answer"), SAID, ids=name_of)
def test_each_answer_has_the_consequence_of_its_row(
    row: StageRow, answer: str, settings: Settings, server_tls: ssl.SSLContext
) -> None:
    script: dict[Stage, Reply] = {}
    if row.stage is Stage.TLS:
        script = {Stage.TLS: NoReply.CLOSE} if answer == OutboundReason.NO_ANSWER else {}
    elif answer == OutboundReason.NOT_OFFERED:
        script = {Stage.EHLO: b"250 mail.example\r\n"}
    elif answer != OutboundReason.INCOMPLETE:
        script = {row.stage: reply_of(answer)}
    context = server_tls if answer == OutboundReason.BAD_CERTIFICATE else None
    with ScriptedMailServer(script, context=context).running() as server:
        server.named_by(settings)
        settings.EMAIL_USE_TLS = row.stage in {Stage.STARTTLS, Stage.TLS}
        if row.stage is Stage.AUTH:
            settings.EMAIL_HOST_USER = "ops"
            settings.EMAIL_HOST_PASSWORD = (
                "\N{SNOWMAN}" if answer == OutboundReason.INCOMPLETE else "hunter22"
            )
        failure = failure_of()
    assert_as_declared(failure, row)
    assert ("said the server" in failure.peer) is (row.quote is Quote.PEER)
    assert (server.mails == []) is (row.stage is not Stage.END)


@TRIED.by(Stage.DATA, OutboundReason.OVERDUE)
def test_a_mail_that_nobody_wants_any_more_is_not_sent(settings: Settings) -> None:
    with ScriptedMailServer().running() as server, mails_while(lambda: False):
        server.named_by(settings)
        failure = failure_of()
    assert_as_declared(failure, row_of(MAIL, Stage.DATA, OutboundReason.OVERDUE))
    assert server.mails == []


@TRIED.by(Stage.RESOLVE, OutboundReason.UNRESOLVABLE)
def test_a_name_without_an_address_is_the_fault_of_the_host(settings: Settings) -> None:
    with ScriptedMailServer().running() as server:
        server.named_by(settings)
        settings.EMAIL_HOST = "mail.invalid"
        assert_as_declared(failure_of(), row_of(MAIL, Stage.RESOLVE, OutboundReason.UNRESOLVABLE))


@TRIED.by(Stage.RESOLVE, OutboundReason.TIMED_OUT)
def test_a_resolver_that_hangs_is_the_fault_of_the_host(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "SECONDS", {**smtp.SECONDS, Stage.RESOLVE: 0.05})
    with ScriptedMailServer().running() as server, hanging_resolver(monkeypatch, "mail.example"):
        server.named_by(settings)
        settings.EMAIL_HOST = "mail.example"
        assert_as_declared(failure_of(), row_of(MAIL, Stage.RESOLVE, OutboundReason.TIMED_OUT))


@TRIED.by(Stage.TLS, OutboundReason.TIMED_OUT)
def test_a_server_that_never_answers_in_tls_is_the_fault_of_the_host(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "SECONDS", {**smtp.SECONDS, Stage.TLS: 0.1})
    with ScriptedMailServer({Stage.TLS: NoReply.WAIT}).running() as server:
        server.named_by(settings)
        settings.EMAIL_USE_TLS = True
        assert_as_declared(failure_of(), row_of(MAIL, Stage.TLS, OutboundReason.TIMED_OUT))
    assert server.mails == []


@pytest.mark.parametrize("is_implicit", [False, True], ids=["STARTTLS", "implicit"])
@pytest.mark.parametrize(("version", "said"), REFUSED_BY_TLS.items())
def test_a_server_that_asks_for_a_certificate_refuses_in_tls(
    settings: Settings, tmp_path: Path, version: ssl.TLSVersion, said: str, is_implicit: bool
) -> None:
    settings.OPSAPI_OUTBOUND_CA_FILE = str(tmp_path / "cert.pem")
    context = asking_for_certificates(tmp_path, version)
    with ScriptedMailServer(context=context, is_implicit=is_implicit).running() as server:
        server.named_by(settings)
        settings.EMAIL_USE_SSL, settings.EMAIL_USE_TLS = is_implicit, not is_implicit
        failure = failure_of()
    assert_as_declared(failure, row_of(MAIL, Stage.TLS, OutboundReason.BAD_TLS))
    assert failure.detail.endswith(said)
    assert server.mails == []


@TRIED.by(Stage.SETTINGS, OutboundReason.INCOMPLETE)
def test_a_mail_without_an_address_fails_for_good(settings: Settings) -> None:
    with ScriptedMailServer().running() as server:
        server.named_by(settings)
        outcome = deliver(EMAIL.type, {}, make_message(), now=NOW)
    assert (outcome.status, outcome.fault, outcome.perhaps_received) == (
        INCOMPLETE.status,
        INCOMPLETE.fault,
        False,
    )
    assert server.commands == []


@TRIED.by(Stage.END, "2xx")
def test_a_mail_that_the_server_takes_is_delivered(settings: Settings) -> None:
    with ScriptedMailServer().running() as server:
        server.named_by(settings)
        outcome = deliver(EMAIL.type, CONFIG, make_message(), now=NOW)
    assert (outcome.status, len(server.mails)) == (DeliveryStatus.DELIVERED, 1)


def test_each_row_is_tried() -> None:
    assert TRIED.missing([INCOMPLETE, *MAIL]) == set()


@TRIED.by(Stage.CONNECT, OutboundReason.NOT_CONNECTED)
def test_a_closed_port_is_the_fault_of_the_host(settings: Settings) -> None:
    with ScriptedMailServer().running() as server:
        server.named_by(settings)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        settings.EMAIL_PORT = closed.getsockname()[1]
    failure = failure_of()
    assert_as_declared(failure, row_of(MAIL, Stage.CONNECT, OutboundReason.NOT_CONNECTED))
    assert failure.detail == "connection refused"


@TRIED.by(Stage.CONNECT, OutboundReason.TIMED_OUT)
def test_a_port_that_drops_packets_is_the_fault_of_the_host(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "SECONDS", {**smtp.SECONDS, Stage.CONNECT: 0.2})
    with ScriptedMailServer().running() as server, full_port() as port:
        server.named_by(settings)
        settings.EMAIL_PORT = port
        failure = failure_of()
    assert_as_declared(failure, row_of(MAIL, Stage.CONNECT, OutboundReason.TIMED_OUT))


@pytest.mark.parametrize("stage", [Stage.GREETING, Stage.EHLO, Stage.MAIL, Stage.RCPT, Stage.DATA, Stage.END])
def test_a_server_that_takes_its_time_gets_the_mail(stage: Stage, settings: Settings) -> None:
    with ScriptedMailServer({stage: NoReply.WAIT}).running() as server:
        server.named_by(settings)
        server.release_who_waits()
        send(CONFIG, make_message(), now=NOW)
    assert len(server.mails) == 1


def test_the_time_limits_follow_rfc_5321() -> None:
    """RFC 5321 4.5.3.2."""
    minutes = {stage: smtp.SECONDS[stage] / 60 for stage in smtp.SECONDS}
    assert (minutes[Stage.GREETING], minutes[Stage.MAIL], minutes[Stage.RCPT]) == (5, 5, 5)
    assert (minutes[Stage.DATA], smtp.BLOCK_SECONDS / 60, minutes[Stage.END]) == (2, 3, 10)
    assert EMAIL.longest_attempt.total_seconds() >= sum(smtp.SECONDS.values())


@pytest.mark.parametrize(
    ("stage", "perhaps"), [(Stage.GREETING, False), (Stage.RCPT, False), (Stage.END, True)]
)
def test_only_after_the_dot_a_missing_reply_leaves_open_whether_the_mail_arrived(
    stage: Stage, perhaps: bool, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "SECONDS", {**smtp.SECONDS, stage: 0.1})
    with ScriptedMailServer({stage: NoReply.WAIT}).running() as server:
        server.named_by(settings)
        failure = failure_of()
    assert (failure.retryable, failure.perhaps_received) == (True, perhaps)


@pytest.mark.parametrize(
    ("stage", "is_taken"), [(Stage.GREETING, False), (Stage.RCPT, False), (Stage.END, True)]
)
def test_a_reply_without_end_counts_as_its_first_line_and_ends_the_conversation(
    stage: Stage, is_taken: bool, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "SECONDS", {**smtp.SECONDS, stage: 1.5})
    endless = b"".join(b"250-%d\r\n" % number for number in range(150))
    endless = endless.replace(b"250", b"220") if stage is Stage.GREETING else endless
    with ScriptedMailServer({stage: endless}).running() as server:
        server.named_by(settings)
        if is_taken:
            send(CONFIG, make_message(), now=NOW)
        else:
            assert failure_of().retryable
    assert len(server.mails) == is_taken


@pytest.mark.parametrize("reply", [b"250-queued\r\n", b"250-queued\r\ngarbage\r\n"])
def test_an_acceptance_that_breaks_off_is_an_acceptance(
    reply: bytes, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "SECONDS", {**smtp.SECONDS, Stage.END: 1.5})
    with ScriptedMailServer({Stage.END: reply}).running() as server:
        server.named_by(settings)
        send(CONFIG, make_message(), now=NOW)
    assert len(server.mails) == 1


@pytest.mark.parametrize(
    ("stage", "reply"),
    [
        (Stage.RCPT, b"250-known\r\n550 no said the server\r\n"),
        (Stage.END, b"250-scanning\r\n550 5.7.1 spam said the server\r\n"),
        (Stage.END, b"550 " + b"x" * 2_044 + b"250 y\r\n"),
    ],
)
def test_a_reply_with_a_refusal_in_any_line_is_a_refusal(
    stage: Stage, reply: bytes, settings: Settings
) -> None:
    with ScriptedMailServer({stage: reply}).running() as server:
        server.named_by(settings)
        assert_as_declared(failure_of(), row_of(MAIL, stage, 550))


@pytest.mark.parametrize(
    "script",
    [
        {Stage.GREETING: b"220 " + b"x" * 3_000 + b"\r\n"},
        {Stage.EHLO: b"250-" + b"x" * 3_000 + b"\r\n250 SIZE 10000000\r\n"},
        {Stage.EHLO: b"250-X\r\n" * 150 + b"250 SIZE 10000000\r\n"},
        {Stage.MAIL: b"250 " + b"x" * 3_000 + b"\r\n"},
        {Stage.DATA: b"354 " + b"x" * 2_044 + b"250 y\r\n"},
    ],
)
def test_long_lines_and_many_lines_are_read_to_their_end(
    script: dict[Stage, Reply], settings: Settings
) -> None:
    with ScriptedMailServer(script).running() as server:
        server.named_by(settings)
        send(CONFIG, make_message(), now=NOW)
    assert len(server.mails) == 1


def test_a_refusal_after_a_long_line_is_a_refusal(settings: Settings) -> None:
    script: dict[Stage, Reply] = {
        Stage.DATA: b"354 " + b"x" * 2_044 + b"250 y\r\n",
        Stage.END: b"550 refused said the server\r\n",
    }
    with ScriptedMailServer(script).running() as server:
        server.named_by(settings)
        assert_as_declared(failure_of(), row_of(MAIL, Stage.END, 550))


def test_a_server_that_refuses_ehlo_is_asked_with_helo(settings: Settings) -> None:
    with ScriptedMailServer({Stage.EHLO: b"502 what\r\n"}).running() as server:
        server.named_by(settings)
        assert failure_of().reason == "the mail server answered 502"
    assert [command.split()[0] for command in server.commands[:2]] == [b"ehlo", b"helo"]


def test_the_mail_is_seven_bit_whatever_the_server_offers(settings: Settings) -> None:
    message = make_message(target="db-\N{LATIN SMALL LETTER U WITH DIAERESIS}.example.com:27017")
    for offered in (b"250 mail.example\r\n", b"250-mail.example\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n"):
        with ScriptedMailServer({Stage.EHLO: offered}).running() as server:
            server.named_by(settings)
            send(CONFIG, message, now=NOW)
        [mail] = server.mails
        assert mail.isascii()
        assert mail.count(b"Content-Transfer-Encoding: quoted-printable") == 2
        assert max(len(line) for line in mail.splitlines()) <= 998


def test_a_line_that_begins_with_a_dot_arrives(settings: Settings) -> None:
    with ScriptedMailServer().running() as server:
        server.named_by(settings)
        smtp.converse(
            smtp.MailServer(host="127.0.0.1", port=server.port, helo="ops.example"),
            sender="a@example.com",
            recipient="b@example.com",
            mail=b"Subject: x\r\n\r\n.\r\n..two\r\n",
            within=None,
        )
    assert server.mails == [b"Subject: x\r\n\r\n..\r\n...two\r\n"]


@TRIED.by(Stage.SETTINGS, OutboundReason.INVALID_ADDRESS)
@pytest.mark.parametrize("address", ["j\N{LATIN SMALL LETTER O WITH DIAERESIS}rg@example.com"])
def test_an_address_that_needs_smtputf8_is_refused_with_the_reason(address: str, settings: Settings) -> None:
    with ScriptedMailServer().running() as server:
        server.named_by(settings)
        failure = failure_of({"emailAddress": address})
    assert (failure.fault, failure.retryable) == (DeliveryFault.MESSAGE, False)
    assert "outside ASCII" in failure.detail
    assert server.commands == []


def test_a_domain_outside_ascii_is_written_in_ascii(settings: Settings) -> None:
    with ScriptedMailServer().running() as server:
        server.named_by(settings)
        send(
            {"emailAddress": "ops@b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example"},
            make_message(),
            now=NOW,
        )
    assert b"rcpt to:<ops@xn--bcher-kva.example>" in [command.lower() for command in server.commands]


def test_the_reply_is_shown_without_secrets(settings: Settings) -> None:
    said = b"535 5.7.8 <oncall@example.com> hunter22 from 10.1.2.3 denied\x07\r\n"
    with ScriptedMailServer({Stage.AUTH: said}).running() as server:
        server.named_by(settings)
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "ops", "hunter22"
        outcome = deliver(EMAIL.type, CONFIG, make_message(), now=NOW)
    assert outcome.reason == "the mail server answered 535 5.7.8 <******> ****** from ****** denied"
    assert (outcome.status, outcome.fault) == (DeliveryStatus.RETRY, DeliveryFault.SETTINGS)
