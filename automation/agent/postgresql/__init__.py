"""PostgreSQL: primaries and standbys, listed in connection URIs. Needs psycopg 3 and libpq."""

MISSING = "psycopg 3 is not installed: pip install 'psycopg[binary]'"
"""The error if the modules of this package cannot be imported: the single-file agent has no libpq."""
