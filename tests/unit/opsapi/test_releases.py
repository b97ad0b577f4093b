"""Which servers are older than the newest minor version of PostgreSQL at the release."""

import pytest
from pytest_django import Settings

from opsapi.postgresql.releases import NEWEST_MINOR, RELEASED, outdated, remedy
from tests.each import each


@each(
    ("server", "words"),
    [
        (180006, ["18.6", "18.7", RELEASED.isoformat()]),
        (180007, None),
        (180008, None),
        (150019, ["15.19", "15.20"]),
        (150020, None),
        (140000, ["14.0", "14.25"]),
        (130000, None),
        (990000, None),
    ],
)
def test_a_server_without_the_newest_fixes_is_named(server: int, words: list[str] | None) -> None:
    fault = outdated(server)
    assert (fault is None) is (words is None)
    assert all(word in (fault or "") for word in words or [])


def test_every_supported_major_version_has_a_newest_minor_version() -> None:
    assert list(NEWEST_MINOR) == [14, 15, 16, 17, 18]


@pytest.mark.parametrize(("embedded", "named"), [(True, True), (False, False)])
def test_the_embedded_server_can_use_other_programs(embedded: bool, named: bool, settings: Settings) -> None:
    settings.OPSAPI_EMBEDDED_DATABASE = embedded
    assert ("OPSAPI_POSTGRESQL_BIN" in remedy(180006)) is named
