"""Event types: the properties of a type, and the table of all types."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, Self


class Category(StrEnum):
    """The subject of an event type.

    Alert configurations can use the first twelve categories; the others only have audits.
    """

    AGENT = "AGENT"
    AUTOMATION_CONFIG = "AUTOMATION_CONFIG"
    BACKUP = "BACKUP"
    BI_CONNECTOR = "BI_CONNECTOR"
    CLUSTER = "CLUSTER"
    DATA_EXPLORER = "DATA_EXPLORER"
    HOST = "HOST"
    ORGANIZATION = "ORGANIZATION"
    GROUP = "GROUP"
    REPLICA_SET = "REPLICA_SET"
    TEAM = "TEAM"
    USER = "USER"
    API_KEY = "API_KEY"
    ACCESS_LIST = "ACCESS_LIST"
    ALERT_CONFIG = "ALERT_CONFIG"
    ALERT = "ALERT"
    MAINTENANCE_WINDOW = "MAINTENANCE_WINDOW"
    INTEGRATION = "INTEGRATION"


class AlertEffect(StrEnum):
    """The effect of an event type on alerts."""

    OPENING = "OPENING"
    CLOSING = "CLOSING"
    ONE_SHOT = "ONE_SHOT"
    AUDIT = "AUDIT"


class Target(StrEnum):
    """The target of an alert: a configuration has at most one active alert per target.

    The default target is the project, also for the state of an organization.
    """

    AGENT = "AGENT"
    HOST = "HOST"
    HOST_METRIC = "HOST_METRIC"
    REPLICA_SET = "REPLICA_SET"
    CLUSTER = "CLUSTER"
    GROUP = "GROUP"


class Needs(StrEnum):
    """The threshold that configurations of an event type must have; others are rejected."""

    NOTHING = "NOTHING"
    THRESHOLD = "THRESHOLD"
    METRIC_THRESHOLD = "METRIC_THRESHOLD"


class Severity(StrEnum):
    """How urgent an alert or event is, in ascending order. Each alert configuration has a severity."""

    INFO = "INFO"
    WARNING = "WARNING"
    CRITICAL = "CRITICAL"

    @property
    def rank(self) -> int:
        """Its place in the order: a higher rank is more urgent."""
        return list(Severity).index(self)


_MATCHABLE = frozenset({Category.HOST, Category.REPLICA_SET, Category.CLUSTER})

_REPORTED = frozenset(
    {
        Category.AGENT,
        Category.BACKUP,
        Category.BI_CONNECTOR,
        Category.CLUSTER,
        Category.DATA_EXPLORER,
        Category.HOST,
        Category.REPLICA_SET,
    }
)

_TARGETS = {
    Category.AGENT: Target.AGENT,
    Category.BACKUP: Target.REPLICA_SET,
    Category.BI_CONNECTOR: Target.HOST,
    Category.CLUSTER: Target.CLUSTER,
    Category.HOST: Target.HOST,
    Category.REPLICA_SET: Target.REPLICA_SET,
}


@dataclass(frozen=True)
class EventTypeSpec:
    """A row of the table.

    `closed_by` is the type that closes alerts of this type. `derived`: the platform derives the event,
    because an agent's report could contradict the state of the alert. `global_only`: only global
    configurations can use it. `produced`: something creates such events. `severity` is the severity of
    configurations that choose none; None if no configuration can use the type.
    """

    name: str
    category: Category
    kind: AlertEffect
    target: Target
    closed_by: str | None = None
    needs: Needs = Needs.NOTHING
    derived: bool = False
    global_only: bool = False
    produced: bool = True
    severity: Severity | None = None

    @property
    def alertable(self) -> bool:
        """Whether an alert configuration can use the type."""
        return self.kind in (AlertEffect.OPENING, AlertEffect.ONE_SHOT)

    @property
    def closes(self) -> bool:
        """Whether the type closes alerts of other types (`openers_of` returns them)."""
        return self.kind is AlertEffect.CLOSING

    @property
    def about_data(self) -> bool:
        """Whether its events name a database, a collection and an operation."""
        return self.category is Category.DATA_EXPLORER

    @property
    def one_shot(self) -> bool:
        """Whether it notifies once and opens no alert."""
        return self.kind is AlertEffect.ONE_SHOT

    @property
    def reported(self) -> bool:
        """Whether agents can report it. They cannot report audits and derived events."""
        return self.category in _REPORTED and self.kind is not AlertEffect.AUDIT and not self.derived

    @property
    def of_fleet(self) -> bool:
        """Whether its events say what happened to hosts, sets, clusters or agents, not what somebody did."""
        return self.category in _REPORTED and not self.name.endswith("_AUDIT")

    @property
    def supports_matchers(self) -> bool:
        """Whether configurations of the type can have matchers."""
        return self.alertable and self.category in _MATCHABLE


@dataclass(frozen=True, slots=True)
class _Rows:
    """Creates rows of a category. `options`: other fields of `EventTypeSpec`."""

    category: Category

    def opening(
        self, name: str, closed_by: str, *, severity: Severity = Severity.WARNING, **options: Any
    ) -> EventTypeSpec:
        """A type that opens alerts."""
        return self._row(name, AlertEffect.OPENING, closed_by=closed_by, severity=severity, **options)

    def closing(self, name: str, **options: Any) -> EventTypeSpec:
        """A type that closes alerts of other types."""
        return self._row(name, AlertEffect.CLOSING, **options)

    def one_shot(self, name: str, *, severity: Severity = Severity.INFO, **options: Any) -> EventTypeSpec:
        """A type that notifies once and opens no alert."""
        return self._row(name, AlertEffect.ONE_SHOT, severity=severity, **options)

    def audit(self, name: str) -> EventTypeSpec:
        """A type that is only recorded."""
        return self._row(name, AlertEffect.AUDIT)

    def _row(
        self, name: str, kind: AlertEffect, target: Target | None = None, **options: Any
    ) -> EventTypeSpec:
        about = target or _TARGETS.get(self.category, Target.GROUP)
        return EventTypeSpec(name, self.category, kind, about, **options)


_INFO, _WARNING, _CRITICAL = Severity

_agent = _Rows(Category.AGENT)
_automation_config = _Rows(Category.AUTOMATION_CONFIG)
_backup = _Rows(Category.BACKUP)
_bi_connector = _Rows(Category.BI_CONNECTOR)
_cluster = _Rows(Category.CLUSTER)
_data_explorer = _Rows(Category.DATA_EXPLORER)
_host = _Rows(Category.HOST)
_organization = _Rows(Category.ORGANIZATION)
_project = _Rows(Category.GROUP)
_replica_set = _Rows(Category.REPLICA_SET)
_team = _Rows(Category.TEAM)
_user = _Rows(Category.USER)
_api_key = _Rows(Category.API_KEY)
_access_list = _Rows(Category.ACCESS_LIST)
_alert_config = _Rows(Category.ALERT_CONFIG)
_alert = _Rows(Category.ALERT)
_maintenance_window = _Rows(Category.MAINTENANCE_WINDOW)
_integration = _Rows(Category.INTEGRATION)


class EventType(StrEnum):
    """All event types: a member is its wire name and has its row as `spec`."""

    spec: EventTypeSpec

    # Any: for a type checker, a look-up such as `EventType("HOST_DOWN")` passes through here as well.
    def __new__(cls, row: Any) -> Self:
        """Create the member of a row."""
        member = str.__new__(cls, row.name)
        member._value_ = row.name
        member.spec = row
        return member

    AUTOMATION_AGENT_DOWN = _agent.opening("AUTOMATION_AGENT_DOWN", "AUTOMATION_AGENT_UP", derived=True)
    AUTOMATION_AGENT_UP = _agent.closing("AUTOMATION_AGENT_UP", derived=True)
    BACKUP_AGENT_DOWN = _agent.opening("BACKUP_AGENT_DOWN", "BACKUP_AGENT_UP", derived=True)
    BACKUP_AGENT_UP = _agent.closing("BACKUP_AGENT_UP", derived=True)
    MONITORING_AGENT_DOWN = _agent.opening(
        "MONITORING_AGENT_DOWN", "MONITORING_AGENT_UP", derived=True, severity=_CRITICAL
    )
    MONITORING_AGENT_UP = _agent.closing("MONITORING_AGENT_UP", derived=True)
    MONITORING_AGENT_VERSION_BEHIND = _agent.opening(
        "MONITORING_AGENT_VERSION_BEHIND", "MONITORING_AGENT_VERSION_CURRENT", derived=True, severity=_INFO
    )
    MONITORING_AGENT_VERSION_CURRENT = _agent.closing("MONITORING_AGENT_VERSION_CURRENT", derived=True)
    BACKUP_AGENT_VERSION_BEHIND = _agent.opening(
        "BACKUP_AGENT_VERSION_BEHIND", "BACKUP_AGENT_VERSION_CURRENT", derived=True, severity=_INFO
    )
    BACKUP_AGENT_VERSION_CURRENT = _agent.closing("BACKUP_AGENT_VERSION_CURRENT", derived=True)
    NEW_AGENT = _agent.one_shot("NEW_AGENT", derived=True)
    BACKUP_AGENT_CONF_CALL_FAILURE = _agent.one_shot(
        "BACKUP_AGENT_CONF_CALL_FAILURE", global_only=True, severity=_WARNING
    )
    AGENT_DELETED_AUDIT = _agent.audit("AGENT_DELETED_AUDIT")
    AGENT_SETTINGS_CHANGED_AUDIT = _agent.audit("AGENT_SETTINGS_CHANGED_AUDIT")

    AUTOMATION_CONFIG_PUBLISHED_AUDIT = _automation_config.one_shot("AUTOMATION_CONFIG_PUBLISHED_AUDIT")
    AUTOMATION_CONFIG_FETCHED_AUDIT = _automation_config.audit("AUTOMATION_CONFIG_FETCHED_AUDIT")
    AUTOMATION_MOVE_BEGUN_AUDIT = _automation_config.audit("AUTOMATION_MOVE_BEGUN_AUDIT")
    AUTOMATION_MOVE_ENDED_AUDIT = _automation_config.audit("AUTOMATION_MOVE_ENDED_AUDIT")
    AUTOMATION_PLAN_WAITING = _automation_config.opening(
        "AUTOMATION_PLAN_WAITING", "AUTOMATION_PLAN_CONTINUED", target=Target.HOST, derived=True
    )
    AUTOMATION_PLAN_STOPPED = _automation_config.opening(
        "AUTOMATION_PLAN_STOPPED",
        "AUTOMATION_PLAN_CONTINUED",
        target=Target.HOST,
        derived=True,
        severity=_CRITICAL,
    )
    AUTOMATION_PLAN_CONTINUED = _automation_config.closing(
        "AUTOMATION_PLAN_CONTINUED", target=Target.HOST, derived=True
    )
    AUTOMATION_PLAN_PAUSED_AUDIT = _automation_config.audit("AUTOMATION_PLAN_PAUSED_AUDIT")
    AUTOMATION_PLAN_RESUMED_AUDIT = _automation_config.audit("AUTOMATION_PLAN_RESUMED_AUDIT")

    OPLOG_BEHIND = _backup.opening("OPLOG_BEHIND", "OPLOG_CURRENT")
    OPLOG_CURRENT = _backup.closing("OPLOG_CURRENT")
    RESYNC_REQUIRED = _backup.opening("RESYNC_REQUIRED", "RESYNC_PERFORMED")
    RESYNC_PERFORMED = _backup.closing("RESYNC_PERFORMED")
    RESTORE_REQUESTED_AUDIT = _backup.one_shot("RESTORE_REQUESTED_AUDIT")
    SNAPSHOT_DELETED_AUDIT = _backup.one_shot("SNAPSHOT_DELETED_AUDIT")
    SNAPSHOT_EXPIRY_UPDATED_AUDIT = _backup.one_shot("SNAPSHOT_EXPIRY_UPDATED_AUDIT")
    INITIAL_SYNC_STARTED_AUDIT = _backup.one_shot("INITIAL_SYNC_STARTED_AUDIT")
    INITIAL_SYNC_FINISHED_AUDIT = _backup.one_shot("INITIAL_SYNC_FINISHED_AUDIT")
    SYNC_PENDING_AUDIT = _backup.one_shot("SYNC_PENDING_AUDIT")
    SYNC_REQUIRED_AUDIT = _backup.one_shot("SYNC_REQUIRED_AUDIT", severity=_WARNING)
    RS_CREDENTIAL_UPDATED_AUDIT = _backup.one_shot("RS_CREDENTIAL_UPDATED_AUDIT")
    RS_DENYLIST_UPDATED_AUDIT = _backup.one_shot("RS_DENYLIST_UPDATED_AUDIT")
    RS_ROTATE_MASTER_KEY_AUDIT = _backup.one_shot("RS_ROTATE_MASTER_KEY_AUDIT")
    RS_SNAPSHOT_SCHEDULE_UPDATED_AUDIT = _backup.one_shot("RS_SNAPSHOT_SCHEDULE_UPDATED_AUDIT")
    RS_STATE_CHANGED_AUDIT = _backup.one_shot("RS_STATE_CHANGED_AUDIT")
    RS_STORAGE_ENGINE_UPDATED_AUDIT = _backup.one_shot("RS_STORAGE_ENGINE_UPDATED_AUDIT")
    INCONSISTENT_BACKUP_CONFIGURATION = _backup.opening(
        "INCONSISTENT_BACKUP_CONFIGURATION", "CONSISTENT_BACKUP_CONFIGURATION", target=Target.CLUSTER
    )
    CONSISTENT_BACKUP_CONFIGURATION = _backup.closing(
        "CONSISTENT_BACKUP_CONFIGURATION", target=Target.CLUSTER
    )
    BAD_CLUSTERSHOTS = _backup.opening("BAD_CLUSTERSHOTS", "GOOD_CLUSTERSHOT", target=Target.CLUSTER)
    GOOD_CLUSTERSHOT = _backup.closing("GOOD_CLUSTERSHOT", target=Target.CLUSTER)
    CLUSTER_CHECKPOINT_UPDATED_AUDIT = _backup.one_shot(
        "CLUSTER_CHECKPOINT_UPDATED_AUDIT", target=Target.CLUSTER
    )
    CLUSTER_CREDENTIAL_UPDATED_AUDIT = _backup.one_shot(
        "CLUSTER_CREDENTIAL_UPDATED_AUDIT", target=Target.CLUSTER
    )
    CLUSTER_DENYLIST_UPDATED_AUDIT = _backup.one_shot("CLUSTER_DENYLIST_UPDATED_AUDIT", target=Target.CLUSTER)
    CLUSTER_SNAPSHOT_SCHEDULE_UPDATED_AUDIT = _backup.one_shot(
        "CLUSTER_SNAPSHOT_SCHEDULE_UPDATED_AUDIT", target=Target.CLUSTER
    )
    CLUSTER_STATE_CHANGED_AUDIT = _backup.one_shot("CLUSTER_STATE_CHANGED_AUDIT", target=Target.CLUSTER)
    CLUSTER_STORAGE_ENGINE_UPDATED_AUDIT = _backup.one_shot(
        "CLUSTER_STORAGE_ENGINE_UPDATED_AUDIT", target=Target.CLUSTER
    )
    CLUSTERSHOT_DELETED_AUDIT = _backup.one_shot("CLUSTERSHOT_DELETED_AUDIT", target=Target.CLUSTER)
    CLUSTERSHOT_EXPIRY_UPDATED_AUDIT = _backup.one_shot(
        "CLUSTERSHOT_EXPIRY_UPDATED_AUDIT", target=Target.CLUSTER
    )

    BI_CONNECTOR_DOWN = _bi_connector.opening("BI_CONNECTOR_DOWN", "BI_CONNECTOR_UP")
    BI_CONNECTOR_UP = _bi_connector.closing("BI_CONNECTOR_UP")

    CLUSTER_MONGOS_IS_MISSING = _cluster.opening(
        "CLUSTER_MONGOS_IS_MISSING", "CLUSTER_MONGOS_IS_PRESENT", severity=_CRITICAL
    )
    CLUSTER_MONGOS_IS_PRESENT = _cluster.closing("CLUSTER_MONGOS_IS_PRESENT")
    SHARD_ADDED = _cluster.one_shot("SHARD_ADDED")
    SHARD_REMOVED = _cluster.one_shot("SHARD_REMOVED")

    DATA_EXPLORER = _data_explorer.one_shot("DATA_EXPLORER")
    DATA_EXPLORER_CRUD = _data_explorer.one_shot("DATA_EXPLORER_CRUD")

    HOST_DOWN = _host.opening("HOST_DOWN", "HOST_UP", derived=True, severity=_CRITICAL)
    HOST_UP = _host.closing("HOST_UP", derived=True)
    HOST_NOT_MEASURED = _host.opening("HOST_NOT_MEASURED", "HOST_MEASURED", derived=True)
    HOST_MEASURED = _host.closing("HOST_MEASURED", derived=True)
    HOST_RECOVERING = _host.opening("HOST_RECOVERING", "HOST_RECOVERED", derived=True)
    HOST_RECOVERED = _host.closing("HOST_RECOVERED", derived=True)
    HOST_SSL_CERTIFICATE_STALE = _host.opening("HOST_SSL_CERTIFICATE_STALE", "HOST_SSL_CERTIFICATE_CURRENT")
    HOST_SSL_CERTIFICATE_CURRENT = _host.closing("HOST_SSL_CERTIFICATE_CURRENT")
    VERSION_BEHIND = _host.opening("VERSION_BEHIND", "VERSION_CURRENT", derived=True, severity=_INFO)
    VERSION_CURRENT = _host.closing("VERSION_CURRENT", derived=True)
    HOST_RESTARTED = _host.one_shot("HOST_RESTARTED", derived=True, severity=_WARNING)
    HOST_ROLLBACK = _host.one_shot("HOST_ROLLBACK", severity=_WARNING)
    NEW_HOST = _host.one_shot("NEW_HOST", derived=True)
    ADD_HOST_AUDIT = _host.one_shot("ADD_HOST_AUDIT", derived=True)
    DELETE_HOST_AUDIT = _host.one_shot("DELETE_HOST_AUDIT", derived=True)
    HOST_NOW_PRIMARY = _host.one_shot("HOST_NOW_PRIMARY", derived=True)
    HOST_NOW_SECONDARY = _host.one_shot("HOST_NOW_SECONDARY", derived=True)
    HOST_NOW_STANDALONE = _host.one_shot("HOST_NOW_STANDALONE", derived=True)
    HOST_UPGRADED = _host.one_shot("HOST_UPGRADED", derived=True)
    HOST_DOWNGRADED = _host.one_shot("HOST_DOWNGRADED", derived=True)
    HOST_CHANGED_AUDIT = _host.audit("HOST_CHANGED_AUDIT")
    OUTSIDE_METRIC_THRESHOLD = _host.opening(
        "OUTSIDE_METRIC_THRESHOLD",
        "INSIDE_METRIC_THRESHOLD",
        target=Target.HOST_METRIC,
        needs=Needs.METRIC_THRESHOLD,
        derived=True,
    )
    INSIDE_METRIC_THRESHOLD = _host.closing(
        "INSIDE_METRIC_THRESHOLD", target=Target.HOST_METRIC, derived=True
    )

    ORG_USERS_WITHOUT_MFA = _organization.opening("ORG_USERS_WITHOUT_MFA", "ALL_ORG_USERS_HAVE_MFA")
    ALL_ORG_USERS_HAVE_MFA = _organization.closing("ALL_ORG_USERS_HAVE_MFA")
    ORG_API_KEY_ADDED = _organization.one_shot("ORG_API_KEY_ADDED")
    ORG_API_KEY_DELETED = _organization.one_shot("ORG_API_KEY_DELETED")
    ORG_RENAMED = _organization.one_shot("ORG_RENAMED")
    ORG_PUBLIC_API_ACCESS_LIST_REQUIRED = _organization.one_shot(
        "ORG_PUBLIC_API_ACCESS_LIST_REQUIRED", produced=False
    )
    ORG_PUBLIC_API_ACCESS_LIST_NOT_REQUIRED = _organization.one_shot(
        "ORG_PUBLIC_API_ACCESS_LIST_NOT_REQUIRED", produced=False
    )
    ORG_CREATED_AUDIT = _organization.audit("ORG_CREATED_AUDIT")
    ORG_DELETED_AUDIT = _organization.audit("ORG_DELETED_AUDIT")

    USERS_WITHOUT_MULTI_FACTOR_AUTH = _project.opening(
        "USERS_WITHOUT_MULTI_FACTOR_AUTH", "ALL_USERS_HAVE_MULTI_FACTOR_AUTH"
    )
    ALL_USERS_HAVE_MULTI_FACTOR_AUTH = _project.closing("ALL_USERS_HAVE_MULTI_FACTOR_AUTH")
    GROUP_CREATED = _project.one_shot("GROUP_CREATED")
    GROUP_CHANGED_AUDIT = _project.audit("GROUP_CHANGED_AUDIT")
    GROUP_DELETED_AUDIT = _project.audit("GROUP_DELETED_AUDIT")
    GROUP_LIMIT_REACHED_AUDIT = _project.audit("GROUP_LIMIT_REACHED_AUDIT")
    GROUP_SHARE_EXCEEDED_AUDIT = _project.audit("GROUP_SHARE_EXCEEDED_AUDIT")

    NO_PRIMARY = _replica_set.opening("NO_PRIMARY", "ONE_PRIMARY", derived=True, severity=_CRITICAL)
    MULTIPLE_PRIMARIES = _replica_set.opening(
        "MULTIPLE_PRIMARIES", "ONE_PRIMARY", derived=True, severity=_CRITICAL
    )
    ONE_PRIMARY = _replica_set.closing("ONE_PRIMARY", derived=True)
    CONFIGURATION_CHANGED = _replica_set.one_shot("CONFIGURATION_CHANGED")
    MEMBER_ADDED = _replica_set.one_shot("MEMBER_ADDED")
    MEMBER_REMOVED = _replica_set.one_shot("MEMBER_REMOVED")
    PRIMARY_ELECTED = _replica_set.one_shot("PRIMARY_ELECTED")
    TOO_MANY_ELECTIONS = _replica_set.one_shot("TOO_MANY_ELECTIONS", severity=_WARNING)
    TOO_FEW_HEALTHY_MEMBERS = _replica_set.opening(
        "TOO_FEW_HEALTHY_MEMBERS",
        "ENOUGH_HEALTHY_MEMBERS",
        needs=Needs.THRESHOLD,
        derived=True,
        severity=_CRITICAL,
    )
    TOO_MANY_UNHEALTHY_MEMBERS = _replica_set.opening(
        "TOO_MANY_UNHEALTHY_MEMBERS", "ENOUGH_HEALTHY_MEMBERS", needs=Needs.THRESHOLD, derived=True
    )
    ENOUGH_HEALTHY_MEMBERS = _replica_set.closing("ENOUGH_HEALTHY_MEMBERS", derived=True)

    TEAM_CREATED = _team.one_shot("TEAM_CREATED")
    TEAM_DELETED = _team.one_shot("TEAM_DELETED")
    TEAM_ADDED_TO_GROUP = _team.one_shot("TEAM_ADDED_TO_GROUP")
    TEAM_REMOVED_FROM_GROUP = _team.one_shot("TEAM_REMOVED_FROM_GROUP")
    USER_ADDED_TO_TEAM = _team.one_shot("USER_ADDED_TO_TEAM")
    TEAM_CHANGED_AUDIT = _team.audit("TEAM_CHANGED_AUDIT")
    TEAM_ROLES_CHANGED_AUDIT = _team.audit("TEAM_ROLES_CHANGED_AUDIT")
    USER_REMOVED_FROM_TEAM_AUDIT = _team.audit("USER_REMOVED_FROM_TEAM_AUDIT")

    JOINED_GROUP = _user.one_shot("JOINED_GROUP")
    JOINED_ORG = _user.one_shot("JOINED_ORG")
    REMOVED_FROM_GROUP = _user.one_shot("REMOVED_FROM_GROUP")
    INVITED_TO_GROUP = _user.one_shot("INVITED_TO_GROUP")
    INVITED_TO_ORG = _user.one_shot("INVITED_TO_ORG")
    USER_ROLES_CHANGED_AUDIT = _user.one_shot("USER_ROLES_CHANGED_AUDIT")
    USER_CREATED_AUDIT = _user.one_shot("USER_CREATED_AUDIT")
    USER_CHANGED_AUDIT = _user.audit("USER_CHANGED_AUDIT")
    USER_DELETED_AUDIT = _user.audit("USER_DELETED_AUDIT")
    REMOVED_FROM_ORG_AUDIT = _user.audit("REMOVED_FROM_ORG_AUDIT")
    INVITATION_CHANGED_AUDIT = _user.audit("INVITATION_CHANGED_AUDIT")
    INVITATION_RESENT_AUDIT = _user.audit("INVITATION_RESENT_AUDIT")
    INVITATION_REVOKED_AUDIT = _user.audit("INVITATION_REVOKED_AUDIT")
    INVITATION_ACCEPTED_AUDIT = _user.audit("INVITATION_ACCEPTED_AUDIT")
    USER_PASSWORD_CHANGED_AUDIT = _user.audit("USER_PASSWORD_CHANGED_AUDIT")
    USER_PASSWORD_RESET_AUDIT = _user.audit("USER_PASSWORD_RESET_AUDIT")
    USER_SESSIONS_ENDED_AUDIT = _user.audit("USER_SESSIONS_ENDED_AUDIT")
    USER_SECOND_FACTOR_BEGUN_AUDIT = _user.audit("USER_SECOND_FACTOR_BEGUN_AUDIT")
    USER_SECOND_FACTOR_ADDED_AUDIT = _user.audit("USER_SECOND_FACTOR_ADDED_AUDIT")
    USER_SECOND_FACTOR_REMOVED_AUDIT = _user.audit("USER_SECOND_FACTOR_REMOVED_AUDIT")
    USER_RECOVERY_CODES_MADE_AUDIT = _user.audit("USER_RECOVERY_CODES_MADE_AUDIT")
    USER_RECOVERY_CODE_USED_AUDIT = _user.audit("USER_RECOVERY_CODE_USED_AUDIT")

    API_KEY_CREATED_AUDIT = _api_key.audit("API_KEY_CREATED_AUDIT")
    API_KEY_CHANGED_AUDIT = _api_key.audit("API_KEY_CHANGED_AUDIT")
    API_KEY_DELETED_AUDIT = _api_key.audit("API_KEY_DELETED_AUDIT")
    KIOSK_CREATED_AUDIT = _api_key.audit("KIOSK_CREATED_AUDIT")
    KIOSK_REVOKED_AUDIT = _api_key.audit("KIOSK_REVOKED_AUDIT")

    ACCESS_LIST_ENTRY_ADDED_AUDIT = _access_list.audit("ACCESS_LIST_ENTRY_ADDED_AUDIT")
    ACCESS_LIST_ENTRY_CHANGED_AUDIT = _access_list.audit("ACCESS_LIST_ENTRY_CHANGED_AUDIT")
    ACCESS_LIST_ENTRY_REMOVED_AUDIT = _access_list.audit("ACCESS_LIST_ENTRY_REMOVED_AUDIT")

    ALERT_CONFIG_ADDED_AUDIT = _alert_config.audit("ALERT_CONFIG_ADDED_AUDIT")
    ALERT_CONFIG_CHANGED_AUDIT = _alert_config.audit("ALERT_CONFIG_CHANGED_AUDIT")
    ALERT_CONFIG_DELETED_AUDIT = _alert_config.audit("ALERT_CONFIG_DELETED_AUDIT")
    ALERT_CONFIG_ENABLED_AUDIT = _alert_config.audit("ALERT_CONFIG_ENABLED_AUDIT")
    ALERT_CONFIG_DISABLED_AUDIT = _alert_config.audit("ALERT_CONFIG_DISABLED_AUDIT")
    ALERT_CONFIG_TESTED_AUDIT = _alert_config.audit("ALERT_CONFIG_TESTED_AUDIT")
    HOST_DOWN_NOTICE_DISMISSED_AUDIT = _alert_config.audit("HOST_DOWN_NOTICE_DISMISSED_AUDIT")
    CHECKLIST_DISMISSED_AUDIT = _alert_config.audit("CHECKLIST_DISMISSED_AUDIT")
    RETENTION_CHANGED_AUDIT = _alert_config.audit("RETENTION_CHANGED_AUDIT")

    ALERT_ACKNOWLEDGED_AUDIT = _alert.audit("ALERT_ACKNOWLEDGED_AUDIT")
    ALERT_UNACKNOWLEDGED_AUDIT = _alert.audit("ALERT_UNACKNOWLEDGED_AUDIT")
    ALERT_CANCELLED_AUDIT = _alert.audit("ALERT_CANCELLED_AUDIT")
    NOTIFICATION_RESENT_AUDIT = _alert.audit("NOTIFICATION_RESENT_AUDIT")

    MAINTENANCE_WINDOW_ADDED_AUDIT = _maintenance_window.audit("MAINTENANCE_WINDOW_ADDED_AUDIT")
    MAINTENANCE_WINDOW_CHANGED_AUDIT = _maintenance_window.audit("MAINTENANCE_WINDOW_CHANGED_AUDIT")
    MAINTENANCE_WINDOW_DELETED_AUDIT = _maintenance_window.audit("MAINTENANCE_WINDOW_DELETED_AUDIT")

    INTEGRATION_ADDED_AUDIT = _integration.audit("INTEGRATION_ADDED_AUDIT")
    INTEGRATION_CHANGED_AUDIT = _integration.audit("INTEGRATION_CHANGED_AUDIT")
    INTEGRATION_DELETED_AUDIT = _integration.audit("INTEGRATION_DELETED_AUDIT")
    MAIL_SERVER_TESTED_AUDIT = _integration.audit("MAIL_SERVER_TESTED_AUDIT")
    SHIFT_REPORT_SENT_AUDIT = _integration.audit("SHIFT_REPORT_SENT_AUDIT")


EVENT_TYPES: Mapping[EventType, EventTypeSpec] = MappingProxyType(
    {event_type: event_type.spec for event_type in EventType}
)
"""The properties of every event type."""

ALERT_CATEGORIES: tuple[Category, ...] = tuple(
    category
    for category in Category
    if any(spec.alertable and spec.category is category for spec in EVENT_TYPES.values())
)
"""Categories with alerts, which maintenance windows can mute."""


def severity_of(chosen: str | None, event_type: str) -> Severity:
    """The severity of a configuration or an alert: the chosen one, or the one of its event type.

    Only rows of builds without severities have no chosen severity.
    """
    return Severity(chosen) if chosen else EVENT_TYPES[EventType(event_type)].severity or Severity.INFO


def closing_type(name: EventType) -> EventType | None:
    """The type that closes alerts of this type; None if it opens none."""
    closed_by = name.spec.closed_by
    return None if closed_by is None else EventType(closed_by)


@cache
def openers_of(name: EventType) -> tuple[EventType, ...]:
    """The types whose alerts this type closes; empty if it closes none."""
    return tuple(event_type for event_type in EventType if event_type.spec.closed_by == name)
