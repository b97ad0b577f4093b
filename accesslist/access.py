"""Who may read and write identities and access: for the routes of the API and the actions of the console."""

from accesslist.roles.rules import GLOBAL_WRITERS, GROUP_WRITERS, ORG_WRITERS
from opsapi.api.permissions import Access, Where, in_group, in_installation, in_org
from opsapi.roles import Role

KEY_WRITERS = Access(Where.SOMEWHERE, (*GLOBAL_WRITERS, *ORG_WRITERS, *GROUP_WRITERS))
"""Roles that can write keys in some scope; the roles of the key decide which scope."""

READ_GLOBAL, WRITE_GLOBAL = in_installation(Role.GLOBAL_READ_ONLY), in_installation(*GLOBAL_WRITERS)
READ_ORG, WRITE_ORG = in_org(Role.ORG_MEMBER), in_org(*ORG_WRITERS)
READ_PROJECT, WRITE_PROJECT = in_group(Role.GROUP_READ_ONLY), in_group(Role.GROUP_OWNER)
WRITE_PROJECT_ACCESS = in_group(*GROUP_WRITERS)
"""Keys, and the roles of teams."""
INVITE_TO_ORG = in_org(Role.GLOBAL_USER_ADMIN, *ORG_WRITERS)
INVITE_TO_PROJECT = in_group(*GROUP_WRITERS)
WRITE_USERS = in_installation(Role.GLOBAL_USER_ADMIN)
CREATE_ORGS = in_installation(Role.GLOBAL_OWNER)
PROJECT_CREATORS = frozenset({Role.GLOBAL_OWNER, Role.ORG_OWNER, Role.ORG_GROUP_CREATOR})
"""Roles that can create projects in some scope."""
