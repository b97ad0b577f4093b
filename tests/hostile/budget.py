"""How much is tried: little in every run of the tests, much in `make faults`."""

import os

from hypothesis import HealthCheck, settings

MARK = "OPSAPI_TEST_FAULTS"
LONG = os.environ.get(MARK) == "long"
_LONG_FACTOR = 96
EXAMPLES = 7
"""Of a property that says nothing of its own."""

COUNTED = "requests tried"
"""The name under which a test records its number of requests."""


def budget(ordinary: int) -> int:
    """So many tries in an ordinary run; several times as many in the long one."""
    return ordinary * _LONG_FACTOR if LONG else ordinary


def share(total: int, parts: int) -> int:
    """What one of the parts may spend of a total, at least one try."""
    return max(1, budget(total) // max(1, parts))


def tries(ordinary: int) -> settings:
    """Hypothesis with so many examples, several times as many in the long run."""
    return examples(budget(ordinary))


def examples(number: int) -> settings:
    """Hypothesis with so many examples: the same ones in every run, no clock, nothing kept on disk."""
    return settings(
        max_examples=max(1, number),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
