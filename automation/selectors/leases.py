"""Reading who watches which host."""

from collections.abc import Collection

from automation.models import HostLease
from automation.rules.leases import Key
from opsapi.fields import Among


def leases_named(group_id: str, keys: Collection[Key]) -> dict[Key, HostLease]:
    """The leases of these hosts of a project, by host."""
    named = HostLease.objects.filter(Among("hostname", {name for name, _ in keys}), group_id=group_id)
    found = {(one.hostname, one.port): one for one in named}
    return {key: found[key] for key in keys & found.keys()}
