"""The processes of `manage.py serve`: starts them, restarts them when they end, and ends them in order."""


class StartError(Exception):
    """The platform cannot start. The message is one line for the operator."""
