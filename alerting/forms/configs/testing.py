"""The form that tests the notifications of a configuration: all, or a single one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django import forms

from alerting.forms.configs.change import facts_of
from alerting.models import AlertConfig
from alerting.notification_types.sentences import receiver_sentence, rhythm_sentence
from opsapi.console.forms import ConsoleForm


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationChoice:
    """A notification in words: its number, recipient and schedule."""

    id: str
    number: int
    receiver: str
    rhythm: str


def destinations_of(config: AlertConfig) -> list[NotificationChoice]:
    """The notifications of a configuration, in their order.

    Raises:
        ApiError: ALERT_CONFIG_NOT_FOUND or GLOBAL_ALERT_CONFIG_NOT_FOUND, when it was deleted in the
            meantime.
    """
    return [
        NotificationChoice(
            id=shown["id"],
            number=number,
            receiver=receiver_sentence(shown),
            rhythm=rhythm_sentence(shown),
        )
        for number, shown in enumerate(facts_of(config)["notifications"], start=1)
    ]


class TestNotificationForm(ConsoleForm):
    """The notification to test; the URL may preselect it."""

    from_address = frozenset({"notification"})

    notification = forms.ChoiceField(required=False, label="Send to", widget=forms.RadioSelect)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        found = destinations_of(self.row)
        every = [("", f"All {len(found)} notifications")] if len(found) > 1 else []
        single = [(choice.id, f"Notification {choice.number}: {choice.receiver}") for choice in found]
        field = cast(forms.ChoiceField, self.fields["notification"])
        field.choices = [*every, *single]
        self.initial.setdefault("notification", field.choices[0][0])

    @property
    def values(self) -> Mapping[str, Any]:
        """The ID of the notification; None for all."""
        return {"notification_id": self.cleaned_data["notification"] or None}
