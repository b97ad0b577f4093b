"""Registers the fleet with the platform."""

from django.apps import AppConfig


class AutomationConfig(AppConfig):
    """The fleet."""

    name = "automation"
    verbose_name = "Fleet"
    root_links = {"metricNames": "/metricNames"}

    def ready(self) -> None:
        """Panels and metrics need the models, which are loaded only now."""
        from automation.panels import fleet_widgets  # noqa: PLC0415 - see above
        from automation.services.old_measurements import fleet_metrics  # noqa: PLC0415

        self.metrics = [fleet_metrics]
        self.overview = [fleet_widgets]
