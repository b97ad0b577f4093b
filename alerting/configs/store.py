"""Reading configurations and their notification settings: lists, views, scopes, credentials."""

import json
import logging
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import orjson
from django.db.models import Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KT

from accesslist.models import Project, Team
from accesslist.projects.store import visible_projects
from accesslist.users.store import EVERYTHING, VisibleUsers, visible_users_named
from alerting.access import WRITE, WRITE_GLOBAL
from alerting.configs.matchers import Matcher, matcher_of
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.configs.notification_types import NOTIFICATION_TYPES, NotificationType
from alerting.configs.recipients import RecipientAddress
from alerting.configs.rules import Threshold, threshold_of
from alerting.engine.config_index import NO_CONFIGS, ConfigIndex
from alerting.engine.models import Notification
from alerting.engine.transition import ConfigView
from alerting.reasons import AttemptFailure, NotificationReason
from alerting.severities import has_severity
from events.models import Event
from events.types import EVENT_TYPES, Category, EventType
from integrations.channels import CHANNELS
from integrations.choices import ENDS, ChannelType
from integrations.credentials.store import integration_values, integrations_of, readable, stored_integration
from integrations.models import Integration
from integrations.redaction import Secrets
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.principal import Operator
from opsapi.encryption import decrypt
from opsapi.fields import Among, JsonRows
from opsapi.roles import INSTALLATION, Scope, satisfies_any
from opsapi.sql import fetch_rows


def covered_projects(config: AlertConfig) -> QuerySet[Project]:
    """The projects that a configuration in memory covers: its own, all, tagged or listed projects."""
    group_id: str | None = config.group_id
    if group_id is not None:
        return Project.objects.filter(id=group_id)
    if not config.for_all_groups:
        return Project.objects.filter(id__in=config.group_ids)
    return Project.objects.filter(tags__overlap=config.tags) if config.tags else Project.objects.all()


def covering(group_id: str, tags: Sequence[str] | None = None) -> Q:
    """The configurations that cover a project; `tags` replace the stored tags of the project."""
    stored = Subquery(Project.objects.filter(id=group_id).values("tags")[:1])
    tagged = Q(tags__overlap=stored if tags is None else list(tags))
    everywhere = Q(group=None, for_all_groups=True, tags=[])
    some = Q(group=None) & (Q(group_ids__contains=[group_id]) | tagged)
    return Q(group=group_id) | everywhere | some


# The same as `covering`, as fast SQL for every signal: a part for each index, so that configurations that
# cover other projects cost nothing. For an OR of the parts the planner reads all configurations. xmin and
# ctid are the versions of the rows.
CONCERNED = """
SELECT *, xmin, ctid FROM alerting_alertconfig
 WHERE group_id = %(group_id)s
   AND event_type = ANY(%(event_types)s) AND deleted IS NULL AND enabled
UNION ALL
SELECT *, xmin, ctid FROM alerting_alertconfig
 WHERE for_all_groups AND tags = '{}'
   AND event_type = ANY(%(event_types)s) AND deleted IS NULL AND enabled
UNION ALL
SELECT *, xmin, ctid FROM alerting_alertconfig
 WHERE group_id IS NULL AND group_ids @> ARRAY[%(group_id)s]::varchar[]
   AND event_type = ANY(%(event_types)s) AND deleted IS NULL AND enabled
UNION ALL
SELECT *, xmin, ctid FROM alerting_alertconfig
 WHERE group_id IS NULL AND tags && (SELECT tags FROM accesslist_project WHERE id = %(group_id)s)
   AND event_type = ANY(%(event_types)s) AND deleted IS NULL AND enabled
"""


def concerned_parameters(group_id: str, event_types: Iterable[EventType]) -> Mapping[str, Any]:
    """The parameters of CONCERNED: the enabled configurations that cover a project for these event types."""
    return {"group_id": group_id, "event_types": [event_type.value for event_type in event_types]}


def is_concerned(group_id: str, event_type: EventType) -> bool:
    """Whether an enabled configuration for the event type covers the project."""
    [(is_covered,)] = fetch_rows(f"SELECT EXISTS ({CONCERNED})", concerned_parameters(group_id, [event_type]))
    return bool(is_covered)


def projects_asking(event_type: EventType, org_id: str, *, after: str) -> QuerySet[AlertConfig, str]:
    """The organization's projects that have an enabled configuration for the event type, by their ids.

    `after`: only projects with greater ids.
    """
    asking = AlertConfig.objects.filter(event_type=event_type.value, deleted=None, enabled=True)
    # A deleted project has no organization.
    within = asking.filter(group__org_id=org_id, group_id__gt=after)
    return within.order_by("group_id").values_list("group_id", flat=True).distinct()


_ASKING_WITHOUT_PROJECT = """
SELECT id FROM alerting_alertconfig AS config
 WHERE group_id IS NULL AND event_type = %(event_type)s AND deleted IS NULL AND enabled
   AND (for_all_groups AND tags = '{}' OR EXISTS (
       SELECT FROM accesslist_project AS project
        WHERE project.org_id = %(org_id)s
          AND (project.id = ANY(config.group_ids) OR project.tags && config.tags)))
 ORDER BY id
"""


def configs_asking_without_project(event_type: EventType, org_id: str | None) -> list[str]:
    """The enabled global configurations for an event of an organization, or of the installation for None.

    Configurations for an organization cover one of its projects. Configurations for all projects without tags
    also cover organizations without projects, and are the only ones for the installation.
    """
    asking = fetch_rows(_ASKING_WITHOUT_PROJECT, {"event_type": event_type.value, "org_id": org_id})
    return [config_id for (config_id,) in asking]


T = TypeVar("T")


def configs_of(group_id: str | None, severities: Collection[str] = ()) -> QuerySet[AlertConfig]:
    """A project's configurations, or the global ones for None, in the order of creation.

    With `severities`, only configurations with them.
    """
    where = [has_severity(*severities)] if severities else []
    return AlertConfig.objects.filter(*where, group_id=group_id, deleted=None).order_by("created", "id")


def configs_named(ids: Collection[str], group_id: str | None) -> QuerySet[AlertConfig]:
    """The configurations of `configs_of` that have these IDs."""
    return configs_of(group_id).filter(id__in=ids)


def alert_config(config_id: str) -> AlertConfig | None:
    """A configuration of either kind, unless it was deleted."""
    return AlertConfig.objects.filter(id=config_id, deleted=None).first()


def notifications_column() -> JsonRows:
    """A configuration's notifications in their order; a team with the name it has now."""
    team = Team.objects.filter(id=OuterRef("team_id")).values("name")
    settings = NotificationSetting.objects.filter(config_id=OuterRef("id")).order_by("position")
    return JsonRows(
        settings.annotate(team_id=KT("fields__teamId")),
        id="id",
        typeName="type_name",
        delayMin="delay_min",
        intervalMin="interval_min",
        minSeverity="min_severity",
        fields="fields",
        teamName=Subquery(team),
    )


def config_found(config: T | None, config_id: str, group_id: str | None) -> T:
    """The configuration, or the 404 of its kind when there is none; without a project it is a global one."""
    if group_id is None:
        return get_or_404(config, ErrorCode.GLOBAL_ALERT_CONFIG_NOT_FOUND, config_id)
    return get_or_404(config, ErrorCode.ALERT_CONFIG_NOT_FOUND, config_id, group_id)


_ALL = 2**31
_AUDITS = [name.value for name, spec in EVENT_TYPES.items() if spec.category is Category.ALERT_CONFIG]


def config_audits(config: AlertConfig) -> QuerySet[Event]:
    """The events of writes to it and of its tests, newest first."""
    # Found among the project's few events of these types: no index is on the configuration's id. PostgreSQL
    # plans a subselect with a limit by itself. Otherwise it reads all events of the project, newest first,
    # until it has enough of the configuration.
    audits = Event.objects.filter(group_id=config.group_id, event_type__in=_AUDITS)[:_ALL]
    of_config = Event.objects.filter(id__in=audits.values("id"), details__alertConfigId=config.id)
    return of_config.order_by("-created", "-id")


MOST_OFFERED = 1_000
Offer = tuple[str, str]
"""An ID and a name."""


def may_write_global(operator: Operator) -> bool:
    return satisfies_any(operator.grants, WRITE_GLOBAL.roles, INSTALLATION)


def writable_projects(operator: Operator, named: str = "") -> list[Offer]:
    """Projects in which the operator may create configurations, by name, including the selected one."""
    visible = visible_projects(operator.grants).order_by("name")
    rows = list(visible.values_list("id", "name", "org_id")[:MOST_OFFERED])
    if named and named not in {row[0] for row in rows}:
        rows += visible.filter(id=named).values_list("id", "name", "org_id")
    return [
        (group_id, name)
        for group_id, name, org_id in rows
        if satisfies_any(operator.grants, WRITE.roles, Scope(org_id, group_id))
    ]


def all_projects(named: Iterable[str], stored: Iterable[str]) -> list[Offer]:
    """The projects that a global configuration can list, by name, including the listed ones.

    Stored ids without a project stay until somebody removes them.
    """
    rows = list(Project.objects.order_by("name").values_list("id", "name")[:MOST_OFFERED])
    beyond = {*named, *stored} - {row[0] for row in rows}
    rows += Project.objects.filter(id__in=beyond).values_list("id", "name")
    known = {row[0] for row in rows}
    return rows + [(name, f"{name} (no project)") for name in stored if name not in known]


def offered_teams(operator: Operator) -> list[Offer]:
    """The teams that the operator can read."""
    visible_scope = operator.visible_scope()
    teams = (
        Team.objects.all()
        if visible_scope.everything
        else Team.objects.filter(org_id__in=visible_scope.org_ids)
    )
    return list(teams.order_by("name").values_list("id", "name")[:MOST_OFFERED])


logger = logging.getLogger("opsapi.evaluation")

_SIZE = """
(SELECT count(*) FROM alerting_notificationsetting AS setting
  WHERE setting.config_id = config.id AND NOT setting.removed), config.grouping = 'TOPOLOGY'
"""
_SIZES = f"""
SELECT config.id, {_SIZE} FROM alerting_alertconfig AS config WHERE config.id = ANY(%(ids)s)
"""  # noqa: S608 - built from constants
_VIEWS = f"""
SELECT config.id, config.event_type, config.group_id IS NULL, config.tags,
       config.matchers::text, config.metric_threshold::text, config.threshold::text, config.severity, {_SIZE}
  FROM ({CONCERNED}) AS config
 ORDER BY config.id
"""  # noqa: S608 - built from constants


class OpeningSize(NamedTuple):
    """What an opening of an alert writes: its number of messages, and whether it can join an incident."""

    messages: int
    is_grouped: bool


def opening_sizes(config_ids: Collection[str]) -> dict[str, OpeningSize]:
    """Return what openings of the alerts of configurations write, by configuration."""
    return {row[0]: OpeningSize(*row[1:]) for row in fetch_rows(_SIZES, {"ids": list(config_ids)})}


def concerned_configs(group_id: str, event_types: Iterable[EventType]) -> list[ConfigView]:
    """The enabled configurations that cover a project for these event types, in the order of their ids.

    A configuration that this version of the platform cannot read is logged and left out.
    """
    return [view for row in _concerned_rows(group_id, event_types) if (view := _readable_view(row))]


def _concerned_rows(group_id: str, event_types: Iterable[EventType]) -> list[tuple[Any, ...]]:
    return fetch_rows(_VIEWS, concerned_parameters(group_id, event_types))


def configs_with_ids(config_ids: Collection[str], *, group_id: str) -> list[ConfigView]:
    """These configurations, if they exist, are enabled and cover the project, in the order of their ids.

    Raises:
        LookupError, TypeError, ValueError: this version of the platform cannot read a configuration.
    """
    names = AlertConfig.objects.filter(Among("id", config_ids)).values_list("event_type", flat=True)
    types = {EventType(name) for name in names}
    return [_view(row) for row in _concerned_rows(group_id, types) if row[0] in config_ids]


def config_view(config: AlertConfig) -> ConfigView:
    """A stored configuration as rules take it, deleted and disabled ones too."""
    metric_threshold, threshold = config.metric_threshold, config.threshold
    return ConfigView(
        id=config.id,
        event_type=EventType(config.event_type),
        matchers=tuple(matcher_of(matcher) for matcher in config.matchers),
        threshold=threshold_of(metric_threshold, threshold) if metric_threshold or threshold else None,
        is_global=config.group_id is None,
        chosen_severity=config.severity,
        name=config.name,
    )


def _readable_view(row: tuple[Any, ...]) -> ConfigView | None:
    try:
        return _view(row)
    except (LookupError, TypeError, ValueError):
        logger.exception("configuration %s cannot be read", row[0])
        return None


def _view(row: tuple[Any, ...]) -> ConfigView:
    config_id, event_type, is_global, tags, matchers, metric_threshold, threshold, severity, *size = row
    messages, is_grouped = size
    return ConfigView(
        id=config_id,
        event_type=EventType(event_type),
        matchers=_matchers(matchers),
        threshold=_threshold(metric_threshold, threshold),
        is_global=is_global,
        tags=tuple(tags),
        messages=messages,
        is_grouped=is_grouped,
        chosen_severity=severity,
    )


# Many configurations have the same texts.
_cached = lru_cache(maxsize=10_000)


@_cached
def _matchers(stored: str) -> tuple[Matcher, ...]:
    return tuple(matcher_of(matcher) for matcher in orjson.loads(stored))


@_cached
def _threshold(metric_threshold: str | None, threshold: str | None) -> Threshold | None:
    return threshold_of(
        orjson.loads(metric_threshold) if metric_threshold else None,
        orjson.loads(threshold) if threshold else None,
    )


CONFIGS_KEPT = 500_000
"""The most configurations that a process keeps, with about 260 bytes each; long matchers count as more."""

# The version of a row is its place and the transaction that wrote it. After a restored backup or a failover,
# PostgreSQL may give their numbers a second time; the time of the update differs then.
_VERSIONS = f"""
SELECT event_type, sha256(string_agg(record_send(ROW(id, updated, xmin, ctid)), '' ORDER BY id))
  FROM ({CONCERNED}) AS config GROUP BY event_type
"""  # noqa: S608 - built from constants


@dataclass(frozen=True, slots=True)
class _Kept:
    version: bytes
    index: ConfigIndex
    weight: int


class KeptIndexes:
    """The newest index of each project and event type. Above the weight `most`, the longest unused go."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._weight = 0
        self._kept: OrderedDict[tuple[str, EventType], _Kept] = OrderedDict()
        self._lock = Lock()

    def get(self, group_id: str, event_type: EventType, version: bytes) -> ConfigIndex | None:
        """Return the index of this version; None if it is not kept."""
        key = group_id, event_type
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.version != version:
                return None
            self._kept.move_to_end(key)
            return kept.index

    def keep(self, group_id: str, event_type: EventType, version: bytes, index: ConfigIndex) -> None:
        """Keep the index in place of other versions."""
        with self._lock:
            before = self._kept.pop((group_id, event_type), None)
            kept = self._kept[group_id, event_type] = _Kept(version, index, _weight_of(index))
            self._weight += kept.weight - (before.weight if before else 0)
            while self._weight > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._weight -= oldest.weight


def _weight_of(index: ConfigIndex) -> int:
    """The memory of an index in units of a configuration without matchers."""
    matchers = (matcher for config in index.configs.values() for matcher in config.matchers)
    return len(index.configs) + sum(1 + len(matcher.value) // 250 for matcher in matchers)


_KEPT = KeptIndexes(CONFIGS_KEPT)


def concerned_indexes(group_id: str, event_types: Iterable[EventType]) -> Mapping[EventType, ConfigIndex]:
    """The enabled configurations that cover a project, by event type; types without any are left out."""
    indexes, missing = {}, {}
    # The versions are read first: a change in between makes the next evaluation read again.
    for event_type, version in _versions(group_id, event_types).items():
        index = _KEPT.get(group_id, event_type, version)
        if index is None:
            missing[event_type] = version
        else:
            indexes[event_type] = index
    read = indexes_of(concerned_configs(group_id, missing) if missing else ())
    for event_type, version in missing.items():
        index = read.get(event_type, NO_CONFIGS)
        _KEPT.keep(group_id, event_type, version, index)
        indexes[event_type] = index
    return indexes


def indexes_of(configs: Iterable[ConfigView]) -> Mapping[EventType, ConfigIndex]:
    """The indexes of configurations by event type."""
    by_type: dict[EventType, list[ConfigView]] = {}
    for config in configs:
        by_type.setdefault(config.event_type, []).append(config)
    return {event_type: ConfigIndex(of_type) for event_type, of_type in by_type.items()}


def _versions(group_id: str, event_types: Iterable[EventType]) -> Mapping[EventType, bytes]:
    rows = fetch_rows(_VERSIONS, concerned_parameters(group_id, event_types))
    return {EventType(event_type): version for event_type, version in rows}


def type_of(setting: NotificationSetting) -> NotificationType:
    return NOTIFICATION_TYPES[setting.type_name]


def filled(row: NotificationSetting, place: int, values: Mapping[str, Any]) -> NotificationSetting:
    """Set the values of a row except its secrets, which are redacted in `fields`; nothing is saved.

    `values` are a validated setting, by their wire names.
    """
    kind = NOTIFICATION_TYPES[values["typeName"]]
    row.position, row.type_name, row.delay_min = place, kind.type, values["delayMin"]
    row.interval_min = values.get("intervalMin", kind.default_interval_min)
    row.min_severity = values.get("minSeverity")
    row.fields = kind.shown(values)
    return row


def stands_for_people(notification: Notification) -> bool:
    """Whether it is for people, or for one of their addresses."""
    return NOTIFICATION_TYPES[notification.type_name].for_people


def secrets_gone(setting: NotificationSetting) -> bool:
    """Whether its secrets were removed: only their redacted form is left."""
    return setting.secrets is None and any(name in setting.fields for name in type_of(setting).secret_fields)


def shortest_delays(config_ids: Iterable[str]) -> Mapping[str, timedelta]:
    """The shortest delay of each configuration with notifications, by configuration id."""
    settings = NotificationSetting.objects.filter(Among("config_id", config_ids)).order_by()
    delays = settings.values_list("config_id").annotate(Min("delay_min"))
    return {config_id: timedelta(minutes=minutes) for config_id, minutes in delays}


def setting_values(setting: NotificationSetting) -> dict[str, Any]:
    """The fields as sent, secrets in full; removed secrets are left out.

    Raises:
        CannotDecryptError: the key that encrypted them is not configured any more.
    """
    secrets = json.loads(decrypt(setting.secrets, owner=setting.id)) if setting.secrets else {}
    return type_of(setting).opened(setting.fields, secrets)


def setting_document(setting: NotificationSetting) -> dict[str, Any]:
    """A stored setting in full, as a validated document has it.

    Raises:
        CannotDecryptError: as `setting_values`.
    """
    common = {"id": setting.id, "typeName": setting.type_name, "delayMin": setting.delay_min}
    interval = {} if setting.interval_min is None else {"intervalMin": setting.interval_min}
    minimum = {} if setting.min_severity is None else {"minSeverity": setting.min_severity}
    return {**common, **interval, **minimum, **setting_values(setting)}


def setting_secrets(setting: NotificationSetting) -> Secrets:
    """The secrets in full, by field; None if they cannot be decrypted."""
    return readable(type_of(setting).secret_fields, setting.fields, lambda: setting_values(setting))


def config_secrets(config: AlertConfig) -> Mapping[str, Secrets]:
    """The secrets of all settings of a configuration in full, by setting id."""
    return {setting.id: setting_secrets(setting) for setting in config.settings.all()}


def own_credentials(setting: NotificationSetting) -> bool:
    """Whether it is complete without an integration."""
    return type_of(setting).has_credentials(setting.fields)


def known_username(name: str, group_id: str | None) -> str | None:
    """The user's name as it is spelled; None when the project's organization has no such user.

    A global configuration (no project) can name every user.
    """
    orgs = _orgs(group_id)
    visible = EVERYTHING if orgs is None else VisibleUsers(orgs=orgs)
    return visible_users_named(name, visible).values_list("username", flat=True).first()


def team_name(team_id: str, group_id: str | None) -> str | None:
    """The team's name; None when the project's organization has no such team. As `known_username`."""
    orgs = _orgs(group_id)
    teams = Team.objects.filter(id=team_id)
    visible = teams if orgs is None else teams.filter(org_id__in=orgs)
    return visible.values_list("name", flat=True).first()


def has_integration(group_id: str, integration_type: str) -> bool:
    return integrations_of(group_id).filter(type=integration_type).exists()


def named_already(settings: Iterable[NotificationSetting], name: str, value: Any) -> bool:
    """Whether a stored setting has this value, so that it is not looked up again."""
    return any(setting.fields.get(name) == value for setting in settings)


def _orgs(group_id: str | None) -> list[str] | None:
    """The project's organization; None, which means all organizations, without a project."""
    if group_id is None:
        return None
    org_ids = Project.objects.filter(id=group_id).values_list("org_id", flat=True)
    return [org_id for org_id in org_ids if org_id]


class NoCredentialsError(Exception):
    """Neither the setting nor an integration has credentials; `reason` is for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ChannelCredentials:
    """The field values of the channel, secrets decrypted; `shown`: the recipient, redacted."""

    config: Mapping[str, str]
    shown: str


def settings_of(notifications: Iterable[Notification]) -> dict[tuple[str, str], NotificationSetting]:
    """Return the settings of notifications by id and type, including removed settings.

    Deleted settings are missing, and settings that now have another type.
    """
    ids = {notification.setting_id for notification in notifications}
    settings = NotificationSetting.with_removed.select_related("config").filter(Among("id", ids))
    return {(setting.id, setting.type_name): setting for setting in settings}


def setting_of(notification: Notification) -> NotificationSetting | None:
    """Like `settings_of`, for one notification."""
    return settings_of([notification]).get((notification.setting_id, notification.type_name))


def credentials_for(notification: Notification, setting: NotificationSetting | None) -> ChannelCredentials:
    """Return the credentials for a notification that has a channel.

    Raises:
        NoCredentialsError: the setting or its secrets were deleted, or the project has no integration for it.
        CannotDecryptError: the key of its secrets is no longer configured.
    """
    if _keeps_its_address(notification):
        address = RecipientAddress(ChannelType(str(notification.channel)), notification.recipient)
        return ChannelCredentials(address_config(address), notification.recipient)
    if setting is None:
        raise NoCredentialsError(NotificationReason.NOTIFICATION_REMOVED.value)
    return setting_credentials(setting, group_id=notification.group_id)


def credentials_gone(
    notification: Notification, setting: NotificationSetting | None
) -> NotificationReason | None:
    """Why it cannot be sent, whatever integrations the project has; None if it can, or has no channel yet."""
    if notification.channel is None or _keeps_its_address(notification):
        return None
    if setting is None:
        return NotificationReason.NOTIFICATION_REMOVED
    return NotificationReason.SECRETS_GONE if secrets_gone(setting) else None


def address_config(address: RecipientAddress) -> Mapping[str, str]:
    """The configuration of the channel for one address."""
    return {CHANNELS[address.channel].fields[0].name: address.recipient}


def setting_credentials(setting: NotificationSetting, *, group_id: str | None) -> ChannelCredentials:
    """The credentials of a setting that is not for people; `group_id`: the project of the integration.

    Raises: as `credentials_for`.
    """
    if secrets_gone(setting):
        raise NoCredentialsError(NotificationReason.SECRETS_GONE.value)
    kind, values = type_of(setting), setting_values(setting)
    integration = _integration(setting, group_id)
    if integration is None and not kind.has_credentials(values):
        failure = AttemptFailure.NO_INTEGRATION if group_id else AttemptFailure.NO_PROJECT
        raise NoCredentialsError(failure.value.format(integration=kind.full_name))
    helping = {} if integration is None else integration_values(integration)
    return ChannelCredentials(kind.channel_config(values, helping), _shown(setting, integration))


def recipient_shown(setting: NotificationSetting, *, group_id: str | None) -> str:
    """The recipient of a setting that is not for people, as shown in the log; empty without a recipient."""
    return _shown(setting, _integration(setting, group_id))


def _integration(setting: NotificationSetting, group_id: str | None) -> Integration | None:
    """The integration that a setting without credentials uses; None if there is none."""
    kind = type_of(setting)
    if kind.integration is None or group_id is None or kind.has_credentials(setting.fields):
        return None
    return stored_integration(group_id, kind.integration)


def _shown(setting: NotificationSetting, integration: Integration | None) -> str:
    first = type_of(setting).fields[0]
    if integration is None:
        return str(setting.fields.get(first.name, ""))
    return str(integration.fields.get(first.config_name or "", ""))


def _keeps_its_address(notification: Notification) -> bool:
    """Ends, and messages to people, go to the stored address, whatever the configuration names now."""
    fixed = notification.kind in ENDS or stands_for_people(notification)
    return (
        fixed and notification.channel is not None and CHANNELS[ChannelType(notification.channel)].has_address
    )
