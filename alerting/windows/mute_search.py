"""Finds the windows that mute targets of a project, one comparison at a time. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from alerting.configs.matchers import MatchSubject
from alerting.engine.rules import Mute, mute_of_incident
from alerting.windows.rules import ActiveRule, WindowRule, WindowState, last_to_end_first


@dataclass(frozen=True, slots=True)
class MuteTarget:
    """What an alert or event is about; the category is empty if the alert or event was deleted."""

    category: str
    subject: MatchSubject


class MuteSearch:
    """The search for the windows that mute each target at a moment.

    `rules` are the rules of the windows of the project that have begun, `versions` the versions of these
    windows as they were read, and `targets` the alerts and events by id. The cost of a search is chosen by
    the project: windows, matchers, targets and labels. So `steps` divides it, and can be stopped after any
    step and continued.
    """

    def __init__(
        self,
        rules: Sequence[WindowRule],
        versions: Mapping[str, str],
        targets: Mapping[str, MuteTarget],
        moment: datetime,
    ) -> None:
        self._versions, self._targets, self._moment = versions, targets, moment
        self._valid_until: datetime | None = None
        self._mutes: dict[str, Mute] = {}
        self.is_done = False
        self.steps = self._search(rules)
        """Yields the id of a window after each occurrence or matcher that was computed for it."""

    def is_valid(self, versions: Mapping[str, str], now: datetime) -> bool:
        """Whether the same windows are active as at the moment of the search."""
        ahead = self._valid_until is None or now < self._valid_until
        return self._versions == versions and self._moment <= now and ahead

    def covers(self, targets: Sequence[str]) -> bool:
        """Whether the search answers for all these alerts and events."""
        return all(target in self._targets for target in targets)

    def mute(self, targets: Sequence[str], versions: Mapping[str, str], now: datetime) -> Mute | None:
        """Return the mute of a message about these alerts, which must all be muted. Call it after the last
        step.

        Windows that have changed since the search (`versions`) or have ended do not mute. If the search is no
        longer valid, more windows may mute.
        """
        return mute_of_incident(self._lasting(self._mutes.get(target), versions, now) for target in targets)

    def _lasting(self, mute: Mute | None, versions: Mapping[str, str], now: datetime) -> Mute | None:
        if mute is None or mute.until <= now:
            return None
        return mute if versions.get(mute.window_id) == self._versions[mute.window_id] else None

    def _search(self, rules: Sequence[WindowRule]) -> Iterator[str]:
        active = []
        for rule in rules:
            state, until = rule.timed_state(self._moment)
            if until:
                self._valid_until = min(self._valid_until or until, until)
                if state is WindowState.ACTIVE:
                    active.append(ActiveRule(rule, until))
            yield rule.id
        # One window after the other, so that the patterns of each are compiled once.
        for rule, until in last_to_end_first(active):
            mute = Mute(rule.id, until)
            for target_id, target in self._targets.items():
                if target_id not in self._mutes and target.category in rule.alert_types:
                    yield from self._compare(rule, target_id, target, mute)
        self.is_done = True

    def _compare(self, rule: WindowRule, target_id: str, target: MuteTarget, mute: Mute) -> Iterator[str]:
        for is_match in rule.comparisons(target.subject):
            yield rule.id
            if not is_match:
                return
        self._mutes[target_id] = mute
        yield rule.id
