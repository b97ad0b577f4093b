"""The database backend of the settings: Django's for PostgreSQL, which replaces dead connections."""
