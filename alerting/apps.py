"""Registers alerting with the platform."""

from django.apps import AppConfig

from accesslist.hooks import group_created, group_deleting, group_retagging
from automation.hooks import agent_deleting, host_deleting, host_moving
from opsapi import clock


class AlertingConfig(AppConfig):
    """Alert configurations and alerts."""

    name = "alerting"
    root_links = {
        "globalAlertConfigs": "/globalAlertConfigs",
        "globalAlerts": "/globalAlerts",
        "matcherFieldNames": "/alertConfigs/matchers/fieldNames",
    }

    def ready(self) -> None:
        """Signal handlers need the models, which are loaded only now."""
        from alerting import handlers  # noqa: PLC0415 - see above
        from alerting.host_panel import MUTE_HOSTS, alerts_of_host  # noqa: PLC0415
        from alerting.metrics import alerting_metrics  # noqa: PLC0415
        from alerting.panels import alerting_widgets  # noqa: PLC0415
        from alerting.selectors.overview import workers_seen  # noqa: PLC0415

        self.metrics = [alerting_metrics]
        self.overview = [alerting_widgets]
        self.host_panels = [alerts_of_host]
        self.host_links = [MUTE_HOSTS]
        self.workers_seen = workers_seen

        group_created.connect(handlers.begin_with_project, dispatch_uid="alerting.begin_with_project")
        group_retagging.connect(handlers.follow_tags, dispatch_uid="alerting.follow_tags")
        group_deleting.connect(handlers.end_with_project, dispatch_uid="alerting.end_with_project")
        for leaving in (host_deleting, host_moving):
            leaving.connect(handlers.end_with_host, dispatch_uid="alerting.end_with_host")
        host_deleting.connect(handlers.end_with_last_host, dispatch_uid="alerting.end_with_last_host")
        agent_deleting.connect(handlers.end_with_agent, dispatch_uid="alerting.end_with_agent")

    @property
    def readiness(self) -> dict[str, object]:
        """A worker must be running."""
        return {"worker": self._worker_missing}

    def _worker_missing(self) -> str | None:
        if self.workers_seen(clock.now()).exists():
            return None
        return "no worker was seen in the last minute"
