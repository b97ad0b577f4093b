"""Registers alerting with the platform."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from django.apps import AppConfig

from accesslist.hooks import group_created, group_deleting, group_retagging
from automation.hooks import (
    agents_deleting,
    host_deleting,
    host_moving,
    set_alerts_asked,
    sets_deleting,
    turn_ended,
)
from opsapi import clock


class AlertingConfig(AppConfig):
    """Alert configurations and alerts."""

    name = "alerting"
    root_links = {
        "globalAlertConfigs": "/globalAlertConfigs",
        "globalAlerts": "/globalAlerts",
        "matcherFieldNames": "/alertConfigs/matchers/fieldNames",
    }
    agent_form_parts = ("alerting.configs.preset_part.part_of_new_agent",)

    def ready(self) -> None:
        """Services need the models, which are loaded only now."""
        from alerting.configs import changes as configs  # noqa: PLC0415 - see above
        from alerting.configs import coverage  # noqa: PLC0415
        from alerting.configs.notices import project_notices, setup_checklist  # noqa: PLC0415
        from alerting.destinations.store import proxy_fault_words  # noqa: PLC0415
        from alerting.engine import lag, purge  # noqa: PLC0415
        from alerting.engine.metrics import alerting_metrics  # noqa: PLC0415
        from alerting.engine.schedule import planned_decide_again  # noqa: PLC0415
        from alerting.engine.workers import clock_words, failing_loop_words, workers_seen  # noqa: PLC0415
        from alerting.incidents.store import open_alerts_of_set  # noqa: PLC0415
        from alerting.overview.chart_notes import alerting_notes  # noqa: PLC0415
        from alerting.overview.host_mutes import muted_times_of_hosts  # noqa: PLC0415
        from alerting.overview.panels import (  # noqa: PLC0415
            MUTE_HOSTS,
            MUTE_SETS,
            alerting_widgets,
            alerts_of_host,
            alerts_of_set,
        )
        from alerting.overview.store import alerts_that_need_somebody  # noqa: PLC0415

        self.metrics = [alerting_metrics]
        self.overview = [alerting_widgets]
        self.needs_somebody = [alerts_that_need_somebody]
        self.chart_notes = [alerting_notes]
        self.muted_times = [muted_times_of_hosts]
        self.host_panels = [alerts_of_host]
        self.set_panels = [alerts_of_set]
        self.host_links = [MUTE_HOSTS]
        self.set_links = [MUTE_SETS]
        self.project_notices = [project_notices]
        self.checklists = [setup_checklist]
        self.workers_seen = workers_seen
        self.checks = {
            "loops": failing_loop_words,
            "evaluation": lag.evaluation_late_words,
            "delivery": lag.delivery_late_words,
            "clock": clock_words,
            "outgoingProxy": proxy_fault_words,
        }
        self.notes = {
            "evaluation": lag.evaluation_share_words,
            "delivery": lag.delivery_share_words,
        }

        group_created.connect(configs.default_configs_create)
        group_retagging.connect(coverage.global_configs_retag)
        group_deleting.connect(purge.project_alerting_end)
        host_deleting.connect(purge.host_alerting_end)
        host_moving.connect(purge.host_alerting_end)
        host_deleting.connect(purge.last_host_alerting_end)
        agents_deleting.connect(purge.agents_alerting_end)
        set_alerts_asked.connect(open_alerts_of_set)
        turn_ended.connect(planned_decide_again)
        sets_deleting.connect(purge.sets_alerting_end)

    @property
    def readiness(self) -> dict[str, object]:
        """Problems that need action: no worker runs, a loop of a worker fails, alerts or messages are late,
        a clock is wrong, or messages fail because of the outgoing proxy.
        """
        missing = "no worker was seen in the last minute"
        return {
            "worker": lambda: None if self.workers_seen(clock.now()).exists() else missing,
            **{name: partial(_at_this_moment, words) for name, words in self.checks.items()},
        }

    @property
    def readiness_notes(self) -> dict[str, object]:
        """States that need no action: a project that has exceeded its share waits by design."""
        return {name: partial(_at_this_moment, words) for name, words in self.notes.items()}


def _at_this_moment(words: Callable[[datetime], str | None]) -> str | None:
    return words(clock.now())
