"""Taking away the integrations of a deleted project (decisions 3)."""

from integrations.models import Integration
from opsapi.batches import delete_batch


def integrations_purge(*, group_id: str, limit: int) -> int:
    """Delete at most so many of the project's integrations; answers how many they were, 0 at the end."""
    return delete_batch(Integration.objects.filter(group_id=group_id), limit)
