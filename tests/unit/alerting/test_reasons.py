"""The declared reasons: their sentences, and how the log is read."""

from alerting.reasons import AlertReason, AttemptFailure, NotificationReason, in_full
from tests.each import each


@each("reason", [*NotificationReason, *AttemptFailure, *AlertReason])
def test_a_sentence_is_a_clause_without_full_stop(reason: str) -> None:
    assert reason[:1] in "{“" or reason[:1].islower()
    assert not reason.endswith(".")
    assert in_full(reason).endswith(".")


@each("reason", [*NotificationReason, *AlertReason])
def test_a_reason_answers_a_question(reason: NotificationReason | AlertReason) -> None:
    assert reason.questions


def test_the_log_is_read_back() -> None:
    text = NotificationReason.MUTED.value.format(window="c" * 24)
    assert NotificationReason.of_log(text) is NotificationReason.MUTED
    assert NotificationReason.of_log(NotificationReason.SECRETS_GONE.value) is NotificationReason.SECRETS_GONE
    for other in (None, "", "the receiver answered 404", f"the answer: {NotificationReason.ALERT_OVER}"):
        assert NotificationReason.of_log(other) is None


def test_a_reason_has_one_sentence_for_each_subject() -> None:
    address, over = NotificationReason.NO_ADDRESS, NotificationReason.ALERT_OVER
    assert len({address.value, address.of_user}) == 2
    assert len({over.value, over.not_retried}) == 2
    assert {over.of_user, over.of_alert} == {over.value}
