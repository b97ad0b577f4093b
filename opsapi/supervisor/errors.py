"""Errors of the start of the platform, each in one line."""


class StartError(Exception):
    """The start cannot go on; the message is one line for the operator."""
