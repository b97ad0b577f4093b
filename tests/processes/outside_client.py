"""Every call of the opsmanager package: what it asks for and has to bring, or why nothing answers it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opsmanager import OpsManagerClient

Call = Callable[[OpsManagerClient, "Scene"], Any]


@dataclass(frozen=True)
class Scene:
    """The ids and names of what was created."""

    org: str
    group: str
    group_name: str
    user: str
    username: str
    team: str
    team_name: str
    key: str
    entry: str
    config: str
    alert: str
    global_alert: str
    event: str
    window: str
    host: str
    router: str
    primary: str
    cluster: str
    owner_key: str


CALLS: Mapping[str, tuple[Call, str]] = {
    "organizations.list": (lambda c, s: c.organizations.list(items_per_page=1), "org"),
    "organizations.list_iter": (lambda c, s: list(c.organizations.list_iter(items_per_page=1)), "org"),
    "organizations.get": (lambda c, s: c.organizations.get(s.org), "org"),
    "organizations.list_projects": (lambda c, s: c.organizations.list_projects(s.org, 1), "group"),
    "organizations.list_projects_iter": (
        lambda c, s: list(c.organizations.list_projects_iter(s.org, 1)),
        "group",
    ),
    "organizations.list_users": (lambda c, s: c.organizations.list_users(s.org, 1), "user"),
    "projects.list": (lambda c, s: c.projects.list(items_per_page=1), "group"),
    "projects.list_iter": (lambda c, s: list(c.projects.list_iter(items_per_page=1)), "group"),
    "projects.get": (lambda c, s: c.projects.get(s.group), "group"),
    "projects.get_by_name": (lambda c, s: c.projects.get_by_name(s.group_name), "group"),
    "projects.list_users": (lambda c, s: c.projects.list_users(s.group, 1), "user"),
    "users.get": (lambda c, s: c.users.get(s.user), "user"),
    "users.get_by_name": (lambda c, s: c.users.get_by_name(s.username), "user"),
    "teams.list": (lambda c, s: c.teams.list(s.org, 1), "team"),
    "teams.list_iter": (lambda c, s: list(c.teams.list_iter(s.org, 1)), "team"),
    "teams.get": (lambda c, s: c.teams.get(s.org, s.team), "team"),
    "teams.get_by_name": (lambda c, s: c.teams.get_by_name(s.org, s.team_name), "team"),
    "teams.list_users": (lambda c, s: c.teams.list_users(s.org, s.team, 1), "user"),
    "api_keys.list_organization_keys": (lambda c, s: c.api_keys.list_organization_keys(s.org, 1), "key"),
    "api_keys.list_organization_keys_iter": (
        lambda c, s: list(c.api_keys.list_organization_keys_iter(s.org, 1)),
        "key",
    ),
    "api_keys.get_organization_key": (lambda c, s: c.api_keys.get_organization_key(s.org, s.key), "key"),
    "api_keys.list_project_keys": (lambda c, s: c.api_keys.list_project_keys(s.group, 1), "key"),
    "global_admin.list_api_keys": (lambda c, s: c.global_admin.list_api_keys(1), "owner_key"),
    "global_admin.list_api_keys_iter": (
        lambda c, s: list(c.global_admin.list_api_keys_iter(1)),
        "owner_key",
    ),
    "global_admin.get_api_key": (lambda c, s: c.global_admin.get_api_key(s.key), "key"),
    "global_admin.list_whitelist": (lambda c, s: c.global_admin.list_whitelist(1), "entry"),
    "global_admin.list_whitelist_iter": (
        lambda c, s: list(c.global_admin.list_whitelist_iter(1)),
        "entry",
    ),
    "global_admin.get_whitelist_entry": (lambda c, s: c.global_admin.get_whitelist_entry(s.entry), "entry"),
    "alerts.list": (lambda c, s: c.alerts.list(s.group, items_per_page=1), "alert"),
    "alerts.list_iter": (lambda c, s: list(c.alerts.list_iter(s.group, items_per_page=1)), "alert"),
    "alerts.list_open": (lambda c, s: c.alerts.list_open(s.group, 1), "alert"),
    "alerts.get": (lambda c, s: c.alerts.get(s.group, s.alert), "alert"),
    "alerts.acknowledge": (
        lambda c, s: c.alerts.acknowledge(s.group, s.alert, "2099-11-21T12:00:00Z", "on it"),
        "alert",
    ),
    "global_alerts.list": (lambda c, s: c.global_alerts.list(items_per_page=1), "global_alert"),
    "global_alerts.list_iter": (
        lambda c, s: list(c.global_alerts.list_iter(items_per_page=1)),
        "global_alert",
    ),
    "global_alerts.list_open": (lambda c, s: c.global_alerts.list_open(1), "global_alert"),
    "global_alerts.get": (lambda c, s: c.global_alerts.get(s.global_alert), "global_alert"),
    # After the three that every project begins with.
    "alert_configurations.list": (lambda c, s: c.alert_configurations.list(s.group, 4), "config"),
    "alert_configurations.list_iter": (
        lambda c, s: list(c.alert_configurations.list_iter(s.group, 1)),
        "config",
    ),
    "alert_configurations.get": (lambda c, s: c.alert_configurations.get(s.group, s.config), "config"),
    "alert_configurations.get_open_alerts": (
        lambda c, s: c.alert_configurations.get_open_alerts(s.group, s.config),
        "alert",
    ),
    "events.list_organization_events": (
        lambda c, s: c.events.list_organization_events(s.org, min_date="2026-01-01", items_per_page=1),
        "event",
    ),
    "events.list_organization_events_iter": (
        lambda c, s: list(c.events.list_organization_events_iter(s.org, event_type="GROUP_CREATED")),
        "event",
    ),
    "events.get_organization_event": (lambda c, s: c.events.get_organization_event(s.org, s.event), "event"),
    "events.list_project_events": (
        lambda c, s: c.events.list_project_events(s.group, max_date="2199-12-31", items_per_page=2),
        "event",
    ),
    "events.list_project_events_iter": (
        lambda c, s: list(c.events.list_project_events_iter(s.group, event_type="GROUP_CREATED")),
        "event",
    ),
    "events.get_project_event": (lambda c, s: c.events.get_project_event(s.group, s.event), "event"),
    "maintenance_windows.list": (lambda c, s: c.maintenance_windows.list(s.group, 1), "window"),
    "maintenance_windows.get": (lambda c, s: c.maintenance_windows.get(s.group, s.window), "window"),
    "deployments.list_hosts": (lambda c, s: c.deployments.list_hosts(s.group, items_per_page=1), "host"),
    "deployments.list_hosts_iter": (
        lambda c, s: list(c.deployments.list_hosts_iter(s.group, items_per_page=1)),
        "host",
    ),
    "deployments.get_host": (lambda c, s: c.deployments.get_host(s.group, s.host), "host"),
    "deployments.get_host_by_name": (
        lambda c, s: c.deployments.get_host_by_name(s.group, "db1.example.com", 27017),
        "host",
    ),
    "deployments.get_mongos_hosts": (lambda c, s: c.deployments.get_mongos_hosts(s.group), "router"),
    "deployments.get_primaries": (
        lambda c, s: c.deployments.get_primaries(s.group, cluster_id=s.cluster),
        "primary",
    ),
    "clusters.list": (lambda c, s: c.clusters.list(s.group, 1), "cluster"),
    "clusters.list_iter": (lambda c, s: list(c.clusters.list_iter(s.group, 1)), "cluster"),
    "clusters.get": (lambda c, s: c.clusters.get(s.group, s.cluster), "cluster"),
}
"""Call → its function (with the smallest pages), and the ids of the scene that it must return."""

OTHERWISE = {
    "projects.get_teams",
    "alert_configurations.list_matcher_fields",
    "deployments.list_databases",
    "deployments.get_database",
    "measurements.host",
    "measurements.database",
    "measurements.get_opcounters",
    "measurements.get_query_targeting",
    "measurements.get_replication_metrics",
    "agents.list",
    "agents.list_iter",
    "agents.list_monitoring",
    "agents.list_backup",
    "agents.list_links",
    "automation.get_config",
    "automation.get_status",
}
"""Calls that bring something without an id: each has a test of its own."""

NOT_OURS = {
    "automation.get_backup_agent_config": "the contract has no configuration of agents",
    "automation.get_monitoring_agent_config": "the contract has no configuration of agents",
    "deployments.get_disk": "the contract has no disks",
    "deployments.list_disks": "the contract has no disks",
    "measurements.disk": "the contract has no disks",
    "clusters.list_all": "the contract has clusters in their projects alone",
    "clusters.list_all_iter": "the contract has clusters in their projects alone",
    "agents.get_project_versions": "the contract knows no releases of agents, hence no deprecated ones",
    "agents.get_global_versions": "the contract knows no releases of agents",
    "agents.list_api_keys": "agents use API keys with the role GROUP_AGENT: api_keys.list_project_keys",
}
"""Call → why the contract has nothing for it: each asks for a route that is not there."""

SERVICES_NOT_OURS = {
    "admin_backup_stores": "the platform makes no backups",
    "backup": "the platform makes no backups",
    "diagnostics": "the platform has no archive of diagnostics",
    "feature_control": "the platform has no feature policies",
    "live_migration": "the platform migrates no data",
    "log_collection": "the platform collects no logs of databases",
    "performance_advisor": "the platform sees no queries",
    "server_usage": "the platform counts no licences",
    "version": "its paths are outside of the public API; the root says the build",
}
"""Service → why the contract has nothing for all of it."""

UNREAD = {
    "Project.cluster_count": "a project says hostCount (decisions 3); `clusters` counts its clusters",
    "Team.id of projects.get_teams": "a team's roles in a project name it teamId (decisions 3)",
    "AutomationAgentStatus.goal_version": "a process says lastGoalVersionAchieved (decisions 9), so that "
    "is_in_goal_state is false as soon as something was published",
    "Agent.ping_count, conf_count, is_managed": "the platform counts no reports, and manages no agents",
}
"""What a model of the package reads under a name that answers do not have, and stays at its default."""
