"""What alerting contributes to the platform."""

from datetime import timedelta

from django.apps import AppConfig

from accesslist.hooks import group_deleting
from automation.hooks import host_deleting, host_moving
from opsapi import clock

_WORKER_SEEN_WITHIN = timedelta(minutes=1)


class AlertingConfig(AppConfig):
    """Alert configurations and alerts."""

    name = "alerting"
    root_links = {"matcherFieldNames": "/alertConfigs/matchers/fieldNames"}

    def ready(self) -> None:
        """Receivers need the models, which are there only now."""
        from alerting import receivers  # noqa: PLC0415 - see above

        group_deleting.connect(receivers.end_with_project, dispatch_uid="alerting.end_with_project")
        for leaving in (host_deleting, host_moving):
            leaving.connect(receivers.end_with_host, dispatch_uid="alerting.end_with_host")

    @property
    def readiness(self) -> dict[str, object]:
        """A worker has to be there."""
        return {"worker": self._worker_missing}

    def _worker_missing(self) -> str | None:
        heartbeats = self.get_model("WorkerHeartbeat")._default_manager
        if heartbeats.filter(seen__gte=clock.now() - _WORKER_SEEN_WITHIN).exists():
            return None
        return "none was seen in the last minute"
