"""The price of a pattern: ordinary patterns are far below the limits, and dear patterns are refused."""

import time
from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.configs.matchers import hosts_matcher
from alerting.configs.pattern_prices import (
    MOST_COST,
    MOST_INSTRUCTIONS,
    is_slower,
    peer_time,
    price_fault,
    search_time,
)
from alerting.configs.pattern_texts import LONGEST_NAME, slow_texts
from alerting.configs.patterns import MAX_REGEX_LENGTH, compile_regex
from tests.each import each
from tests.hostile.budget import tries

HOST = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
ORDINARY = [
    "^db",
    r"^db\d+\.example\.com$",
    r"^(prod|stage)-(eu|us)-\w+-db\d{1,3}(\.internal)?\.example\.(com|net)(:\d+)?$",
    ".*prod.*db.*",
    "^(?i)DB[0-9]{2}",
    rf"^{HOST}(\.{HOST})*$",
    r"^([a-zA-Z0-9-]{1,63}\.){2,6}example\.com$",
    r"^((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)$",
    r"\pL+\pN+",
    r"^[^.]+\.(eu|us)\.",
    "a" * MAX_REGEX_LENGTH,
    hosts_matcher([f"db{number}.example.com:27017" for number in range(35)])["value"],
    "^(" + "|".join(f"orders-{number}.prod" for number in range(65)) + ")$",
]
DEAR = [
    "|".join(f"a{{{count}}}b" for count in range(50, 180)),
    "(a{1,30}){1,30}x",
    "^k9(q{1,30}){1,30}x",
    "|".join(f"{start}[ab]{{240}}c" for start in ("aa", "ab", "ba", "bb") * 5),
    "^zz[ab]*(?:" + "|".join(f"{start}[ab]{{240}}c" for start in ("aa", "ab", "ba", "bb") * 5) + ")",
    "(?:[a-z0-9.-]{1,250}[^x]){1,4}Z",
]


@each("pattern", ORDINARY, ids=range(len(ORDINARY)))
@each("ignore_case", [False, True])
def test_it_accepts_an_ordinary_pattern(pattern: str, ignore_case: bool) -> None:
    assert price_fault(pattern, ignore_case, time.thread_time) is None


@each("pattern", DEAR, ids=range(len(DEAR)))
@each("ignore_case", [False, True])
def test_it_refuses_a_dear_pattern(pattern: str, ignore_case: bool) -> None:
    assert "too slow" in str(price_fault(pattern, ignore_case, time.thread_time))


def test_no_clock_decides_about_a_pattern_with_too_many_instructions() -> None:
    pattern = "[^a]{1,250}" * 4
    assert compile_regex(pattern).programsize > MOST_INSTRUCTIONS
    assert "instructions" in str(price_fault(pattern, False, lambda: 0.0))


def test_an_accepted_list_of_hosts_is_far_below_the_limit() -> None:
    pattern = hosts_matcher([f"db{number}.example.com:27017" for number in range(35)])["value"]
    regex, peer = compile_regex(pattern, ignore_case=True), peer_time(time.thread_time)
    for another_text in slow_texts(pattern):
        least = min(search_time(regex, another_text(), time.thread_time) for _ in range(8))
        assert least < peer * MOST_COST / 4


@each(
    ("searches", "expected"),
    [
        ([3] * 9, True),
        ([1], False),
        ([3] * 8 + [1], False),
        ([21] * 5, True),
        ([21] * 4 + [3] * 5, True),
        ([21] * 4 + [1], False),
    ],
    ids=str,
)
def test_a_slow_search_that_is_followed_by_a_fast_search_refuses_nothing(
    searches: list[int], expected: bool
) -> None:
    def times() -> Iterator[float]:
        now = 0.0
        for seconds in searches:
            yield now
            now += seconds
            yield now

    ticks = times()
    regex = compile_regex("a")
    assert is_slower(regex, lambda: "a", 2, lambda: next(ticks)) is expected
    assert next(ticks, None) is None


@tries(40)
@given(st.text("ab.0-[]^(){},|*+?\\d$QEpx:P<>12", max_size=40) | st.text(max_size=20))
def test_any_text_has_the_same_slow_texts(pattern: str) -> None:
    texts = [list(_two_of_each(pattern)) for _ in range(2)]
    assert texts[0] == texts[1]
    assert {len(text) for text in texts[0]} == {LONGEST_NAME}


def _two_of_each(pattern: str) -> Iterator[str]:
    for another_text in slow_texts(pattern):
        yield another_text()
        yield another_text()


def test_slow_texts_match_parts_behind_others() -> None:
    texts = [another_text() for another_text in islice(slow_texts("^xq7-[0-9]{4}(b{3}|c)d"), 40)]
    assert any(compile_regex("^xq7-[0-9]{4}b").search(text) for text in texts)


def test_the_deepest_pattern_has_slow_texts() -> None:
    pattern = "(" * 400 + "a" + ")" * 400
    assert {len(text) for text in _two_of_each(pattern)} == {LONGEST_NAME}


@pytest.mark.parametrize("pattern", ["", "^$", "()", "|"])
def test_a_pattern_without_characters_has_slow_texts(pattern: str) -> None:
    assert {len(text) for text in _two_of_each(pattern)} == {LONGEST_NAME}
