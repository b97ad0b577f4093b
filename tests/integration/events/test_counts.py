"""The number of events in a list, which is added up by day."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.db import transaction
from django.db.models import Sum

from events.log.changes import event_counts_merge
from events.log.store import EventFilter, EventPosition, event_count
from events.models import Event, EventCount
from tests.each import each
from tests.racing import THREADS, at_once
from tests.steps import STEPS

FIRST_DAY = datetime(2099, 3, 4, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
TYPES = ["HOST_DOWN", "HOST_UP", "NEW_HOST"]
GROUPS = [None, "a" * 24, "b" * 24]
ORGS = [None, "c" * 24]


def make_events(rng: Random, count: int) -> None:
    """Create events of four days, some of them at midnight."""
    Event.objects.bulk_create(
        Event(
            created=FIRST_DAY + rng.choice([DAY * rng.randrange(5), SECOND * rng.randrange(4 * 86_400)]),
            event_type=rng.choice(TYPES),
            group_id=rng.choice(GROUPS),
            org_id=rng.choice(ORGS),
            details={},
        )
        for _ in range(count)
    )


def draw_filter(rng: Random) -> EventFilter:
    """Choose a filter, with limits before, between and after the events, and at midnight."""

    def moment() -> datetime | None:
        if rng.random() < 0.3:
            return None
        return FIRST_DAY + rng.choice([DAY * rng.randrange(-1, 6), SECOND * rng.randrange(-9, 4 * 86_400)])

    scope = rng.choice([{}, {"group_id": rng.choice(GROUPS[1:])}, {"org_id": ORGS[1]}])
    event = rng.choice(Event.objects.order_by("id"))
    return EventFilter(
        **scope,
        event_types=rng.sample(TYPES, rng.randrange(3)),
        min_date=moment(),
        max_date=moment(),
        before=EventPosition(event.created, event.id) if rng.random() < 0.3 else None,
    )


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(4))
def test_the_number_of_events_is_right_after_any_change(seed: int) -> None:
    rng = Random(seed)
    for _ in range(6):
        make_events(rng, 60)
        Event.objects.filter(
            id__in=[event.id for event in rng.sample(list(Event.objects.all()), 20)]
        ).delete()
        if rng.random() < 0.5:
            assert event_counts_merge() is False
        for _ in range(40):
            chosen = draw_filter(rng)
            assert event_count(chosen) == chosen.applied(Event.objects.all()).count(), chosen


@pytest.mark.django_db
def test_the_first_and_the_last_representable_dates_are_limits() -> None:
    make_events(Random(1), 9)
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert event_count(EventFilter(min_date=first, max_date=last)) == 9
    assert event_count(EventFilter(min_date=last)) == event_count(EventFilter(max_date=first)) == 0


@pytest.mark.django_db
def test_changes_are_merged_into_one_row_for_each_day_and_none_if_nothing_is_left() -> None:
    for _ in range(3):
        make_events(Random(7), 1)
    assert EventCount.objects.filter(scope="").count() == 3
    event_counts_merge()
    assert EventCount.objects.filter(scope="").values_list("number", "merged").get() == (3, True)
    Event.objects.all().delete()
    event_counts_merge()
    assert not EventCount.objects.exists()


@pytest.mark.django_db
@each("step", STEPS, ids=str)
def test_an_event_of_a_wrong_time_counts_in_the_day_of_that_time(step: timedelta) -> None:
    now = FIRST_DAY + DAY / 2
    for created in (now, now + step):
        Event.objects.create(created=created, event_type=TYPES[0], details={})
    event_counts_merge()
    same = (now + step).date() == now.date()
    counted = EventCount.objects.filter(scope="").order_by("day").values_list("day", "number")
    apart = sorted([(now.date(), 1), ((now + step).date(), 1)])
    assert list(counted) == ([(now.date(), 2)] if same else apart)
    assert event_count(EventFilter(min_date=FIRST_DAY, max_date=FIRST_DAY + DAY)) == 1 + same


@pytest.mark.django_db(transaction=True)
def test_workers_that_merge_at_the_same_time_keep_the_sum() -> None:
    make_events(Random(3), 5)
    event_counts_merge()
    for seed in range(6):
        make_events(Random(seed), 5)
    assert at_once(lambda _: event_counts_merge()) == [False] * THREADS
    assert EventCount.objects.filter(scope="").aggregate(sum=Sum("number"))["sum"] == 35
    assert not EventCount.objects.filter(merged=False).exists()


@pytest.mark.django_db
def test_events_that_are_rolled_back_are_not_counted() -> None:
    with transaction.atomic():
        make_events(Random(6), 3)
        transaction.set_rollback(True)
    assert event_count(EventFilter()) == 0
