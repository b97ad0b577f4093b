"""How many connections there are files for."""

import resource

import pytest

from opsapi.supervisor.callers import KEPT, most_connections

UNLIMITED = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft_and_hard", "threads", "most", "raised"),
    [
        ((1024, 524_288), 8, 4000, 4080),
        ((1024, UNLIMITED), 8, 4000, 4080),
        ((UNLIMITED, UNLIMITED), 8, 4000, None),
        ((8192, 8192), 8, 4000, None),
        ((1024, 1024), 8, 944, None),
        ((256, 512), 8, 432, 512),
        ((256, 256), 8, 176, None),
        ((256, 256), 256, 64, None),
    ],
)
def test_the_soft_limit_is_raised_as_needed_with_files_in_reserve(
    monkeypatch: pytest.MonkeyPatch,
    soft_and_hard: tuple[int, int],
    threads: int,
    most: int,
    raised: int | None,
) -> None:
    limits = [soft_and_hard]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair))
    assert KEPT == 64
    assert most_connections(4000, threads) == most
    assert limits[1:] == ([] if raised is None else [(raised, soft_and_hard[1])])
