"""The dearest pattern that validation accepts, compared with an ordinary search at the same time."""

import time
from collections.abc import Callable, Iterator

import pytest

from alerting.configs.pattern_prices import MOST_COST, peer_time
from alerting.configs.patterns import finds, forget_answers
from tests.hostile.budget import budget
from tests.hostile.dear_patterns import dearest_accepted
from tests.plugin import SUMMARY

MOST_OF_PEER = 20 * MOST_COST
"""Validation tries a few texts, so patterns that are built for other texts take several times its limit. The
dearest patterns without validation take 300 times as long as the peer."""
TRIES = 100
TRIES_WITHOUT_VALIDATION = 60


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No answers of other tests, and none for other tests."""
    forget_answers()
    yield
    forget_answers()


def test_no_accepted_pattern_is_dear(record_property: Callable[[str, object], None]) -> None:
    found = dearest_accepted(budget(TRIES), seed=1)
    ratio = found.seconds / peer_time(time.thread_time)
    shown = found.pattern if len(found.pattern) <= 80 else f"{found.pattern[:80]}…"
    record_property(SUMMARY, f"dearest accepted pattern: {ratio:.1f} times the peer, {shown}")
    assert ratio < MOST_OF_PEER


def test_the_search_finds_dear_patterns_that_validation_would_refuse() -> None:
    found = dearest_accepted(TRIES_WITHOUT_VALIDATION, seed=1, price=lambda *_: None)
    assert found.seconds > MOST_OF_PEER * peer_time(time.thread_time)


def test_a_dear_pattern_is_searched_once_in_each_text() -> None:
    texts = ["".join("ab"[number >> place & 1] for place in range(200)) for number in range(300)]

    def seconds() -> float:
        begun = time.thread_time()
        for text in texts:
            finds("a[ab]{150}c", text, ignore_case=False)
        return time.thread_time() - begun

    first = seconds()
    assert min(seconds() for _ in range(3)) < first / 4
