"""The table of all event types."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self

from events.types.spec import Category, EventTypeSpec, Needs, Target, audit, closing, one_shot, opening


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

    AUTOMATION_AGENT_DOWN = opening(
        Category.AGENT, "AUTOMATION_AGENT_DOWN", "AUTOMATION_AGENT_UP", derived=True
    )
    AUTOMATION_AGENT_UP = closing(Category.AGENT, "AUTOMATION_AGENT_UP", derived=True)
    BACKUP_AGENT_DOWN = opening(Category.AGENT, "BACKUP_AGENT_DOWN", "BACKUP_AGENT_UP", derived=True)
    BACKUP_AGENT_UP = closing(Category.AGENT, "BACKUP_AGENT_UP", derived=True)
    MONITORING_AGENT_DOWN = opening(
        Category.AGENT, "MONITORING_AGENT_DOWN", "MONITORING_AGENT_UP", derived=True
    )
    MONITORING_AGENT_UP = closing(Category.AGENT, "MONITORING_AGENT_UP", derived=True)
    MONITORING_AGENT_VERSION_BEHIND = opening(
        Category.AGENT, "MONITORING_AGENT_VERSION_BEHIND", "MONITORING_AGENT_VERSION_CURRENT", derived=True
    )
    MONITORING_AGENT_VERSION_CURRENT = closing(
        Category.AGENT, "MONITORING_AGENT_VERSION_CURRENT", derived=True
    )
    BACKUP_AGENT_VERSION_BEHIND = opening(
        Category.AGENT, "BACKUP_AGENT_VERSION_BEHIND", "BACKUP_AGENT_VERSION_CURRENT", derived=True
    )
    BACKUP_AGENT_VERSION_CURRENT = closing(Category.AGENT, "BACKUP_AGENT_VERSION_CURRENT", derived=True)
    NEW_AGENT = one_shot(Category.AGENT, "NEW_AGENT", derived=True)
    BACKUP_AGENT_CONF_CALL_FAILURE = one_shot(
        Category.AGENT, "BACKUP_AGENT_CONF_CALL_FAILURE", global_only=True
    )
    AGENT_DELETED_AUDIT = audit(Category.AGENT, "AGENT_DELETED_AUDIT")

    AUTOMATION_CONFIG_PUBLISHED_AUDIT = one_shot(
        Category.AUTOMATION_CONFIG, "AUTOMATION_CONFIG_PUBLISHED_AUDIT"
    )

    OPLOG_BEHIND = opening(Category.BACKUP, "OPLOG_BEHIND", "OPLOG_CURRENT")
    OPLOG_CURRENT = closing(Category.BACKUP, "OPLOG_CURRENT")
    RESYNC_REQUIRED = opening(Category.BACKUP, "RESYNC_REQUIRED", "RESYNC_PERFORMED")
    RESYNC_PERFORMED = closing(Category.BACKUP, "RESYNC_PERFORMED")
    RESTORE_REQUESTED_AUDIT = one_shot(Category.BACKUP, "RESTORE_REQUESTED_AUDIT")
    SNAPSHOT_DELETED_AUDIT = one_shot(Category.BACKUP, "SNAPSHOT_DELETED_AUDIT")
    SNAPSHOT_EXPIRY_UPDATED_AUDIT = one_shot(Category.BACKUP, "SNAPSHOT_EXPIRY_UPDATED_AUDIT")
    INITIAL_SYNC_STARTED_AUDIT = one_shot(Category.BACKUP, "INITIAL_SYNC_STARTED_AUDIT")
    INITIAL_SYNC_FINISHED_AUDIT = one_shot(Category.BACKUP, "INITIAL_SYNC_FINISHED_AUDIT")
    SYNC_PENDING_AUDIT = one_shot(Category.BACKUP, "SYNC_PENDING_AUDIT")
    SYNC_REQUIRED_AUDIT = one_shot(Category.BACKUP, "SYNC_REQUIRED_AUDIT")
    RS_CREDENTIAL_UPDATED_AUDIT = one_shot(Category.BACKUP, "RS_CREDENTIAL_UPDATED_AUDIT")
    RS_DENYLIST_UPDATED_AUDIT = one_shot(Category.BACKUP, "RS_DENYLIST_UPDATED_AUDIT")
    RS_ROTATE_MASTER_KEY_AUDIT = one_shot(Category.BACKUP, "RS_ROTATE_MASTER_KEY_AUDIT")
    RS_SNAPSHOT_SCHEDULE_UPDATED_AUDIT = one_shot(Category.BACKUP, "RS_SNAPSHOT_SCHEDULE_UPDATED_AUDIT")
    RS_STATE_CHANGED_AUDIT = one_shot(Category.BACKUP, "RS_STATE_CHANGED_AUDIT")
    RS_STORAGE_ENGINE_UPDATED_AUDIT = one_shot(Category.BACKUP, "RS_STORAGE_ENGINE_UPDATED_AUDIT")
    INCONSISTENT_BACKUP_CONFIGURATION = opening(
        Category.BACKUP,
        "INCONSISTENT_BACKUP_CONFIGURATION",
        "CONSISTENT_BACKUP_CONFIGURATION",
        target=Target.CLUSTER,
    )
    CONSISTENT_BACKUP_CONFIGURATION = closing(
        Category.BACKUP, "CONSISTENT_BACKUP_CONFIGURATION", target=Target.CLUSTER
    )
    BAD_CLUSTERSHOTS = opening(Category.BACKUP, "BAD_CLUSTERSHOTS", "GOOD_CLUSTERSHOT", target=Target.CLUSTER)
    GOOD_CLUSTERSHOT = closing(Category.BACKUP, "GOOD_CLUSTERSHOT", target=Target.CLUSTER)
    CLUSTER_CHECKPOINT_UPDATED_AUDIT = one_shot(
        Category.BACKUP, "CLUSTER_CHECKPOINT_UPDATED_AUDIT", target=Target.CLUSTER
    )
    CLUSTER_CREDENTIAL_UPDATED_AUDIT = one_shot(
        Category.BACKUP, "CLUSTER_CREDENTIAL_UPDATED_AUDIT", target=Target.CLUSTER
    )
    CLUSTER_DENYLIST_UPDATED_AUDIT = one_shot(
        Category.BACKUP, "CLUSTER_DENYLIST_UPDATED_AUDIT", target=Target.CLUSTER
    )
    CLUSTER_SNAPSHOT_SCHEDULE_UPDATED_AUDIT = one_shot(
        Category.BACKUP, "CLUSTER_SNAPSHOT_SCHEDULE_UPDATED_AUDIT", target=Target.CLUSTER
    )
    CLUSTER_STATE_CHANGED_AUDIT = one_shot(
        Category.BACKUP, "CLUSTER_STATE_CHANGED_AUDIT", target=Target.CLUSTER
    )
    CLUSTER_STORAGE_ENGINE_UPDATED_AUDIT = one_shot(
        Category.BACKUP, "CLUSTER_STORAGE_ENGINE_UPDATED_AUDIT", target=Target.CLUSTER
    )
    CLUSTERSHOT_DELETED_AUDIT = one_shot(Category.BACKUP, "CLUSTERSHOT_DELETED_AUDIT", target=Target.CLUSTER)
    CLUSTERSHOT_EXPIRY_UPDATED_AUDIT = one_shot(
        Category.BACKUP, "CLUSTERSHOT_EXPIRY_UPDATED_AUDIT", target=Target.CLUSTER
    )

    BI_CONNECTOR_DOWN = opening(Category.BI_CONNECTOR, "BI_CONNECTOR_DOWN", "BI_CONNECTOR_UP")
    BI_CONNECTOR_UP = closing(Category.BI_CONNECTOR, "BI_CONNECTOR_UP")

    CLUSTER_MONGOS_IS_MISSING = opening(
        Category.CLUSTER, "CLUSTER_MONGOS_IS_MISSING", "CLUSTER_MONGOS_IS_PRESENT"
    )
    CLUSTER_MONGOS_IS_PRESENT = closing(Category.CLUSTER, "CLUSTER_MONGOS_IS_PRESENT")
    SHARD_ADDED = one_shot(Category.CLUSTER, "SHARD_ADDED")
    SHARD_REMOVED = one_shot(Category.CLUSTER, "SHARD_REMOVED")

    DATA_EXPLORER = one_shot(Category.DATA_EXPLORER, "DATA_EXPLORER")
    DATA_EXPLORER_CRUD = one_shot(Category.DATA_EXPLORER, "DATA_EXPLORER_CRUD")

    HOST_DOWN = opening(Category.HOST, "HOST_DOWN", "HOST_UP", derived=True)
    HOST_UP = closing(Category.HOST, "HOST_UP", derived=True)
    HOST_RECOVERING = opening(Category.HOST, "HOST_RECOVERING", "HOST_RECOVERED", derived=True)
    HOST_RECOVERED = closing(Category.HOST, "HOST_RECOVERED", derived=True)
    HOST_SSL_CERTIFICATE_STALE = opening(
        Category.HOST, "HOST_SSL_CERTIFICATE_STALE", "HOST_SSL_CERTIFICATE_CURRENT"
    )
    HOST_SSL_CERTIFICATE_CURRENT = closing(Category.HOST, "HOST_SSL_CERTIFICATE_CURRENT")
    VERSION_BEHIND = opening(Category.HOST, "VERSION_BEHIND", "VERSION_CURRENT", derived=True)
    VERSION_CURRENT = closing(Category.HOST, "VERSION_CURRENT", derived=True)
    HOST_RESTARTED = one_shot(Category.HOST, "HOST_RESTARTED", derived=True)
    HOST_ROLLBACK = one_shot(Category.HOST, "HOST_ROLLBACK")
    NEW_HOST = one_shot(Category.HOST, "NEW_HOST", derived=True)
    ADD_HOST_AUDIT = one_shot(Category.HOST, "ADD_HOST_AUDIT", derived=True)
    DELETE_HOST_AUDIT = one_shot(Category.HOST, "DELETE_HOST_AUDIT", derived=True)
    HOST_NOW_PRIMARY = one_shot(Category.HOST, "HOST_NOW_PRIMARY", derived=True)
    HOST_NOW_SECONDARY = one_shot(Category.HOST, "HOST_NOW_SECONDARY", derived=True)
    HOST_NOW_STANDALONE = one_shot(Category.HOST, "HOST_NOW_STANDALONE", derived=True)
    HOST_UPGRADED = one_shot(Category.HOST, "HOST_UPGRADED", derived=True)
    HOST_DOWNGRADED = one_shot(Category.HOST, "HOST_DOWNGRADED", derived=True)
    HOST_CHANGED_AUDIT = audit(Category.HOST, "HOST_CHANGED_AUDIT")
    OUTSIDE_METRIC_THRESHOLD = opening(
        Category.HOST,
        "OUTSIDE_METRIC_THRESHOLD",
        "INSIDE_METRIC_THRESHOLD",
        target=Target.HOST_METRIC,
        needs=Needs.METRIC_THRESHOLD,
        derived=True,
    )
    INSIDE_METRIC_THRESHOLD = closing(
        Category.HOST, "INSIDE_METRIC_THRESHOLD", target=Target.HOST_METRIC, derived=True
    )

    ORG_USERS_WITHOUT_MFA = opening(Category.ORGANIZATION, "ORG_USERS_WITHOUT_MFA", "ALL_ORG_USERS_HAVE_MFA")
    ALL_ORG_USERS_HAVE_MFA = closing(Category.ORGANIZATION, "ALL_ORG_USERS_HAVE_MFA")
    ORG_API_KEY_ADDED = one_shot(Category.ORGANIZATION, "ORG_API_KEY_ADDED")
    ORG_API_KEY_DELETED = one_shot(Category.ORGANIZATION, "ORG_API_KEY_DELETED")
    ORG_RENAMED = one_shot(Category.ORGANIZATION, "ORG_RENAMED")
    ORG_PUBLIC_API_ACCESS_LIST_REQUIRED = one_shot(
        Category.ORGANIZATION, "ORG_PUBLIC_API_ACCESS_LIST_REQUIRED", produced=False
    )
    ORG_PUBLIC_API_ACCESS_LIST_NOT_REQUIRED = one_shot(
        Category.ORGANIZATION, "ORG_PUBLIC_API_ACCESS_LIST_NOT_REQUIRED", produced=False
    )
    ORG_CREATED_AUDIT = audit(Category.ORGANIZATION, "ORG_CREATED_AUDIT")
    ORG_DELETED_AUDIT = audit(Category.ORGANIZATION, "ORG_DELETED_AUDIT")

    USERS_WITHOUT_MULTI_FACTOR_AUTH = opening(
        Category.GROUP, "USERS_WITHOUT_MULTI_FACTOR_AUTH", "ALL_USERS_HAVE_MULTI_FACTOR_AUTH"
    )
    ALL_USERS_HAVE_MULTI_FACTOR_AUTH = closing(Category.GROUP, "ALL_USERS_HAVE_MULTI_FACTOR_AUTH")
    GROUP_CREATED = one_shot(Category.GROUP, "GROUP_CREATED")
    GROUP_CHANGED_AUDIT = audit(Category.GROUP, "GROUP_CHANGED_AUDIT")
    GROUP_DELETED_AUDIT = audit(Category.GROUP, "GROUP_DELETED_AUDIT")

    NO_PRIMARY = opening(Category.REPLICA_SET, "NO_PRIMARY", "ONE_PRIMARY", derived=True)
    MULTIPLE_PRIMARIES = opening(Category.REPLICA_SET, "MULTIPLE_PRIMARIES", "ONE_PRIMARY", derived=True)
    ONE_PRIMARY = closing(Category.REPLICA_SET, "ONE_PRIMARY", derived=True)
    CONFIGURATION_CHANGED = one_shot(Category.REPLICA_SET, "CONFIGURATION_CHANGED")
    MEMBER_ADDED = one_shot(Category.REPLICA_SET, "MEMBER_ADDED")
    MEMBER_REMOVED = one_shot(Category.REPLICA_SET, "MEMBER_REMOVED")
    PRIMARY_ELECTED = one_shot(Category.REPLICA_SET, "PRIMARY_ELECTED")
    TOO_MANY_ELECTIONS = one_shot(Category.REPLICA_SET, "TOO_MANY_ELECTIONS")
    TOO_FEW_HEALTHY_MEMBERS = opening(
        Category.REPLICA_SET,
        "TOO_FEW_HEALTHY_MEMBERS",
        "ENOUGH_HEALTHY_MEMBERS",
        needs=Needs.THRESHOLD,
        derived=True,
    )
    TOO_MANY_UNHEALTHY_MEMBERS = opening(
        Category.REPLICA_SET,
        "TOO_MANY_UNHEALTHY_MEMBERS",
        "ENOUGH_HEALTHY_MEMBERS",
        needs=Needs.THRESHOLD,
        derived=True,
    )
    ENOUGH_HEALTHY_MEMBERS = closing(Category.REPLICA_SET, "ENOUGH_HEALTHY_MEMBERS", derived=True)

    TEAM_CREATED = one_shot(Category.TEAM, "TEAM_CREATED")
    TEAM_DELETED = one_shot(Category.TEAM, "TEAM_DELETED")
    TEAM_ADDED_TO_GROUP = one_shot(Category.TEAM, "TEAM_ADDED_TO_GROUP")
    TEAM_REMOVED_FROM_GROUP = one_shot(Category.TEAM, "TEAM_REMOVED_FROM_GROUP")
    USER_ADDED_TO_TEAM = one_shot(Category.TEAM, "USER_ADDED_TO_TEAM")
    TEAM_CHANGED_AUDIT = audit(Category.TEAM, "TEAM_CHANGED_AUDIT")
    TEAM_ROLES_CHANGED_AUDIT = audit(Category.TEAM, "TEAM_ROLES_CHANGED_AUDIT")
    USER_REMOVED_FROM_TEAM_AUDIT = audit(Category.TEAM, "USER_REMOVED_FROM_TEAM_AUDIT")

    JOINED_GROUP = one_shot(Category.USER, "JOINED_GROUP")
    JOINED_ORG = one_shot(Category.USER, "JOINED_ORG")
    REMOVED_FROM_GROUP = one_shot(Category.USER, "REMOVED_FROM_GROUP")
    INVITED_TO_GROUP = one_shot(Category.USER, "INVITED_TO_GROUP")
    USER_ROLES_CHANGED_AUDIT = one_shot(Category.USER, "USER_ROLES_CHANGED_AUDIT")
    USER_CREATED_AUDIT = one_shot(Category.USER, "USER_CREATED_AUDIT")
    USER_CHANGED_AUDIT = audit(Category.USER, "USER_CHANGED_AUDIT")
    USER_DELETED_AUDIT = audit(Category.USER, "USER_DELETED_AUDIT")
    REMOVED_FROM_ORG_AUDIT = audit(Category.USER, "REMOVED_FROM_ORG_AUDIT")
    USER_PASSWORD_CHANGED_AUDIT = audit(Category.USER, "USER_PASSWORD_CHANGED_AUDIT")
    USER_PASSWORD_RESET_AUDIT = audit(Category.USER, "USER_PASSWORD_RESET_AUDIT")
    USER_SESSIONS_ENDED_AUDIT = audit(Category.USER, "USER_SESSIONS_ENDED_AUDIT")
    USER_SECOND_FACTOR_BEGUN_AUDIT = audit(Category.USER, "USER_SECOND_FACTOR_BEGUN_AUDIT")
    USER_SECOND_FACTOR_ADDED_AUDIT = audit(Category.USER, "USER_SECOND_FACTOR_ADDED_AUDIT")
    USER_SECOND_FACTOR_REMOVED_AUDIT = audit(Category.USER, "USER_SECOND_FACTOR_REMOVED_AUDIT")
    USER_RECOVERY_CODES_MADE_AUDIT = audit(Category.USER, "USER_RECOVERY_CODES_MADE_AUDIT")
    USER_RECOVERY_CODE_USED_AUDIT = audit(Category.USER, "USER_RECOVERY_CODE_USED_AUDIT")

    API_KEY_CREATED_AUDIT = audit(Category.API_KEY, "API_KEY_CREATED_AUDIT")
    API_KEY_CHANGED_AUDIT = audit(Category.API_KEY, "API_KEY_CHANGED_AUDIT")
    API_KEY_DELETED_AUDIT = audit(Category.API_KEY, "API_KEY_DELETED_AUDIT")

    ACCESS_LIST_ENTRY_ADDED_AUDIT = audit(Category.ACCESS_LIST, "ACCESS_LIST_ENTRY_ADDED_AUDIT")
    ACCESS_LIST_ENTRY_CHANGED_AUDIT = audit(Category.ACCESS_LIST, "ACCESS_LIST_ENTRY_CHANGED_AUDIT")
    ACCESS_LIST_ENTRY_REMOVED_AUDIT = audit(Category.ACCESS_LIST, "ACCESS_LIST_ENTRY_REMOVED_AUDIT")

    ALERT_CONFIG_ADDED_AUDIT = audit(Category.ALERT_CONFIG, "ALERT_CONFIG_ADDED_AUDIT")
    ALERT_CONFIG_CHANGED_AUDIT = audit(Category.ALERT_CONFIG, "ALERT_CONFIG_CHANGED_AUDIT")
    ALERT_CONFIG_DELETED_AUDIT = audit(Category.ALERT_CONFIG, "ALERT_CONFIG_DELETED_AUDIT")
    ALERT_CONFIG_ENABLED_AUDIT = audit(Category.ALERT_CONFIG, "ALERT_CONFIG_ENABLED_AUDIT")
    ALERT_CONFIG_DISABLED_AUDIT = audit(Category.ALERT_CONFIG, "ALERT_CONFIG_DISABLED_AUDIT")
    ALERT_CONFIG_TESTED_AUDIT = audit(Category.ALERT_CONFIG, "ALERT_CONFIG_TESTED_AUDIT")

    ALERT_ACKNOWLEDGED_AUDIT = audit(Category.ALERT, "ALERT_ACKNOWLEDGED_AUDIT")
    ALERT_UNACKNOWLEDGED_AUDIT = audit(Category.ALERT, "ALERT_UNACKNOWLEDGED_AUDIT")
    ALERT_CANCELLED_AUDIT = audit(Category.ALERT, "ALERT_CANCELLED_AUDIT")
    NOTIFICATION_RESENT_AUDIT = audit(Category.ALERT, "NOTIFICATION_RESENT_AUDIT")

    MAINTENANCE_WINDOW_ADDED_AUDIT = audit(Category.MAINTENANCE_WINDOW, "MAINTENANCE_WINDOW_ADDED_AUDIT")
    MAINTENANCE_WINDOW_CHANGED_AUDIT = audit(Category.MAINTENANCE_WINDOW, "MAINTENANCE_WINDOW_CHANGED_AUDIT")
    MAINTENANCE_WINDOW_DELETED_AUDIT = audit(Category.MAINTENANCE_WINDOW, "MAINTENANCE_WINDOW_DELETED_AUDIT")

    INTEGRATION_ADDED_AUDIT = audit(Category.INTEGRATION, "INTEGRATION_ADDED_AUDIT")
    INTEGRATION_CHANGED_AUDIT = audit(Category.INTEGRATION, "INTEGRATION_CHANGED_AUDIT")
    INTEGRATION_DELETED_AUDIT = audit(Category.INTEGRATION, "INTEGRATION_DELETED_AUDIT")
    MAIL_SERVER_TESTED_AUDIT = audit(Category.INTEGRATION, "MAIL_SERVER_TESTED_AUDIT")


EVENT_TYPES: Mapping[EventType, EventTypeSpec] = MappingProxyType({each: each.spec for each in EventType})
"""The properties of every event type."""

ALERT_CATEGORIES: tuple[Category, ...] = tuple(
    category
    for category in Category
    if any(spec.alertable and spec.category is category for spec in EVENT_TYPES.values())
)
"""Categories with alerts, which maintenance windows can mute."""


def closing_type(name: EventType) -> EventType | None:
    """The type that closes alerts of this type; None if it opens none."""
    closed_by = name.spec.closed_by
    return None if closed_by is None else EventType(closed_by)


def openers_of(name: EventType) -> tuple[EventType, ...]:
    """The types whose alerts this type closes; empty if it closes none."""
    return tuple(each for each in EventType if each.spec.closed_by == name)
