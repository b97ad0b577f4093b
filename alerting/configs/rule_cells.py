"""A configuration in a row of the list of rules: its condition in words and its destinations."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accesslist.models import Team
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.configs.notification_types import (
    NOTIFICATION_TYPES,
    receiver_name,
    receiver_sentence,
    rhythm_sentence,
)
from alerting.configs.store import config_view
from alerting.configs.wording import extent_words, lasting_words
from automation.quantities import counted_words
from opsapi.clock import age_words
from opsapi.fields import Among

_OFF = SafeString(' <span class="rule-off">off</span>')
_SHORT = 28
"""The most characters of a recipient in a chip. The tooltip has all of it."""


def rule_title(config: AlertConfig) -> SafeString:
    """The name, and below it the condition and the targets in words. Without a name, the condition."""
    condition, where = _condition_words(config), _where_words(config)
    return format_html(
        '<span class="rule-name"><span>{}</span>{}</span>'
        '<small class="console-where rule-words" title="{}">{}</small>',
        config.name or condition,
        "" if config.enabled else _OFF,
        config.event_type,
        f"{condition} · {where}" if config.name else where,
    )


def _condition_words(config: AlertConfig) -> str:
    """The condition with its duration: `Used cache > 12 GB for 5 min`."""
    delay = min((setting.delay for setting in config.settings.all()), default=timedelta())
    return lasting_words(config.condition, delay)


def _where_words(config: AlertConfig) -> str:
    """The targets and the projects: `all hosts of payments`."""
    return " of ".join(filter(None, [extent_words(config_view(config)), _projects_words(config)]))


def _projects_words(config: AlertConfig) -> str:
    if config.group is not None:
        return config.group.name
    if not config.for_all_groups:
        return counted_words(len(config.group_ids), "project")
    return f"projects tagged {', '.join(config.tags)}" if config.tags else "all projects"


def team_names(configs: Iterable[AlertConfig]) -> Mapping[str, str]:
    """The names of the teams that the configurations notify, by ID."""
    ids = {
        str(setting.fields["teamId"])
        for config in configs
        for setting in config.settings.all()
        if "teamId" in setting.fields
    }
    return dict(Team.objects.filter(Among("id", ids)).values_list("id", "name")) if ids else {}


def destination_chips(settings: Sequence[NotificationSetting], teams: Mapping[str, str]) -> SafeString:
    """A chip for each notification: its channel, its recipient and its delay."""
    return format_html(
        '<ul class="rule-chips">{}</ul>',
        format_html_join("", "{}", ((_chip(setting, teams),) for setting in settings)),
    )


def _chip(setting: NotificationSetting, teams: Mapping[str, str]) -> SafeString:
    document = _shown(setting, teams)
    name = receiver_name(document)
    after = f" after {age_words(setting.delay)}" if setting.delay else ""
    return format_html(
        '<li title="{}"><b>{}</b>{}{}</li>',
        f"{receiver_sentence(document)}: {rhythm_sentence(document)}",
        NOTIFICATION_TYPES[setting.type_name].label,
        f" {name if len(name) <= _SHORT else name[: _SHORT - 1] + '…'}" if name else "",
        after,
    )


def _shown(setting: NotificationSetting, teams: Mapping[str, str]) -> Mapping[str, Any]:
    """The notification as answers show it."""
    team = teams.get(str(setting.fields.get("teamId", "")))
    return {
        "typeName": setting.type_name,
        "delayMin": setting.delay_min,
        "intervalMin": setting.interval_min,
        "minSeverity": setting.min_severity,
        **setting.fields,
        **({"teamName": team} if team else {}),
    }
