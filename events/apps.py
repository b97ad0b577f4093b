"""What the event log contributes to the platform."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """The event log."""

    name = "events"
    verbose_name = "What happened"
    root_links = {"globalEvents": "/globalEvents", "eventTypes": "/eventTypes"}
