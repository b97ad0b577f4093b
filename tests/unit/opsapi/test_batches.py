"""Many rows, a few at a time."""

from opsapi.batches import batches
from tests.each import each


@each(("count", "sizes"), [(0, []), (1, [1]), (2, [2]), (3, [2, 1]), (4, [2, 2])], ids=str)
def test_batches_keep_the_order_and_the_size(count: int, sizes: list[int]) -> None:
    found = list(batches(iter(range(count)), 2))
    assert [len(batch) for batch in found] == sizes
    assert [item for batch in found for item in batch] == list(range(count))
