"""The table of event types, against their names written out by hand."""

import copy
from collections.abc import Callable

import pytest

from events.types import (
    ALERT_CATEGORIES,
    EVENT_TYPES,
    AlertEffect,
    Category,
    EventType,
    EventTypeSpec,
    Needs,
    Target,
    closing_type,
    openers_of,
)
from tests.each import each

OPENS = {
    "AGENT": """
        AUTOMATION_AGENT_DOWN>AUTOMATION_AGENT_UP BACKUP_AGENT_DOWN>BACKUP_AGENT_UP
        MONITORING_AGENT_DOWN>MONITORING_AGENT_UP
        MONITORING_AGENT_VERSION_BEHIND>MONITORING_AGENT_VERSION_CURRENT
        BACKUP_AGENT_VERSION_BEHIND>BACKUP_AGENT_VERSION_CURRENT
    """,
    "BACKUP": """
        INCONSISTENT_BACKUP_CONFIGURATION>CONSISTENT_BACKUP_CONFIGURATION
        BAD_CLUSTERSHOTS>GOOD_CLUSTERSHOT OPLOG_BEHIND>OPLOG_CURRENT RESYNC_REQUIRED>RESYNC_PERFORMED
    """,
    "AUTOMATION_CONFIG": """
        AUTOMATION_PLAN_WAITING>AUTOMATION_PLAN_CONTINUED AUTOMATION_PLAN_STOPPED>AUTOMATION_PLAN_CONTINUED
    """,
    "BI_CONNECTOR": "BI_CONNECTOR_DOWN>BI_CONNECTOR_UP",
    "CLUSTER": "CLUSTER_MONGOS_IS_MISSING>CLUSTER_MONGOS_IS_PRESENT",
    "HOST": """
        HOST_DOWN>HOST_UP HOST_NOT_MEASURED>HOST_MEASURED HOST_RECOVERING>HOST_RECOVERED
        HOST_SSL_CERTIFICATE_STALE>HOST_SSL_CERTIFICATE_CURRENT VERSION_BEHIND>VERSION_CURRENT
        OUTSIDE_METRIC_THRESHOLD>INSIDE_METRIC_THRESHOLD
    """,
    "ORGANIZATION": "ORG_USERS_WITHOUT_MFA>ALL_ORG_USERS_HAVE_MFA",
    "GROUP": "USERS_WITHOUT_MULTI_FACTOR_AUTH>ALL_USERS_HAVE_MULTI_FACTOR_AUTH",
    "REPLICA_SET": """
        NO_PRIMARY>ONE_PRIMARY MULTIPLE_PRIMARIES>ONE_PRIMARY
        TOO_FEW_HEALTHY_MEMBERS>ENOUGH_HEALTHY_MEMBERS TOO_MANY_UNHEALTHY_MEMBERS>ENOUGH_HEALTHY_MEMBERS
    """,
}
ONE_SHOT = {
    "AGENT": "NEW_AGENT BACKUP_AGENT_CONF_CALL_FAILURE",
    "AUTOMATION_CONFIG": "AUTOMATION_CONFIG_PUBLISHED_AUDIT",
    "BACKUP": """
        RESTORE_REQUESTED_AUDIT SNAPSHOT_DELETED_AUDIT SNAPSHOT_EXPIRY_UPDATED_AUDIT
        INITIAL_SYNC_STARTED_AUDIT INITIAL_SYNC_FINISHED_AUDIT SYNC_PENDING_AUDIT SYNC_REQUIRED_AUDIT
        RS_CREDENTIAL_UPDATED_AUDIT RS_DENYLIST_UPDATED_AUDIT RS_ROTATE_MASTER_KEY_AUDIT
        RS_SNAPSHOT_SCHEDULE_UPDATED_AUDIT RS_STATE_CHANGED_AUDIT RS_STORAGE_ENGINE_UPDATED_AUDIT
        CLUSTER_CHECKPOINT_UPDATED_AUDIT CLUSTER_CREDENTIAL_UPDATED_AUDIT CLUSTER_DENYLIST_UPDATED_AUDIT
        CLUSTER_SNAPSHOT_SCHEDULE_UPDATED_AUDIT CLUSTER_STATE_CHANGED_AUDIT
        CLUSTER_STORAGE_ENGINE_UPDATED_AUDIT CLUSTERSHOT_DELETED_AUDIT CLUSTERSHOT_EXPIRY_UPDATED_AUDIT
    """,
    "CLUSTER": "SHARD_ADDED SHARD_REMOVED",
    "DATA_EXPLORER": "DATA_EXPLORER DATA_EXPLORER_CRUD",
    "HOST": """
        HOST_RESTARTED HOST_ROLLBACK NEW_HOST ADD_HOST_AUDIT DELETE_HOST_AUDIT HOST_NOW_PRIMARY
        HOST_NOW_SECONDARY HOST_NOW_STANDALONE HOST_UPGRADED HOST_DOWNGRADED
    """,
    "ORGANIZATION": """
        ORG_API_KEY_ADDED ORG_API_KEY_DELETED ORG_RENAMED ORG_PUBLIC_API_ACCESS_LIST_REQUIRED
        ORG_PUBLIC_API_ACCESS_LIST_NOT_REQUIRED
    """,
    "GROUP": "GROUP_CREATED",
    "REPLICA_SET": "CONFIGURATION_CHANGED MEMBER_ADDED MEMBER_REMOVED PRIMARY_ELECTED TOO_MANY_ELECTIONS",
    "TEAM": "TEAM_CREATED TEAM_DELETED TEAM_ADDED_TO_GROUP TEAM_REMOVED_FROM_GROUP USER_ADDED_TO_TEAM",
    "USER": """
        JOINED_GROUP JOINED_ORG REMOVED_FROM_GROUP INVITED_TO_GROUP INVITED_TO_ORG USER_ROLES_CHANGED_AUDIT
        USER_CREATED_AUDIT
    """,
}
AUDITS = {
    "AGENT": "AGENT_DELETED_AUDIT AGENT_SETTINGS_CHANGED_AUDIT",
    "AUTOMATION_CONFIG": """
        AUTOMATION_CONFIG_FETCHED_AUDIT AUTOMATION_MOVE_BEGUN_AUDIT AUTOMATION_MOVE_ENDED_AUDIT
        AUTOMATION_PLAN_PAUSED_AUDIT AUTOMATION_PLAN_RESUMED_AUDIT
    """,
    "API_KEY": """
        API_KEY_CREATED_AUDIT API_KEY_CHANGED_AUDIT API_KEY_DELETED_AUDIT KIOSK_CREATED_AUDIT
        KIOSK_REVOKED_AUDIT
    """,
    "ACCESS_LIST": """
        ACCESS_LIST_ENTRY_ADDED_AUDIT ACCESS_LIST_ENTRY_CHANGED_AUDIT ACCESS_LIST_ENTRY_REMOVED_AUDIT
    """,
    "ALERT_CONFIG": """
        ALERT_CONFIG_ADDED_AUDIT ALERT_CONFIG_CHANGED_AUDIT ALERT_CONFIG_DELETED_AUDIT
        ALERT_CONFIG_ENABLED_AUDIT ALERT_CONFIG_DISABLED_AUDIT ALERT_CONFIG_TESTED_AUDIT
        HOST_DOWN_NOTICE_DISMISSED_AUDIT CHECKLIST_DISMISSED_AUDIT RETENTION_CHANGED_AUDIT
    """,
    "ALERT": """
        ALERT_ACKNOWLEDGED_AUDIT ALERT_UNACKNOWLEDGED_AUDIT ALERT_CANCELLED_AUDIT NOTIFICATION_RESENT_AUDIT
    """,
    "MAINTENANCE_WINDOW": """
        MAINTENANCE_WINDOW_ADDED_AUDIT MAINTENANCE_WINDOW_CHANGED_AUDIT MAINTENANCE_WINDOW_DELETED_AUDIT
    """,
    "INTEGRATION": """
        INTEGRATION_ADDED_AUDIT INTEGRATION_CHANGED_AUDIT INTEGRATION_DELETED_AUDIT MAIL_SERVER_TESTED_AUDIT
        SHIFT_REPORT_SENT_AUDIT
    """,
    "ORGANIZATION": "ORG_CREATED_AUDIT ORG_DELETED_AUDIT",
    "GROUP": """
        GROUP_CHANGED_AUDIT GROUP_DELETED_AUDIT GROUP_LIMIT_REACHED_AUDIT GROUP_SHARE_EXCEEDED_AUDIT
    """,
    "HOST": "HOST_CHANGED_AUDIT",
    "TEAM": "TEAM_CHANGED_AUDIT TEAM_ROLES_CHANGED_AUDIT USER_REMOVED_FROM_TEAM_AUDIT",
    "USER": """
        USER_CHANGED_AUDIT USER_DELETED_AUDIT REMOVED_FROM_ORG_AUDIT USER_PASSWORD_CHANGED_AUDIT
        USER_PASSWORD_RESET_AUDIT USER_SESSIONS_ENDED_AUDIT USER_SECOND_FACTOR_BEGUN_AUDIT
        USER_SECOND_FACTOR_ADDED_AUDIT USER_SECOND_FACTOR_REMOVED_AUDIT USER_RECOVERY_CODES_MADE_AUDIT
        USER_RECOVERY_CODE_USED_AUDIT INVITATION_CHANGED_AUDIT INVITATION_RESENT_AUDIT
        INVITATION_REVOKED_AUDIT INVITATION_ACCEPTED_AUDIT
    """,
}
DERIVED = """
    AUTOMATION_PLAN_WAITING AUTOMATION_PLAN_STOPPED AUTOMATION_PLAN_CONTINUED
    AUTOMATION_AGENT_DOWN AUTOMATION_AGENT_UP BACKUP_AGENT_DOWN BACKUP_AGENT_UP MONITORING_AGENT_DOWN
    MONITORING_AGENT_UP MONITORING_AGENT_VERSION_BEHIND MONITORING_AGENT_VERSION_CURRENT
    BACKUP_AGENT_VERSION_BEHIND BACKUP_AGENT_VERSION_CURRENT NEW_AGENT HOST_DOWN HOST_UP HOST_NOT_MEASURED
    HOST_MEASURED HOST_RECOVERING HOST_RECOVERED VERSION_BEHIND VERSION_CURRENT
    OUTSIDE_METRIC_THRESHOLD INSIDE_METRIC_THRESHOLD
    HOST_RESTARTED NEW_HOST ADD_HOST_AUDIT DELETE_HOST_AUDIT HOST_NOW_PRIMARY HOST_NOW_SECONDARY
    HOST_NOW_STANDALONE HOST_UPGRADED HOST_DOWNGRADED NO_PRIMARY MULTIPLE_PRIMARIES ONE_PRIMARY
    TOO_FEW_HEALTHY_MEMBERS TOO_MANY_UNHEALTHY_MEMBERS ENOUGH_HEALTHY_MEMBERS
"""
REPORTED_CATEGORIES = {"AGENT", "BACKUP", "BI_CONNECTOR", "CLUSTER", "DATA_EXPLORER", "HOST", "REPLICA_SET"}

PAIRS = [(category, *pair.split(">")) for category, text in OPENS.items() for pair in text.split()]


def flat(table: dict[str, str]) -> list[tuple[str, str]]:
    """List (category, name) of a table of names by category."""
    return [(category, name) for category, text in table.items() for name in text.split()]


def types_with(holds: Callable[[EventTypeSpec], bool]) -> set[str]:
    """Name the types whose row passes."""
    return {spec.name for spec in EVENT_TYPES.values() if holds(spec)}


def test_it_has_a_row_for_every_type_and_no_other_type() -> None:
    expected = {name for _, *pair in PAIRS for name in pair}
    expected |= {name for table in (ONE_SHOT, AUDITS) for _, name in flat(table)}
    assert {str(name) for name in EventType} == expected
    assert set(EVENT_TYPES) == set(EventType)


@each("name", EventType)
def test_a_member_its_row_and_its_wire_name_are_called_the_same(name: EventType) -> None:
    assert name.name == name.value == str(name) == EVENT_TYPES[name].name
    assert EventType(name.value) is name


@each(("category", "opener", "closer"), PAIRS)
def test_an_opening_type_names_the_type_that_closes_it(category: str, opener: str, closer: str) -> None:
    assert closing_type(EventType(opener)) is EventType(closer)
    assert EventType(opener) in openers_of(EventType(closer))
    assert EVENT_TYPES[EventType(opener)].category == category
    assert EVENT_TYPES[EventType(closer)].category == category
    assert EVENT_TYPES[EventType(opener)].target is EVENT_TYPES[EventType(closer)].target


def test_only_opening_types_are_closed_and_only_by_closing_types() -> None:
    assert types_with(lambda spec: spec.closed_by is not None) == {opener for _, opener, _ in PAIRS}
    assert types_with(lambda spec: spec.kind is AlertEffect.OPENING) == {opener for _, opener, _ in PAIRS}
    assert types_with(lambda spec: spec.closes) == {closer for _, _, closer in PAIRS}
    assert closing_type(EventType.NEW_HOST) is None
    assert openers_of(EventType.NEW_HOST) == ()
    assert openers_of(EventType.ONE_PRIMARY) == (EventType.NO_PRIMARY, EventType.MULTIPLE_PRIMARIES)


@each(("category", "name"), flat(ONE_SHOT) + flat(AUDITS))
def test_a_type_is_of_its_category(category: str, name: str) -> None:
    assert EVENT_TYPES[EventType(name)].category == category


def test_alertable_types_are_exactly_opening_and_one_shot_types() -> None:
    once = {name for _, name in flat(ONE_SHOT)}
    assert types_with(lambda spec: spec.one_shot) == once
    assert types_with(lambda spec: spec.alertable) == once | {opener for _, opener, _ in PAIRS}


def test_what_is_only_written_down_is_called_an_audit() -> None:
    audits = types_with(lambda spec: spec.kind is AlertEffect.AUDIT)
    assert audits == {name for _, name in flat(AUDITS)}
    assert all(name.endswith("_AUDIT") for name in audits)


def test_agents_report_no_audit_but_backup_s_and_nothing_the_platform_derives() -> None:
    audits = {name for _, name in flat(AUDITS)}
    assert types_with(lambda spec: spec.derived) == set(DERIVED.split())
    assert types_with(lambda spec: spec.reported) == (
        types_with(lambda spec: spec.category in REPORTED_CATEGORIES) - audits - set(DERIVED.split())
    )


@each(
    ("name", "reported"),
    [
        ("RESYNC_REQUIRED", True),
        ("RESTORE_REQUESTED_AUDIT", True),
        ("BACKUP_AGENT_CONF_CALL_FAILURE", True),
        ("HOST_SSL_CERTIFICATE_STALE", True),
        ("HOST_ROLLBACK", True),
        ("DATA_EXPLORER", True),
        ("MEMBER_ADDED", True),
        ("SHARD_ADDED", True),
        ("BI_CONNECTOR_DOWN", True),
        ("ADD_HOST_AUDIT", False),
        ("AUTOMATION_CONFIG_PUBLISHED_AUDIT", False),
        ("HOST_DOWN", False),
        ("USER_CREATED_AUDIT", False),
        ("GROUP_CREATED", False),
    ],
)
def test_an_agent_cannot_write_history(name: str, reported: bool) -> None:
    assert EVENT_TYPES[EventType(name)].reported is reported


def test_one_type_is_for_global_configs_only() -> None:
    assert types_with(lambda spec: spec.global_only) == {"BACKUP_AGENT_CONF_CALL_FAILURE"}


def test_thresholds_are_needed_where_the_contract_says_so() -> None:
    assert types_with(lambda spec: spec.needs is Needs.METRIC_THRESHOLD) == {"OUTSIDE_METRIC_THRESHOLD"}
    assert types_with(lambda spec: spec.needs is Needs.THRESHOLD) == {
        "TOO_FEW_HEALTHY_MEMBERS",
        "TOO_MANY_UNHEALTHY_MEMBERS",
    }


def test_matchers_go_with_alerts_of_hosts_replica_sets_and_clusters() -> None:
    assert types_with(lambda spec: spec.supports_matchers) == (
        types_with(lambda spec: spec.alertable and spec.category in {"HOST", "REPLICA_SET", "CLUSTER"})
    )
    assert not EVENT_TYPES[EventType.ONE_PRIMARY].supports_matchers


def test_windows_mute_the_twelve_categories_of_the_contract() -> None:
    assert list(ALERT_CATEGORIES) == [
        *("AGENT", "AUTOMATION_CONFIG", "BACKUP", "BI_CONNECTOR", "CLUSTER", "DATA_EXPLORER", "HOST"),
        *("ORGANIZATION", "GROUP", "REPLICA_SET", "TEAM", "USER"),
    ]


@each(
    ("name", "target"),
    [
        (EventType.MONITORING_AGENT_DOWN, Target.AGENT),
        (EventType.HOST_DOWN, Target.HOST),
        (EventType.BI_CONNECTOR_DOWN, Target.HOST),
        (EventType.OUTSIDE_METRIC_THRESHOLD, Target.HOST_METRIC),
        (EventType.NO_PRIMARY, Target.REPLICA_SET),
        (EventType.OPLOG_BEHIND, Target.REPLICA_SET),
        (EventType.BAD_CLUSTERSHOTS, Target.CLUSTER),
        (EventType.CLUSTER_MONGOS_IS_MISSING, Target.CLUSTER),
        (EventType.USERS_WITHOUT_MULTI_FACTOR_AUTH, Target.GROUP),
        (EventType.ORG_USERS_WITHOUT_MFA, Target.GROUP),
    ],
)
def test_an_alert_is_about_its_target(name: EventType, target: Target) -> None:
    assert EVENT_TYPES[name].target is target


def test_every_category_is_used() -> None:
    assert {spec.category for spec in EVENT_TYPES.values()} == set(Category)


def test_a_copy_is_the_same_member() -> None:
    assert copy.deepcopy(EventType.HOST_DOWN) is EventType.HOST_DOWN


def test_an_unknown_name_is_no_event_type() -> None:
    with pytest.raises(ValueError, match="NO_SUCH_TYPE"):
        EventType("NO_SUCH_TYPE")
