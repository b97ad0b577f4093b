"""Who asks for what happens to an organization or to the installation, and what is notified of it."""

from typing import Any

from alerting.models import Notification

KEY_ADDED: dict[str, Any] = {"eventTypeName": "ORG_API_KEY_ADDED"}
USER_CREATED: dict[str, Any] = {"eventTypeName": "USER_CREATED_AUDIT"}


def projects_of_events() -> list[str | None]:
    """The projects of all notifications; None for global configurations."""
    return list(Notification.objects.order_by("id").values_list("group_id", flat=True))
