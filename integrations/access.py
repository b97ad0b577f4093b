"""Who may read and write integrations: for the routes of the API and the actions of the console."""

from opsapi.api.permissions import in_group
from opsapi.roles import Role

READ, WRITE = in_group(Role.GROUP_READ_ONLY), in_group(Role.GROUP_MONITORING_ADMIN)
