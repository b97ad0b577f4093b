"""Registers the event log with the platform."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """The event log."""

    name = "events"
    verbose_name = "Alerting"
    root_links = {"globalEvents": "/globalEvents", "eventTypes": "/eventTypes"}

    def ready(self) -> None:
        """Metrics and panels need the models, which are loaded only now."""
        from events.log.history import history_url  # noqa: PLC0415
        from events.log.panels import event_widgets  # noqa: PLC0415
        from events.log.reverting import recorded_change  # noqa: PLC0415 - see above
        from events.outbox.metrics import signal_metrics  # noqa: PLC0415 - see above

        self.metrics = [signal_metrics]
        self.overview = [event_widgets]
        self.history_urls = [history_url]
        self.recorded_changes = [recorded_change]
