"""Permissions to read and write integrations, for API routes and console actions."""

from opsapi.api.permissions import in_group
from opsapi.roles import Role

READ, WRITE = in_group(Role.GROUP_READ_ONLY), in_group(Role.GROUP_MONITORING_ADMIN)
