"""How a turn finds what took most of its time."""

from alerting.engine.rules import TimeSlice


def test_the_dearest_took_most_time_in_all() -> None:
    ticks = iter([0.0, 0.0, 1.0, 4.0, 5.0])
    time_slice = TimeSlice(lambda: next(ticks), 10)
    assert time_slice.costs.dearest() is None
    for name in ("", "a", "b", "a"):
        time_slice.charge(name)
    assert time_slice.costs.total() == 5.0
    assert time_slice.costs.dearest() == "b"
