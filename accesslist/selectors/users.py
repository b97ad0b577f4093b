"""Users with their roles."""

from typing import Any

from django.db.models import OuterRef, QuerySet

from accesslist.models import User
from accesslist.selectors.keys import roles_of

UserRow = dict[str, Any]


def user_rows() -> QuerySet[User, Any]:
    """Users in the order they were made."""
    users = User.objects.order_by("created", "id")
    return users.values(
        "id",
        "username",
        "first_name",
        "last_name",
        "email_address",
        "mobile_number",
        roles=roles_of(user_id=OuterRef("id")),
    )
