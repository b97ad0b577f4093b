"""Registers the fleet with the platform."""

from collections.abc import Callable

from django.apps import AppConfig

from accesslist.hooks import change_recorded
from automation.agents.rules import Detection, detection_words
from automation.metrics import recorded_metric
from automation.quantities import recorded_quantity


class AutomationConfig(AppConfig):
    """The fleet."""

    name = "automation"
    verbose_name = "Fleet"
    root_links = {"metricNames": "/metricNames"}

    def ready(self) -> None:
        """Panels, metrics and selectors need the models, which are loaded only now."""
        from automation.agents.store import detection_now  # noqa: PLC0415
        from automation.hosts.chart_marks import changes_of_hosts  # noqa: PLC0415
        from automation.measurements.moving import fleet_metrics  # noqa: PLC0415
        from automation.panels import fleet_widgets  # noqa: PLC0415
        from automation.reports.console import limit_notices  # noqa: PLC0415 - see above
        from automation.reports.growth import change_counted  # noqa: PLC0415

        change_recorded.connect(change_counted)
        self.metrics = [fleet_metrics]
        self.chart_notes = [changes_of_hosts]
        self.overview = [fleet_widgets]
        self.project_notices = [limit_notices]
        self.detection_now = detection_now
        self.quantity_words = [recorded_quantity]
        self.metric_words = [recorded_metric]

    @property
    def readiness(self) -> dict[str, object]:
        """Somebody must act if no worker looks for agents and hosts that stopped reporting."""
        return {"detection": lambda: self._detection_words(lambda state: state.has_failed)}

    @property
    def readiness_notes(self) -> dict[str, object]:
        """After the platform was away, agents and hosts get their time to report again."""
        return {"detection": lambda: self._detection_words(lambda state: state.is_pausing)}

    def _detection_words(self, wanted: Callable[[Detection], bool]) -> str | None:
        state, now = self.detection_now()
        return detection_words(state, now) if wanted(state) else None
