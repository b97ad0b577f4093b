"""What the event log contributes to the platform."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """The event log."""

    name = "events"
    root_links = {"globalEvents": "/globalEvents", "eventTypes": "/eventTypes"}
