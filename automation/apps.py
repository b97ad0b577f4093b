"""What the fleet contributes to the platform."""

from django.apps import AppConfig


class AutomationConfig(AppConfig):
    """The fleet."""

    name = "automation"
    verbose_name = "Fleet"
    root_links = {"metricNames": "/metricNames"}
