"""Absolute URLs of the console's pages, for the links in messages."""

from django.urls import reverse

from opsapi.api.links import Links


def alert_url(links: Links, alert_id: str) -> str:
    """The page of an alert."""
    return _page(links, "alerting_alert", alert_id)


def event_url(links: Links, event_id: str) -> str:
    """The page of an event."""
    return _page(links, "events_event", event_id)


def config_url(links: Links, config_id: str) -> str:
    """The page of an alert configuration."""
    return _page(links, "alerting_alertconfig", config_id)


def _page(links: Links, model: str, row_id: str) -> str:
    return links.base + reverse(f"admin:{model}_change", args=[row_id])
