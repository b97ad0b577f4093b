"""The agent at PostgreSQL servers of the versions that neither the platform nor Debian brings."""

import pytest

from tests.hostile.budget import LONG
from tests.processes.postgresql import DOWNLOADED, servers
from tests.processes.postgresql_parity import COMPLETE, columns_of, columns_written

pytestmark = [pytest.mark.processes, pytest.mark.postgresql]


@pytest.mark.parametrize("version", DOWNLOADED if LONG else DOWNLOADED[:1])
def test_what_is_reported_of_each_version_is_what_the_page_says(version: int) -> None:
    with servers(version, **COMPLETE) as (primary, standby):
        found = columns_of(primary, standby)
    written = columns_written()
    assert {heading: written[heading] for heading in found} == found
