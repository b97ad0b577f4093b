"""Sets up an empty installation, from the browser."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accesslist.models import User
from accesslist.services.projects import project_create
from accesslist.services.users import NewUser, first_user_create


@transaction.atomic
def installation_set_up(
    *, new: NewUser, project: Mapping[str, Any], remote_address: str | None, now: datetime
) -> User | None:
    """Create the first user and the first project, both or none; None if a user exists.

    A user without a project could not log in to continue.

    Raises:
        ApiError: INVALID_USERNAME, WEAK_PASSWORD, GROUP_ALREADY_EXISTS.
    """
    first = first_user_create(new=new, remote_address=remote_address, now=now)
    if first is None:
        return None
    user, actor = first
    project_create(values=project, owned_by_maker=False, actor=actor, now=now)
    return user
