"""Why the platform cannot be started, told in one line."""


class StartError(Exception):
    """The start cannot go on; the message is one line for the operator."""
