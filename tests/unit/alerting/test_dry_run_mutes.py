"""The maintenance of targets in a dry run equals the maintenance in delivery, and costs little."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator, subject_of
from alerting.insight.dry_run_mutes import DryRunMutes
from alerting.windows.recurrence import Occurrence, Recurrence
from alerting.windows.rules import WindowRule, active_windows, muting
from tests.each import each

NOON = datetime(2099, 1, 1, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def facts(name: str) -> dict[str, object]:
    return {"hostId": name, "hostname": name, "port": 27017}


def some_windows(random: Random) -> list[WindowRule]:
    only_db1 = Matcher(MatcherField.HOSTNAME, MatcherOperator.EQUALS, "db1")
    starts = [NOON + random.randint(-30, 60) * MINUTE for _ in range(random.randint(0, 6))]
    return [
        WindowRule(
            id=str(number),
            start=start,
            end=start + random.randint(1, 20) * MINUTE,
            matchers=random.choice(([], [only_db1])),
        )
        for number, start in enumerate(starts)
    ]


@each("seed", range(50))
def test_it_mutes_as_delivery_does(seed: int) -> None:
    windows, end = some_windows(Random(seed)), NOON + 60 * MINUTE
    mutes = DryRunMutes(windows, subject_of, NOON, end)
    for name in ("db1", "db2"):
        target = mutes.of_target(facts(name))
        for at in (NOON + minutes * MINUTE for minutes in range(61)):
            active = muting(active_windows(windows, at), subject_of(facts(name)))
            found = target.at(at)
            assert (found and found.until) == (active and active.until)
            assert (found and found.window_id) == (active and active.window.id)
            while active and active.until <= end:
                following = muting(active_windows(windows, active.until), subject_of(facts(name)))
                if following is None:
                    break
                active = following
            last = target.last(at)
            assert (last and (last.window_id, last.until)) == (active and (active.window.id, active.until))


class _OverError(Exception):
    """The time is over."""


def test_windows_are_compared_until_the_time_is_over() -> None:
    windows = [WindowRule(id=str(number), start=NOON, end=NOON + DAY, matchers=[]) for number in range(10)]
    checked: list[None] = []

    def check() -> None:
        checked.append(None)
        if len(checked) > 3:
            raise _OverError

    mutes = DryRunMutes(windows, subject_of, NOON, NOON + DAY, check)
    with pytest.raises(_OverError):
        mutes.of_target(facts("db1"))
    assert len(checked) == 4


def test_each_window_is_expanded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    daily = Recurrence("FREQ=DAILY", "UTC")
    windows = [
        WindowRule(
            id=str(number), start=NOON + number * MINUTE, end=NOON + number * MINUTE + DAY, recurrence=daily
        )
        for number in range(3)
    ]
    expanded: list[str] = []
    occurrences = WindowRule.occurrences

    def counted(window: WindowRule, after: datetime) -> Iterator[Occurrence]:
        expanded.append(window.id)
        return occurrences(window, after)

    monkeypatch.setattr(WindowRule, "occurrences", counted)
    end = NOON + 366 * DAY
    mutes = DryRunMutes(windows, subject_of, NOON, end)
    for name in ("db1", "db2"):
        muted = mutes.of_target(facts(name)).last(NOON)
        assert muted is not None
        assert muted.until > end
    assert sorted(expanded) == ["0", "1", "2"]
