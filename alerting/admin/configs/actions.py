"""Actions on alert configurations, with the permissions of the API routes."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from alerting.access import WRITE, WRITE_GLOBAL
from alerting.forms.configs.change import ConfigForm
from alerting.forms.configs.new import CopyForm, NewConfigForm
from alerting.forms.configs.presets import PresetsForm
from alerting.forms.configs.testing import TestNotificationForm, destinations_of
from alerting.models import AlertConfig
from alerting.notification_tests import NotificationTest, alert_config_test, notification_of, tests_throttle
from alerting.selectors.recipient_addresses import unreachable
from alerting.services.configs import (
    alert_config_create,
    alert_config_delete,
    alert_config_replace,
    alert_config_set_enabled,
)
from alerting.services.presets import presets_create
from events.types import EVENT_TYPES, EventType
from integrations.choices import DeliveryStatus
from opsapi.api.permissions import Access, Where
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.admin_urls import action_url


def _access(config: AlertConfig | None) -> Access:
    """As the API route for this kind of configuration."""
    return WRITE_GLOBAL if config is not None and config.group_id is None else WRITE


def _create(call: ActionCall) -> ActionOutcome:
    config = alert_config_create(**call.values, actor=call.actor, now=call.now)
    return ActionOutcome(row=config, warnings=_warnings(config))


def _add_presets(call: ActionCall) -> ActionOutcome:
    done = presets_create(**call.values, actor=call.actor, now=call.now)
    number = len(done.created)
    created = f"Added {number} alert configuration{'' if number == 1 else 's'}."
    existing = f" The project already had: {', '.join(done.existing)}." if done.existing else ""
    warnings = [warning for config in done.created for warning in _warnings(config)]
    return ActionOutcome(message=created + existing, warnings=warnings)


def _change(call: ActionCall) -> ActionOutcome:
    alert_config_replace(config=call.row, **call.values, actor=call.actor, now=call.now)
    return ActionOutcome(warnings=_warnings(call.row))


def _switch(*, enabled: bool) -> Callable[[ActionCall], ActionOutcome]:
    def run(call: ActionCall) -> ActionOutcome:
        alert_config_set_enabled(config=call.row, enabled=enabled, actor=call.actor, now=call.now)
        return ActionOutcome(warnings=_warnings(call.row))

    return run


def _delete(call: ActionCall) -> None:
    alert_config_delete(config=call.row, actor=call.actor, now=call.now)


def _test(call: ActionCall) -> ActionOutcome:
    destinations = {destination.id: destination for destination in destinations_of(call.row)}
    chosen = call.values["notification_id"]
    only = notification_of(call.row, chosen) if chosen else None
    tests_throttle(group_id=call.row.group_id, now=call.now)
    tests = alert_config_test(config=call.row, only=only, actor=call.actor, now=call.now)
    context = {
        "title": "Test results",
        "tests": [(destinations.get(test.setting.id), test.outcome, _is_delivered(test)) for test in tests],
        "delivered": sum(map(_is_delivered, tests)),
        "again_url": action_url(AlertConfig, call.row.pk, "test", notification=chosen or ""),
    }
    return ActionOutcome(row=call.row, template="console/alert_config_tested.html", context=context)


def _is_delivered(test: NotificationTest) -> bool:
    return test.outcome.status is DeliveryStatus.DELIVERED


def _warnings(config: AlertConfig) -> Sequence[str]:
    """The warnings that the API sends as `Warning: 299`."""
    produced = EVENT_TYPES[EventType(config.event_type)].produced
    of_type = [] if produced else [f"Nothing makes {config.event_type} events."]
    return [*of_type, *(f"Notification {place + 1}: {why}." for place, why in unreachable(config).items())]


def _is_enabled(config: AlertConfig, _now: datetime) -> bool:
    return config.enabled


def _is_disabled(config: AlertConfig, _now: datetime) -> bool:
    return not config.enabled


NEW = Action(
    label="New alert configuration",
    done="Created",
    text="If the condition is already met, alerts open as soon as you save.",
    run=_create,
    access=_access,
    form=NewConfigForm,
    icon="add",
)
OF_LIST: Mapping[str, Action] = {
    "presets": Action(
        label="Add presets",
        text="Recommended alert configurations. If a condition is already met, its alert opens as soon "
        "as you save.",
        run=_add_presets,
        access=WRITE,
        form=PresetsForm,
        icon="playlist_add",
    ),
}
OF_ROW: Mapping[str, Action] = {
    "change": Action(
        label="Change",
        done="Changed",
        text="If you change the event type, matchers, thresholds or projects, alerts that no longer "
        "match are cancelled.",
        run=_change,
        access=_access,
        form=ConfigForm,
        icon="edit",
    ),
    "enable": Action(
        label="Enable",
        done="Enabled",
        text="If the condition is already met, alerts open as soon as you save.",
        run=_switch(enabled=True),
        access=_access,
        icon="toggle_on",
        bulk=True,
        offered=_is_disabled,
    ),
    "disable": Action(
        label="Disable",
        done="Disabled",
        text="Cancels the open alerts of this configuration.",
        run=_switch(enabled=False),
        access=_access,
        icon="toggle_off",
        bulk=True,
        offered=_is_enabled,
    ),
    "test": Action(
        label="Send test notifications",
        text="Each message is sent once, marked as a test. The next page shows the result.",
        run=_test,
        access=_access,
        form=TestNotificationForm,
        icon="send",
        atomic=False,
    ),
    "copy": Action(
        label="Copy as new",
        done="Created",
        text="Secrets are not copied. Enter them again, or use the integrations of the project.",
        run=_create,
        # The form asks for the project, and checks the roles there like the API route.
        access=Access(Where.SOMEWHERE, WRITE.roles),
        form=CopyForm,
        makes=True,
        icon="content_copy",
    ),
    "delete": Action(
        label="Delete",
        done="Deleted",
        text="Cancels the open alerts of this configuration.",
        run=_delete,
        access=_access,
        icon="delete",
        danger=True,
        bulk=True,
    ),
}
