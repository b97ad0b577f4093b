"""The price of a pattern: the time of a search in a name of 253 characters that suits the pattern. Pure.

The engine takes linear time for each text, but some patterns take a thousand times as long as others: each
octet of the text costs up to as many steps as the pattern has instructions. Two limits are measured with the
engine itself:

- The instructions of the compiled pattern. This bounds the time of every text, and never depends on the
  machine.
- The processor time of searches, as a multiple of an ordinary search in 100,000 characters, measured at the
  same time. Only this distinguishes a list of 50 host names from a dear pattern of equal length: both have
  hundreds of instructions, but the engine rarely follows more than a few of the list at the same time.

An ordinary pattern takes a tenth of the second limit or less. A pattern is refused only if nine searches in
similar texts are above the limit, or at least five of which the last is more than ten times above it. So a
busy machine refuses nothing by chance.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import re2

from alerting.configs.pattern_texts import LONGEST_NAME, slow_texts
from alerting.configs.patterns import Regex, compile_regex

MOST_INSTRUCTIONS: Final = 5_000
"""The most instructions of a pattern that is accepted; a literal character is one, `.` about nine."""
MOST_COST: Final = 2.0
"""The longest search, as a multiple of `peer_time`."""
_SEARCHES = 9
"""The searches in similar texts that all have to be too slow. The engine builds a part of its automaton in
the first searches, so later searches are faster if there is room for it."""
_HOPELESS = 10
"""The multiple of the limit at which half of the searches decide."""
_PRICES = 1_024
_TIMES_OF_PEER = 3

_PEER: Regex = re2.compile("[ab]z")
_PEER_TEXT = "abcd" * 25_000
_ORDINARY = f"{int(MOST_COST * len(_PEER_TEXT)):,}"

ALLOWED: Final = (
    f"at most {MOST_INSTRUCTIONS:,} instructions",
    f"a search in {LONGEST_NAME} characters that takes no longer than an ordinary search in {_ORDINARY}"
    " characters",
)
"""The limits in words."""


@lru_cache(maxsize=_PRICES)
def price_fault(pattern: str, ignore_case: bool, clock: Callable[[], float]) -> str | None:
    """Why a valid pattern is too dear; None if it is not. `clock` is processor time in seconds."""
    regex = compile_regex(pattern, ignore_case)
    if regex.programsize > MOST_INSTRUCTIONS:
        return (
            f"is too slow to compare: it compiles to {regex.programsize:,} instructions, and the limit is"
            f" {MOST_INSTRUCTIONS:,}. Shorten repetitions such as {{1,200}}"
        )
    limit = MOST_COST * peer_time(clock)
    for another_text in slow_texts(pattern):
        if is_slower(regex, another_text, limit, clock):
            return (
                f"is too slow to compare: a search in {LONGEST_NAME} characters takes longer than an"
                f" ordinary search in {_ORDINARY} characters. Shorten repetitions such as {{1,200}}"
            )
    return None


def peer_time(clock: Callable[[], float]) -> float:
    """The processor time of an ordinary search in 100,000 characters."""
    return min(search_time(_PEER, _PEER_TEXT, clock) for _ in range(_TIMES_OF_PEER))


def search_time(regex: Regex, text: str, clock: Callable[[], float]) -> float:
    """The processor time of one search."""
    begun = clock()
    regex.search(text)
    return clock() - begun


def is_slower(
    regex: Regex, another_text: Callable[[], str], limit: float, clock: Callable[[], float]
) -> bool:
    """Whether searches in similar texts stay above a limit."""
    for count in range(_SEARCHES):
        seconds = search_time(regex, another_text(), clock)
        if seconds <= limit:
            return False
        if seconds > _HOPELESS * limit and count >= _SEARCHES // 2:
            return True
    return True
