"""What the fleet contributes to the platform."""

from django.apps import AppConfig


class AutomationConfig(AppConfig):
    """The fleet."""

    name = "automation"
    root_links = {"metricNames": "/metricNames"}
