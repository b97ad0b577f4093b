"""The operator console: Django's admin, read-only except for the actions that services offer."""
