"""PostgreSQL: primaries and standbys, each named in a connection URI. It needs psycopg 3, and so libpq."""

MISSING = "psycopg 3 is not installed: pip install 'psycopg[binary]'"
"""What is said when the modules of this package cannot be imported: the agent in one file has no libpq."""
