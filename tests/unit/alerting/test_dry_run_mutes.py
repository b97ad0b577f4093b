"""The maintenance of targets in a dry run equals the maintenance in delivery, and costs little."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator, subject_of
from alerting.insight.dry_run_mutes import DryRunMutes
from alerting.windows.recurrence import Occurrence, Recurrence
from alerting.windows.rules import WindowRule, active_rules, muting_rule
from tests.each import each

NOON = datetime(2099, 1, 1, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def facts(name: str) -> dict[str, object]:
    return {"hostId": name, "hostname": name, "port": 27017}


def some_rules(random: Random) -> list[WindowRule]:
    only_db1 = Matcher(MatcherField.HOSTNAME, MatcherOperator.EQUALS, "db1")
    starts = [NOON + random.randint(-30, 60) * MINUTE for _ in range(random.randint(0, 6))]
    return [
        WindowRule(
            id=str(number),
            alert_types=["HOST"],
            start=start,
            end=start + random.randint(1, 20) * MINUTE,
            matchers=random.choice(([], [only_db1])),
        )
        for number, start in enumerate(starts)
    ]


@each("seed", range(50))
def test_it_mutes_as_delivery_does(seed: int) -> None:
    rules, end = some_rules(Random(seed)), NOON + 60 * MINUTE
    mutes = DryRunMutes(rules, subject_of, NOON, end)
    for name in ("db1", "db2"):
        target = mutes.of_target(facts(name))
        for at in (NOON + minutes * MINUTE for minutes in range(61)):
            active = muting_rule(active_rules(rules, at), subject_of(facts(name)))
            found = target.at(at)
            assert (found and found.until) == (active and active.until)
            assert (found and found.window_id) == (active and active.rule.id)
            while active and active.until <= end:
                following = muting_rule(active_rules(rules, active.until), subject_of(facts(name)))
                if following is None:
                    break
                active = following
            last = target.last(at)
            assert (last and (last.window_id, last.until)) == (active and (active.rule.id, active.until))


class _OverError(Exception):
    """The time is over."""


def test_windows_are_compared_until_the_time_is_over() -> None:
    rules = [
        WindowRule(id=str(number), start=NOON, end=NOON + DAY, alert_types=["HOST"]) for number in range(10)
    ]
    checked: list[None] = []

    def check() -> None:
        checked.append(None)
        if len(checked) > 3:
            raise _OverError

    mutes = DryRunMutes(rules, subject_of, NOON, NOON + DAY, check)
    with pytest.raises(_OverError):
        mutes.of_target(facts("db1"))
    assert len(checked) == 4


def test_each_window_is_expanded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    daily = Recurrence("FREQ=DAILY", "UTC")
    rules = [
        WindowRule(
            id=str(number),
            start=NOON + number * MINUTE,
            end=NOON + number * MINUTE + DAY,
            alert_types=["HOST"],
            recurrence=daily,
        )
        for number in range(3)
    ]
    expanded: list[str] = []
    occurrences = WindowRule.occurrences

    def counted(rule: WindowRule, after: datetime) -> Iterator[Occurrence]:
        expanded.append(rule.id)
        return occurrences(rule, after)

    monkeypatch.setattr(WindowRule, "occurrences", counted)
    end = NOON + 366 * DAY
    mutes = DryRunMutes(rules, subject_of, NOON, end)
    for name in ("db1", "db2"):
        muted = mutes.of_target(facts(name)).last(NOON)
        assert muted is not None
        assert muted.until > end
    assert sorted(expanded) == ["0", "1", "2"]
