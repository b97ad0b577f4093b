"""Permissions to read and write in alerting, for API routes and console actions."""

from opsapi.api.permissions import in_group, in_installation
from opsapi.roles import Role

READ, WRITE = in_group(Role.GROUP_READ_ONLY), in_group(Role.GROUP_MONITORING_ADMIN)
READ_GLOBAL = in_installation(Role.GLOBAL_READ_ONLY)
DISMISS_CHECKLIST = CHOOSE_RETENTION = in_installation(Role.GLOBAL_OWNER)
WRITE_GLOBAL = in_installation(Role.GLOBAL_OWNER, Role.GLOBAL_MONITORING_ADMIN)
