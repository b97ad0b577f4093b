"""The operator console: Django's admin, read-only except for actions that call services."""
