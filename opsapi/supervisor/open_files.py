"""How many connections a web process can hold, by the files that it may open."""

import resource
import sys

# The log, the database's connections, files that are sent, tests of configurations.
KEPT, KEPT_PER_THREAD = 64, 2


def most_connections(wanted: int, threads: int) -> int:
    """As many as wanted, or as there are files for; raises this process's soft limit as far as that needs."""
    kept = KEPT + KEPT_PER_THREAD * threads
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = min(wanted + kept, _number(hard))
    if _number(soft) < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return min(wanted, max(limit - kept, limit // 4))


def _number(limit: int) -> int:
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
