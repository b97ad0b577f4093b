"""The operator console: Django's admin, read-only but for what services offer (decisions 3 "console")."""
