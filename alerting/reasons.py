"""The reasons of alerting: each has a code, a sentence, and the places that show it. Pure.

There are three kinds of reasons:

- `NotificationReason`: why a message was sent, waits, or was not sent, and why it did not reach a user.
- `AttemptFailure`: why an attempt failed before it contacted a receiver. The message is then RETRYING or
  FAILED. `integrations.channels.stages` declares the failures at receivers.
- `AlertReason`: why an observation starts, keeps or ends an alert, and why a configuration does not alert on
  a host.

Other closed sets say why a request is refused (`opsapi.api.catalogue`), why an answer is incomplete
(`budgets.CutReason`), and why a dry run can differ from what would have happened (`insight.dry_run_alerts`).

The name of a reason is its code in the API. The value is its sentence, as a clause with names in braces. The
log stores the sentence. The explanations, the console and docs/reference/reasons.md show it.
"""

from dataclasses import dataclass
from enum import Flag, StrEnum, auto, unique
from typing import Self


class ReasonQuestion(Flag):
    """The question that a reason answers."""

    MESSAGE = auto()
    """Why was this message sent, or not sent?"""
    SETTING = auto()
    """Why has this notification of the configuration no message?"""
    USER = auto()
    """Why did this notification not reach the user? The reasons of messages answer this question too."""
    HOST = auto()
    """Why does the configuration not alert on the host?"""
    EVALUATION = auto()
    """Why did this observation change the alert, or not? The debug log shows these reasons."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The sentence of a reason, and the sentences for which its subject is another.

    `of_user`: why the user got no message. `of_alert`: why no message about the alert was sent.
    `not_retried`: why a message that was perhaps received is not tried again.
    """

    sentence: str
    questions: ReasonQuestion
    of_user: str = ""
    of_alert: str = ""
    not_retried: str = ""


class _Reason(StrEnum):
    _value_: str
    _words: _Words

    def __new__(cls, words: _Words) -> Self:
        member = str.__new__(cls, words.sentence)
        member._value_, member._words = words.sentence, words
        return member

    @property
    def questions(self) -> ReasonQuestion:
        """The questions that it answers."""
        return self._words.questions


@unique
class NotificationReason(_Reason):
    """Why a message was sent, waits, or was not sent; why a notification has no message, or not for a user.

    The order is the order in the API.
    """

    DELIVERED = _Words("the receiver accepted it", ReasonQuestion.MESSAGE)
    SENDING = _Words("sending now", ReasonQuestion.MESSAGE)
    DELAYED = _Words("the delay of the notification has not passed", ReasonQuestion.MESSAGE)
    REMINDER_LATER = _Words("the interval of reminders has not passed", ReasonQuestion.MESSAGE)
    DUE = _Words("it is due and waits for a worker", ReasonQuestion.MESSAGE)
    RETRYING = _Words("an attempt failed, and another follows", ReasonQuestion.MESSAGE)
    MUTED = _Words("silenced by maintenance window {window}", ReasonQuestion.MESSAGE)
    ACKNOWLEDGED = _Words("the alert is acknowledged", ReasonQuestion.MESSAGE)
    PLANNED = _Words("the plan of the automation configuration changes the host", ReasonQuestion.MESSAGE)
    UNCONFIRMED = _Words(
        "the platform was away, and no report has confirmed the alert since", ReasonQuestion.MESSAGE
    )
    FAILED = _Words("an attempt failed, and no other follows", ReasonQuestion.MESSAGE)

    ALERT_OVER = _Words(
        "the alert was over before it was delivered", ReasonQuestion.MESSAGE, not_retried="the alert is over"
    )
    CONFIG_OFF = _Words("the alert configuration was deleted or disabled", ReasonQuestion.MESSAGE)
    NOTIFICATION_REMOVED = _Words(
        "the notification was removed from the alert configuration", ReasonQuestion.MESSAGE
    )
    BELOW_MIN_SEVERITY = _Words(
        "the severity is lower than the minimum of the notification", ReasonQuestion.MESSAGE
    )
    NOT_ACKNOWLEDGED = _Words(
        "the acknowledgement expired or was removed before delivery", ReasonQuestion.MESSAGE
    )
    JUST_NOTIFIED = _Words(
        "all its recipients have just been notified, or are about to be", ReasonQuestion.MESSAGE
    )
    IN_INCIDENT = _Words("the messages of its incident include the alert", ReasonQuestion.MESSAGE)
    MERGED = _Words(
        "merged into the same message of another notification to this address", ReasonQuestion.MESSAGE
    )
    SENT_AGAIN = _Words(
        "the notification that it would repeat had failed and is sent again instead", ReasonQuestion.MESSAGE
    )
    TOO_MANY_RECIPIENTS = _Words(
        "too many recipients: only the first 1000 were notified",
        ReasonQuestion.MESSAGE,
        of_user="the notification has too many recipients and leaves out the user",
    )
    NO_LONGER_RECIPIENT = _Words(
        "the address no longer belongs to a recipient of the notification", ReasonQuestion.MESSAGE
    )
    SECRETS_GONE = _Words("its credentials were deleted with the alert configuration", ReasonQuestion.MESSAGE)
    NO_USER_WITH_ROLE = _Words("no recipients: no user has the required role", ReasonQuestion.MESSAGE)
    NO_USER = _Words("no recipients: the user does not exist or cannot be notified", ReasonQuestion.MESSAGE)
    NO_MEMBER = _Words("no recipients: the team was deleted or has no members", ReasonQuestion.MESSAGE)
    NO_PROJECT = _Words(
        "no recipients: an event without a project has no project members", ReasonQuestion.MESSAGE
    )
    NO_ADDRESS = _Words(
        "no recipients: no user has an address for this channel",
        ReasonQuestion.MESSAGE,
        of_user="the user has no address",
    )

    NOT_OPEN = _Words("the alert has not opened", ReasonQuestion.SETTING)
    ENDED_BEFORE_OPENING = _Words("the alert ended before it opened", ReasonQuestion.SETTING)
    ADDED_LATER = _Words(
        "the notification was added to the configuration after the alert opened",
        ReasonQuestion.SETTING,
        of_alert="the configuration had no notifications when the alert opened",
    )
    NOT_RECORDED = _Words(
        "no message is recorded",
        ReasonQuestion.MESSAGE | ReasonQuestion.SETTING,
        of_alert="the alert ended before it opened, or its notification log has expired",
    )

    NOT_FOR_USERS = _Words("the notification goes to a service, not to users", ReasonQuestion.USER)
    OTHER_ADDRESS = _Words("the notification goes to another address", ReasonQuestion.USER)
    OTHER_USER = _Words("the notification is for another user", ReasonQuestion.USER)
    NOT_IN_TEAM = _Words("the user is not a member of the team", ReasonQuestion.USER)
    ROLE_MISSING = _Words("the user does not have the required role", ReasonQuestion.USER)
    CHANNEL_DISABLED = _Words(
        "the user has an address only for a channel that the notification does not use", ReasonQuestion.USER
    )
    NOT_A_RECIPIENT_THEN = _Words(
        "the user was not a recipient when the messages were sent", ReasonQuestion.USER
    )

    @property
    def of_user(self) -> str:
        """Why the user was not notified, as a clause."""
        return self._words.of_user or self.value

    @property
    def of_alert(self) -> str:
        """Why no message about the alert was sent, as a clause."""
        return self._words.of_alert or self.value

    @property
    def not_retried(self) -> str:
        """Why a message that was perhaps received is not retried, as a clause."""
        return self._words.not_retried or self.value

    @classmethod
    def of_log(cls, text: str | None) -> "NotificationReason | None":
        """Return the reason whose sentence the log stores; None for other texts, such as failures."""
        if window_of(text) is not None:
            return cls.MUTED
        return next((reason for reason in cls if reason.value == text), None)


NO_RECIPIENTS = "no recipients: "
"""The beginning of each reason for which a message has no recipient."""
HOLDING_REASONS = (
    NotificationReason.ACKNOWLEDGED,
    NotificationReason.PLANNED,
    NotificationReason.UNCONFIRMED,
)
"""Besides MUTED, the reasons for which a notification waits, and has not failed.

A new reason also needs a case in `engine.rules._held_back`, a decision in `engine.schedule` when it ends, and
a look at each use of PLANNED in `engine` and `insight`.
"""
HOLDING_BACK = tuple(reason.value for reason in HOLDING_REASONS)
"""Their sentences, which the log stores."""
_MUTED_BY = NotificationReason.MUTED.value.partition("{")[0]


def window_of(text: str | None) -> str | None:
    """The ID of the maintenance window that the text of the log names; None if the text is not MUTED."""
    return text.removeprefix(_MUTED_BY) if text and text.startswith(_MUTED_BY) else None


@unique
class AttemptFailure(StrEnum):
    """Why an attempt failed before it contacted a receiver."""

    NO_OUTCOME = "no attempt was completed"
    SECRETS_UNREADABLE = "its secrets cannot be decrypted: their key is not in OPSAPI_ENCRYPTION_KEYS"
    NO_INTEGRATION = "the project has no {integration} integration"
    NO_PROJECT = "without a project there is no {integration} integration"
    NO_CONTENT = "the message cannot be built: its alert, event or project was deleted"
    UNPROCESSABLE = "the notification cannot be processed: {error}"


@unique
class AlertReason(_Reason):
    """Why an observation starts, keeps or ends an alert, and why a configuration does not alert on a host.

    `HOST` reasons are in the order in which they are checked, which is the order in the API.
    """

    DISABLED = _Words("the configuration is disabled", ReasonQuestion.HOST)
    OTHER_TARGET = _Words("“{event}” is not about this host", ReasonQuestion.HOST)
    NOT_REPORTED = _Words("no agent has reported the host", ReasonQuestion.HOST)
    MATCHER = _Words(
        "the matcher requires: {required}. The host has {found}",
        ReasonQuestion.HOST | ReasonQuestion.EVALUATION,
    )
    NO_EVENT = _Words("an alert opens when the event “{event}” is recorded for the host", ReasonQuestion.HOST)
    METRIC_NOT_REPORTED = _Words(
        "the newest measurements, of {measured}, do not contain {metric}",
        ReasonQuestion.HOST | ReasonQuestion.EVALUATION,
    )
    INSIDE_THRESHOLD = _Words(
        "{metric} is {number}, which is not {limit}", ReasonQuestion.HOST | ReasonQuestion.EVALUATION
    )
    CONDITION_FALSE = _Words("the condition “{event}” is false for the host", ReasonQuestion.HOST)
    TRACKED = _Words("an alert opens at {opens} if it stays true", ReasonQuestion.HOST)
    UNCONFIRMED = _Words(
        "the alert waits for reports, which may say that the condition ended", ReasonQuestion.HOST
    )
    MUTED = _Words("maintenance window {window} mutes the alert", ReasonQuestion.HOST)
    PERHAPS_MUTED = _Words(
        "comparing the alert with all maintenance windows takes too long", ReasonQuestion.HOST
    )

    OUTSIDE = _Words("the value is outside the threshold", ReasonQuestion.EVALUATION)
    HOLDS = _Words("the condition is met", ReasonQuestion.EVALUATION)
    STILL_HOLDS = _Words("the condition is still met", ReasonQuestion.EVALUATION)
    ENDED = _Words("the condition ended", ReasonQuestion.EVALUATION)
    ENDED_BEFORE = _Words("the condition ended before the alert began", ReasonQuestion.EVALUATION)
    GONE = _Words("its target was deleted, or has a role without the metric", ReasonQuestion.EVALUATION)
    NO_ALERT = _Words("there is no alert to close", ReasonQuestion.EVALUATION)
    HAPPENED = _Words("the event happened", ReasonQuestion.EVALUATION)


def in_full(clause: str) -> str:
    """The clause as a sentence."""
    return f"{clause[:1].upper()}{clause[1:]}."
