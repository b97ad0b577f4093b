"""The receivers these tests use; no connection outlives its test."""

from collections.abc import Iterator

import pytest

from opsapi.outbound.pool import POOL
from tests.receivers import http_receiver, mail_receiver

__all__ = ["http_receiver", "mail_receiver"]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Ports are used again, and connections to a receiver of another test would be found."""
    yield
    POOL.close_all()
