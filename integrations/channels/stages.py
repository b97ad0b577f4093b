"""The table of stages: what an attempt to deliver a message means, for each stage of the conversation. Pure.

Each row is a stage of the conversation with a receiver and an answer there. It says where the fault lies,
whether the receiver has the message, whether the attempt is repeated, and which sentence people read. All
channels decide by it, and docs/reference/stages.md shows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from integrations.choices import DeliveryFault, DeliveryStatus
from opsapi.outbound.errors import NO_ANSWER, PUBLIC_TEXT, UNREACHABLE_THROUGH_PROXY, OutboundReason, Stage


class Receipt(StrEnum):
    """Whether the receiver has the message."""

    NOT = "certainly not"
    PERHAPS = "perhaps"
    CERTAIN = "certainly"


class Quote(StrEnum):
    """The text after the sentence of a row, in the notification log and on the page of the destination."""

    NOTHING = ""
    PEER = "the text of the receiver"
    LIBRARY = "the reason of the TLS library or the system"
    LOG_ONLY = "nothing; the server's log has the reason"


ANYTHING = "anything"
"""Each answer without a row of its own."""
UNREADABLE_CODE = "other code"
AFTER_2XX = f"{ANYTHING} after 2xx"


@dataclass(frozen=True, slots=True)
class StageRow:
    """A row of the table.

    `answers` are reply codes (`421`), classes of them (`4xx`), error names of a service, or an OutboundReason
    if there is no reply. `said` is a sentence with `{code}` for the code of the reply. `is_busy`: the
    receiver takes no messages at the moment, though it perhaps has this one. `is_forbidden`: the refusal
    would stay the same if the platform sent fewer messages.
    `posts_again`: the same attempt sends a new message instead, and its answer decides.
    """

    stage: Stage
    answers: tuple[str, ...]
    fault: DeliveryFault
    receipt: Receipt
    status: DeliveryStatus
    said: str
    quote: Quote = Quote.NOTHING
    is_busy: bool = False
    is_forbidden: bool = False
    posts_again: bool = False

    @property
    def joint(self) -> str:
        """The characters between the sentence and the text of the receiver."""
        return " " if self.said == _MAIL_ANSWERED else ": "

    @property
    def is_retried(self) -> bool:
        return self.status is DeliveryStatus.RETRY

    @property
    def is_reached(self) -> bool:
        """Whether a connection was established."""
        return self.stage not in _BEFORE


WORKER_DELAYED = "the worker was delayed before it could send the message"
_BEFORE = frozenset(
    {
        Stage.SETTINGS,
        Stage.RESOLVE,
        Stage.PROXY_RESOLVE,
        Stage.PROXY_CONNECT,
        Stage.PROXY_TLS,
        Stage.PROXY_ANSWER,
        Stage.CONNECT,
        Stage.TLS,
    }
)
_MESSAGE, _DESTINATION = DeliveryFault.MESSAGE, DeliveryFault.DESTINATION
_HOST, _SETTINGS = DeliveryFault.HOST, DeliveryFault.SETTINGS
_NOT, _PERHAPS, _CERTAIN = Receipt.NOT, Receipt.PERHAPS, Receipt.CERTAIN
_RETRY, _FAILED, _DELIVERED = DeliveryStatus.RETRY, DeliveryStatus.FAILED, DeliveryStatus.DELIVERED
_REASON = OutboundReason

INCOMPLETE = StageRow(
    Stage.SETTINGS,
    (_REASON.INCOMPLETE,),
    _SETTINGS,
    _NOT,
    _FAILED,
    "the settings of the platform or of the notification lack a value, or a value cannot be used",
)
"""Nothing can be sent. The sentence of the attempt names the value."""

_MAIL_UNREACHABLE = "the mail server could not be reached"
_MAIL_UNANSWERED = "the mail server did not answer"
_MAIL_ANSWERED = "the mail server answered {code}"
_NOT_SMTP = "the mail server did not send a valid SMTP reply"
_NOT_OFFERED = {
    Stage.STARTTLS: "the mail server does not offer STARTTLS",
    Stage.AUTH: "the mail server offers no log-in method that the platform supports",
}
_LOG_IN_CODES = ("530", "534", "535", "538")
"""Codes that ask for a log-in or encryption, or refuse the log-in (RFC 4954 6), at any command."""


def _before_mail(stage: Stage) -> Sequence[StageRow]:
    """The rows of a stage before MAIL. The fault is the server's, because each mail gets the same answer."""
    fault = _SETTINGS if stage is Stage.AUTH else _HOST
    rows = [
        StageRow(stage, (ANYTHING,), fault, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
        StageRow(stage, (_REASON.NO_ANSWER,), _HOST, _NOT, _RETRY, _unanswered(stage), Quote.LIBRARY),
        StageRow(stage, (_REASON.BAD_RESPONSE,), _HOST, _NOT, _RETRY, _NOT_SMTP),
    ]
    if stage is Stage.AUTH:
        rows.append(StageRow(stage, ("421", "4xx"), _HOST, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER))
    if stage in _NOT_OFFERED:
        rows.append(StageRow(stage, (_REASON.NOT_OFFERED,), _HOST, _NOT, _RETRY, _NOT_OFFERED[stage]))
    return rows


def _unanswered(stage: Stage) -> str:
    return f"{_MAIL_UNANSWERED} ({stage})"


MAIL: Sequence[StageRow] = (
    StageRow(
        Stage.SETTINGS,
        (_REASON.INVALID_ADDRESS,),
        _MESSAGE,
        _NOT,
        _FAILED,
        "the e-mail address is not valid",
        Quote.LIBRARY,
    ),
    StageRow(
        Stage.RESOLVE,
        (_REASON.UNRESOLVABLE, _REASON.TIMED_OUT),
        _HOST,
        _NOT,
        _RETRY,
        _MAIL_UNREACHABLE,
        Quote.LIBRARY,
    ),
    StageRow(
        Stage.CONNECT,
        (_REASON.NOT_CONNECTED, _REASON.TIMED_OUT),
        _HOST,
        _NOT,
        _RETRY,
        _MAIL_UNREACHABLE,
        Quote.LIBRARY,
    ),
    StageRow(
        Stage.TLS,
        (_REASON.BAD_CERTIFICATE,),
        _HOST,
        _NOT,
        _RETRY,
        "the certificate of the mail server could not be verified",
        Quote.LIBRARY,
    ),
    StageRow(
        Stage.TLS,
        (_REASON.BAD_TLS, _REASON.NO_ANSWER, _REASON.TIMED_OUT),
        _HOST,
        _NOT,
        _RETRY,
        "the mail server and the platform could not agree on TLS",
        Quote.LIBRARY,
    ),
    *_before_mail(Stage.GREETING),
    *_before_mail(Stage.EHLO),
    *_before_mail(Stage.STARTTLS),
    *_before_mail(Stage.AUTH),
    StageRow(
        Stage.AUTH,
        (_REASON.INCOMPLETE,),
        _SETTINGS,
        _NOT,
        _RETRY,
        "the platform cannot log in to the mail server",
        Quote.LIBRARY,
    ),
    # MAIL names the sender, which is the same in every mail.
    StageRow(Stage.MAIL, (ANYTHING,), _SETTINGS, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    StageRow(Stage.MAIL, ("421", "4xx"), _HOST, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    StageRow(Stage.MAIL, ("552",), _MESSAGE, _NOT, _FAILED, _MAIL_ANSWERED, Quote.PEER),
    StageRow(
        Stage.MAIL,
        (_REASON.NO_ANSWER,),
        _HOST,
        _NOT,
        _RETRY,
        _unanswered(Stage.MAIL),
        Quote.LIBRARY,
    ),
    StageRow(Stage.MAIL, (_REASON.BAD_RESPONSE,), _HOST, _NOT, _RETRY, _NOT_SMTP),
    StageRow(Stage.RCPT, ("421",), _HOST, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    # RFC 5321 4.5.3.1.10: 552 at RCPT counts as temporary.
    StageRow(Stage.RCPT, ("4xx", "552"), _DESTINATION, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    StageRow(Stage.RCPT, _LOG_IN_CODES, _SETTINGS, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    StageRow(Stage.RCPT, ("5xx",), _MESSAGE, _NOT, _FAILED, _MAIL_ANSWERED, Quote.PEER),
    StageRow(
        Stage.RCPT,
        (_REASON.NO_ANSWER,),
        _DESTINATION,
        _NOT,
        _RETRY,
        _unanswered(Stage.RCPT),
        Quote.LIBRARY,
    ),
    StageRow(Stage.RCPT, (_REASON.BAD_RESPONSE, UNREADABLE_CODE), _DESTINATION, _NOT, _RETRY, _NOT_SMTP),
    StageRow(
        Stage.DATA,
        (_REASON.OVERDUE,),
        DeliveryFault.WORKER,
        _NOT,
        _RETRY,
        WORKER_DELAYED,
    ),
    StageRow(Stage.DATA, ("421",), _HOST, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    StageRow(Stage.DATA, ("4xx",), _DESTINATION, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    StageRow(Stage.DATA, _LOG_IN_CODES, _SETTINGS, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    StageRow(Stage.DATA, ("5xx",), _MESSAGE, _NOT, _FAILED, _MAIL_ANSWERED, Quote.PEER),
    StageRow(
        Stage.DATA,
        (_REASON.NO_ANSWER,),
        _DESTINATION,
        _NOT,
        _RETRY,
        _unanswered(Stage.DATA),
        Quote.LIBRARY,
    ),
    StageRow(Stage.DATA, (_REASON.BAD_RESPONSE, UNREADABLE_CODE), _DESTINATION, _NOT, _RETRY, _NOT_SMTP),
    StageRow(Stage.END, ("2xx",), _MESSAGE, _CERTAIN, _DELIVERED, ""),
    StageRow(Stage.END, ("421",), _HOST, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    StageRow(Stage.END, ("4xx",), _DESTINATION, _NOT, _RETRY, _MAIL_ANSWERED, Quote.PEER),
    StageRow(Stage.END, ("5xx",), _MESSAGE, _NOT, _FAILED, _MAIL_ANSWERED, Quote.PEER),
    StageRow(
        Stage.END,
        (_REASON.NO_ANSWER,),
        _DESTINATION,
        _PERHAPS,
        _RETRY,
        NO_ANSWER,
    ),
    StageRow(Stage.END, (_REASON.BAD_RESPONSE, UNREADABLE_CODE), _DESTINATION, _PERHAPS, _RETRY, _NOT_SMTP),
)
"""A mail server. Replies: RFC 5321 4.2, RFC 4954 6, RFC 3207 4."""

_HTTP_ANSWERED = "the receiver answered {code}"
_PROXY_UNREACHABLE = "the outgoing proxy could not be reached"

_PROXY: Sequence[StageRow] = (
    StageRow(
        Stage.PROXY_RESOLVE,
        (_REASON.UNRESOLVABLE, _REASON.TIMED_OUT),
        _HOST,
        _NOT,
        _RETRY,
        _PROXY_UNREACHABLE,
        Quote.LOG_ONLY,
    ),
    StageRow(
        Stage.PROXY_CONNECT,
        (_REASON.NOT_CONNECTED, _REASON.TIMED_OUT),
        _HOST,
        _NOT,
        _RETRY,
        _PROXY_UNREACHABLE,
        Quote.LOG_ONLY,
    ),
    StageRow(
        Stage.PROXY_TLS,
        (_REASON.BAD_CERTIFICATE,),
        _HOST,
        _NOT,
        _RETRY,
        "the certificate of the outgoing proxy could not be verified",
        Quote.LIBRARY,
    ),
    StageRow(
        Stage.PROXY_TLS,
        (_REASON.BAD_TLS, _REASON.NOT_CONNECTED, _REASON.TIMED_OUT),
        _HOST,
        _NOT,
        _RETRY,
        "the outgoing proxy and the platform could not agree on TLS",
        Quote.LIBRARY,
    ),
    StageRow(
        Stage.PROXY_ANSWER,
        ("407",),
        _SETTINGS,
        _NOT,
        _RETRY,
        "the outgoing proxy refused the log-in of the platform ({code})",
        Quote.LOG_ONLY,
    ),
    StageRow(
        Stage.PROXY_ANSWER,
        (ANYTHING,),
        _SETTINGS,
        _NOT,
        _RETRY,
        "the outgoing proxy refused the connection ({code})",
        Quote.LOG_ONLY,
    ),
    # The proxy can resolve the name to an internal address. A closed and a filtered port must look the same.
    StageRow(
        Stage.PROXY_ANSWER,
        ("5xx", _REASON.NO_ANSWER),
        _HOST,
        _NOT,
        _RETRY,
        UNREACHABLE_THROUGH_PROXY,
        Quote.LOG_ONLY,
    ),
    StageRow(
        Stage.PROXY_ANSWER,
        (_REASON.BAD_RESPONSE,),
        _HOST,
        _NOT,
        _RETRY,
        "the outgoing proxy did not send a valid HTTP response",
        Quote.LOG_ONLY,
    ),
)
"""The outgoing proxy (OPSAPI_OUTBOUND_PROXY), before the receiver is connected."""

_OF_EACH_RECEIVER = {ANYTHING, "5xx", _REASON.NO_ANSWER}
"""Answers with which a proxy can refuse some receivers and connect to others."""
PROXY_FAULTS: Sequence[str] = tuple(
    row.said.partition(" ({code}")[0] for row in _PROXY if _OF_EACH_RECEIVER.isdisjoint(row.answers)
)
"""The beginnings of the sentences that blame the proxy itself, whichever receiver it is asked for."""

_PROXY_OR_RECEIVER = "the receiver or the outgoing proxy answered {code}"
PROXIED: Sequence[StageRow] = (
    # A rule of the proxy, or a receiver that knows no such sender: both stay until a setting changes.
    StageRow(
        Stage.PROXIED,
        ("403",),
        _DESTINATION,
        _NOT,
        _RETRY,
        _PROXY_OR_RECEIVER,
        Quote.PEER,
        is_forbidden=True,
    ),
    StageRow(
        Stage.PROXIED,
        ("502", "503", "504"),
        _DESTINATION,
        _PERHAPS,
        _RETRY,
        _PROXY_OR_RECEIVER,
        Quote.PEER,
    ),
)
"""Statuses of an `http` URL that a proxy also sends itself. The fault is unknown, so they are retried."""


def _without_status(stage: Stage, reason: OutboundReason) -> StageRow:
    """The row of a response without a status line: a part of the request was sent, so it may have arrived."""
    return StageRow(stage, (reason,), _DESTINATION, _PERHAPS, _RETRY, PUBLIC_TEXT[reason], Quote.LOG_ONLY)


HTTP: Sequence[StageRow] = (
    StageRow(
        Stage.SETTINGS,
        (_REASON.INVALID_URL,),
        _MESSAGE,
        _NOT,
        _FAILED,
        PUBLIC_TEXT[_REASON.INVALID_URL],
    ),
    StageRow(
        Stage.RESOLVE,
        (_REASON.UNRESOLVABLE,),
        _HOST,
        _NOT,
        _RETRY,
        PUBLIC_TEXT[_REASON.UNRESOLVABLE],
        Quote.LOG_ONLY,
    ),
    *_PROXY,
    StageRow(
        Stage.CONNECT,
        (_REASON.REFUSED_ADDRESS, _REASON.NOT_CONNECTED, _REASON.TIMED_OUT),
        _HOST,
        _NOT,
        _RETRY,
        PUBLIC_TEXT[_REASON.NOT_CONNECTED],
        Quote.LOG_ONLY,
    ),
    StageRow(
        Stage.TLS,
        (_REASON.BAD_CERTIFICATE,),
        _HOST,
        _NOT,
        _RETRY,
        PUBLIC_TEXT[_REASON.BAD_CERTIFICATE],
        Quote.LIBRARY,
    ),
    StageRow(Stage.TLS, (_REASON.BAD_TLS,), _HOST, _NOT, _RETRY, PUBLIC_TEXT[_REASON.BAD_TLS], Quote.LIBRARY),
    _without_status(Stage.REQUEST, _REASON.NO_ANSWER),
    _without_status(Stage.INTERIM, _REASON.NO_ANSWER),
    _without_status(Stage.INTERIM, _REASON.BAD_RESPONSE),
    *PROXIED,
    _without_status(Stage.STATUS, _REASON.NO_ANSWER),
    _without_status(Stage.STATUS, _REASON.BAD_RESPONSE),
    StageRow(Stage.STATUS, ("2xx",), _MESSAGE, _CERTAIN, _DELIVERED, ""),
    StageRow(Stage.STATUS, ("408", "425", "429"), _DESTINATION, _NOT, _RETRY, _HTTP_ANSWERED, Quote.PEER),
    StageRow(Stage.STATUS, ("4xx",), _MESSAGE, _NOT, _FAILED, _HTTP_ANSWERED, Quote.PEER),
    # Overloaded, or out of service for a while (RFC 9110 15.6.4).
    StageRow(
        Stage.STATUS,
        ("503",),
        _DESTINATION,
        _PERHAPS,
        _RETRY,
        _HTTP_ANSWERED,
        Quote.PEER,
        is_busy=True,
    ),
    StageRow(Stage.STATUS, ("5xx",), _DESTINATION, _PERHAPS, _RETRY, _HTTP_ANSWERED, Quote.PEER),
    StageRow(
        Stage.STATUS,
        ("3xx",),
        _MESSAGE,
        _PERHAPS,
        _FAILED,
        f"{_HTTP_ANSWERED}; redirects are not followed",
    ),
    StageRow(Stage.STATUS, (UNREADABLE_CODE,), _MESSAGE, _PERHAPS, _FAILED, _HTTP_ANSWERED, Quote.PEER),
    StageRow(Stage.HEADERS, (AFTER_2XX,), _MESSAGE, _CERTAIN, _DELIVERED, ""),
    StageRow(Stage.BODY, (AFTER_2XX,), _MESSAGE, _CERTAIN, _DELIVERED, ""),
)
"""A receiver over HTTP. What follows the status line decides nothing."""


def _slack(
    said: str, fault: DeliveryFault, receipt: Receipt, status: DeliveryStatus, *errors: str
) -> StageRow:
    return StageRow(Stage.BODY, errors, fault, receipt, status, said, Quote.PEER)


_NO_MORE = _slack(
    "Slack accepts no more messages at the moment",
    _DESTINATION,
    _NOT,
    _RETRY,
    "ratelimited",
    "rate_limited",
    "message_limit_exceeded",
)
_AWAY = _slack(
    "Slack cannot post the message at the moment",
    _DESTINATION,
    _NOT,
    _RETRY,
    "service_unavailable",
    "request_timeout",
    "team_added_to_org",
    "org_login_required",
    "external_channel_migrating",
)
_NO_TOKEN = _slack(
    "Slack does not accept the API token",
    _MESSAGE,
    _NOT,
    _FAILED,
    "not_authed",
    "invalid_auth",
    "account_inactive",
    "token_revoked",
    "token_expired",
)
_NOT_ALLOWED = _slack(
    "the API token has no permission to post messages",
    _MESSAGE,
    _NOT,
    _FAILED,
    "missing_scope",
    "no_permission",
    "not_allowed_token_type",
    "access_denied",
)
_POSTED_OR_CHANGED = StageRow(Stage.BODY, ("ok",), _MESSAGE, _CERTAIN, _DELIVERED, "")
_NOT_SLACK = StageRow(
    Stage.BODY,
    (_REASON.BAD_RESPONSE,),
    _DESTINATION,
    _PERHAPS,
    _RETRY,
    "the receiver did not send a valid Slack response",
)

CHAT_POST_MESSAGE: Sequence[StageRow] = (
    _POSTED_OR_CHANGED,
    _NOT_SLACK,
    _NO_MORE,
    _AWAY,
    # Slack says of both: "It's possible some aspect of the operation succeeded before the error was raised."
    _slack(
        "Slack failed while it posted the message",
        _DESTINATION,
        _PERHAPS,
        _RETRY,
        "internal_error",
        "fatal_error",
    ),
    _NO_TOKEN,
    _NOT_ALLOWED,
    _slack("the Slack channel does not exist", _MESSAGE, _NOT, _FAILED, "channel_not_found"),
    _slack("the owner of the API token is not in the channel", _MESSAGE, _NOT, _FAILED, "not_in_channel"),
    _slack("the channel is archived", _MESSAGE, _NOT, _FAILED, "is_archived"),
    _slack(
        "the channel does not accept messages from the owner of the API token",
        _MESSAGE,
        _NOT,
        _FAILED,
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "ekm_access_denied",
    ),
    _slack("Slack refused the message", _MESSAGE, _NOT, _FAILED, ANYTHING),
)
"""Slack answers 200, and its body says whether the message was posted (chat.postMessage)."""

CHAT_UPDATE: Sequence[StageRow] = (
    _POSTED_OR_CHANGED,
    _NOT_SLACK,
    _NO_MORE,
    _AWAY,
    _slack(
        "Slack failed while it changed the message",
        _DESTINATION,
        _PERHAPS,
        _RETRY,
        "internal_error",
        "fatal_error",
        "update_failed",
    ),
    _NO_TOKEN,
    _NOT_ALLOWED,
    # Whatever keeps Slack from changing the earlier message, people read the new state. If the channel is
    # gone, the answer to the new message says so.
    replace(
        _slack(
            "Slack does not change the earlier message",
            _MESSAGE,
            _NOT,
            _RETRY,
            "message_not_found",
            "cant_update_message",
            "edit_window_closed",
            "channel_not_found",
            "is_inactive",
            "is_archived",
            ANYTHING,
        ),
        posts_again=True,
    ),
)
"""Slack answers 200, and its body says whether the message was changed (chat.update)."""

TABLES: Mapping[str, Sequence[StageRow]] = {
    "Mail server": (INCOMPLETE, *MAIL),
    "HTTP": (INCOMPLETE, *HTTP),
    "Slack": CHAT_POST_MESSAGE,
    "Slack, when a message is changed": CHAT_UPDATE,
}


def row_of(rows: Sequence[StageRow], stage: Stage, answer: str | int) -> StageRow:
    """The row for an answer: by its code or name, otherwise by its class, otherwise the row for any answer.

    Raises: LookupError: the table has no such row.
    """
    here = {known_answer: row for row in rows if row.stage is stage for known_answer in row.answers}
    text = str(answer)
    of_class = f"{text[0]}xx" if isinstance(answer, int) else text
    fallbacks = (ANYTHING, UNREADABLE_CODE)
    for wanted in (text, of_class, *(fallbacks if not isinstance(answer, OutboundReason) else ())):
        if wanted in here:
            return here[wanted]
    raise LookupError(f"no row for {answer} at {stage}")


def status_row(status: int, *, is_proxied: bool) -> StageRow:
    """The row for the status of an HTTP response. `is_proxied`: the outgoing proxy may have written it."""
    by_proxy = is_proxied and any(str(status) in row.answers for row in PROXIED)
    return row_of(HTTP, Stage.PROXIED if by_proxy else Stage.STATUS, status)
