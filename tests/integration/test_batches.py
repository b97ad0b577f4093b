"""Rows are deleted in short statements, until the time of a batch is over."""

from itertools import count

import pytest

from accesslist.models import DigestUse
from opsapi import batches, clock
from opsapi.batches import delete_batch
from tests.each import each

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows. A statement deletes two rows, and each read of the clock takes a second."""
    monkeypatch.setattr(batches, "DELETED_AT_ONCE", 2)
    for number in range(10):
        DigestUse.objects.create(nonce=f"nonce{number}", nc="00000001", used=clock.now())


@each(("seconds", "limit", "deleted"), [(0.5, 10, 2), (3, 10, 6), (100, 10, 10), (100, 5, 5)])
def test_a_batch_ends_with_its_time_or_its_rows(
    monkeypatch: pytest.MonkeyPatch, seconds: float, limit: int, deleted: int
) -> None:
    monkeypatch.setattr(batches, "DELETE_SECONDS", seconds)
    ticks = count()
    rows = DigestUse.objects.all()
    assert delete_batch(rows, limit, first=("nonce",), clock=lambda: float(next(ticks))) == deleted
    left = DigestUse.objects.order_by("nonce").values_list("nonce", flat=True)
    assert list(left) == [f"nonce{number}" for number in range(deleted, 10)]
    assert not delete_batch(rows.filter(nonce="none"), limit)
