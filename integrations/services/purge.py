"""Deletes the integrations of a deleted project (decisions 3)."""

from integrations.models import Integration
from opsapi.batches import delete_batch


def integrations_purge(*, group_id: str, limit: int) -> int:
    """Delete up to `limit` integrations of the project. Returns their number, 0 at the end."""
    return delete_batch(Integration.objects.filter(group_id=group_id), limit)
