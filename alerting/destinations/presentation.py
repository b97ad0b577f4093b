"""Links to destinations in the console."""

from alerting.destinations.models import Destination
from alerting.engine.models import Notification
from opsapi.console.admin_urls import list_url


def notifications_waiting_url(destination: Destination) -> str:
    """The list of notifications that wait for a destination."""
    return list_url(Notification, waiting_for=destination.pk)
