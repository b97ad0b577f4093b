"""PostgreSQL: primaries and standbys, each named in a connection URI. It needs psycopg 3, and so libpq."""
