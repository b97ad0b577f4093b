"""The roles of a user on their account page."""

from django.db.models import Q, QuerySet

from accesslist.models import RoleGrant


def own_role_rows(user_id: str) -> QuerySet[RoleGrant]:
    """Return the user's roles and the roles of their teams, oldest first, with scope and team."""
    held = RoleGrant.objects.filter(Q(user_id=user_id) | Q(team__members=user_id))
    return held.select_related("org", "project", "team").distinct().order_by("id")
