"""Roles that can read and write in automation, for the routes of the API and the actions of the console."""

from opsapi.api.permissions import in_group
from opsapi.roles import Role

READ = in_group(Role.GROUP_READ_ONLY)
WRITE_HOSTS = in_group(Role.GROUP_MONITORING_ADMIN, Role.GROUP_AUTOMATION_ADMIN)
WRITE_AGENTS = in_group(Role.GROUP_MONITORING_ADMIN)
WRITE_CONFIG = in_group(Role.GROUP_AUTOMATION_ADMIN)
REPORT = in_group(Role.GROUP_AGENT, Role.GROUP_MONITORING_ADMIN, Role.GROUP_AUTOMATION_ADMIN)
CARRY_OUT = in_group(Role.GROUP_AGENT)
"""The part of a machine, with its secrets, and turns."""
READ_AGENT_SETTINGS = in_group(Role.GROUP_AGENT)
"""In full, with secrets. Owners have the role, too: they can create a key for an agent."""
