"""The roles of a user, as the page of their account shows them."""

from django.db.models import Q, QuerySet

from accesslist.models import RoleGrant


def own_role_rows(user_id: str) -> QuerySet[RoleGrant]:
    """Their own and those of their teams, oldest first, with where and by which team each is held."""
    held = RoleGrant.objects.filter(Q(user_id=user_id) | Q(team__members=user_id))
    return held.select_related("org", "project", "team").distinct().order_by("id")
