"""Patterns: answers are remembered within bounds, and a port is found in one pass over all ports."""

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.configs import patterns
from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator, MatchSubject, can_hold, matches
from alerting.configs.patterns import LAST_PORT, compile_regex, finds, finds_a_port, forget_answers
from tests.each import each

MORE_THAN_COMPILED = 300
DEAR_FOR_PORTS = "[^x]{1,200}.*[^y]{1,200}x"
"""A match of it could continue in the next line, so a search among lines kept hundreds of positions."""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No answers of other tests, and none for other tests."""
    forget_answers()
    yield
    forget_answers()


def compiled_in(work: Callable[[], object]) -> int:
    """How many patterns some work compiles."""
    before = compile_regex.cache_info().misses
    work()
    return compile_regex.cache_info().misses - before


def test_more_patterns_than_the_cache_holds_are_compiled_only_once() -> None:
    rules = [
        Matcher(MatcherField.HOSTNAME, MatcherOperator.REGEX, f"^db{number}[.]")
        for number in range(MORE_THAN_COMPILED)
    ]
    hosts = [MatchSubject(hostname=f"db{number}.example.com") for number in range(5)]

    def compare() -> list[bool]:
        return [matches([rule], host) for host in hosts for rule in rules]

    assert compiled_in(compare) >= MORE_THAN_COMPILED
    found = compare()
    assert compiled_in(compare) == 0
    assert compare() == found
    assert found.count(True) == len(hosts)


def test_an_answer_is_remembered_by_pattern_text_and_case() -> None:
    assert finds("^db", "DB1", ignore_case=True)
    assert not finds("^db", "DB1", ignore_case=False)
    assert finds("^db", "db1", ignore_case=False)
    again = compiled_in(lambda: [finds("^db", "DB1", ignore_case=case) for case in (True, False)])
    assert again == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.text("abcAB", max_size=2)), max_size=60))
def test_answers_are_right_however_often_they_are_forgotten(
    asked: list[tuple[str, bool, str]],
) -> None:
    forget_answers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "MOST_TEXTS", 3)
        patch.setattr(patterns, "MOST_PATTERNS", 2)
        for pattern, ignore_case, text in asked:
            expected = pattern in (text.lower() if ignore_case else text)
            assert finds(pattern, text, ignore_case=ignore_case) is expected


def test_threads_share_answers() -> None:
    names = [f"db{number}" for number in range(50)]

    def ask(_: int) -> list[bool]:
        return [finds(f"^{wanted}$", name, ignore_case=False) for wanted in names for name in names]

    expected = [wanted == name for wanted in names for name in names]
    with ThreadPoolExecutor(4) as threads:
        assert all(found == expected for found in threads.map(ask, range(8)))


@each(
    "pattern",
    ["^27017$", "^7\\d{4}$", "^$", "[a-z]", "1[^x]2", "^6553[6-9]$", "9{5}", "^65535$", "\\d{6}", "5\\s*6"],
)
def test_a_port_is_found_as_by_a_search_in_each_port(pattern: str) -> None:
    regex = re.compile(pattern)
    # The port of a subject without a port is the empty string.
    expected = any(regex.search(text) for text in ("", *map(str, range(1, LAST_PORT + 1))))
    assert finds_a_port(pattern, lambda: True) is expected


def test_no_pattern_makes_the_search_for_a_port_much_longer() -> None:
    ordinary, dear = (
        min(_processor_time(pattern) for _ in range(3)) for pattern in ("^abc$", DEAR_FOR_PORTS)
    )
    assert dear < 100 * ordinary


def _processor_time(pattern: str) -> float:
    begun = time.thread_time()
    assert not finds_a_port(pattern, lambda: True)
    return time.thread_time() - begun


def test_the_search_for_a_port_ends_with_its_time() -> None:
    asked = 0

    def may_search() -> bool:
        nonlocal asked
        asked += 1
        return asked <= 3

    never = Matcher(MatcherField.PORT, MatcherOperator.REGEX, "^abc$")
    assert can_hold(never, may_search)
    assert asked == 4
    assert not can_hold(never)
