"""The database backend of the settings: Django's for PostgreSQL, which notices connections that died."""
