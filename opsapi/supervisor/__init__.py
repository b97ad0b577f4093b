"""Processes: start, watch, restart and end them in order. `manage.py serve` is built from these parts."""


class StartError(Exception):
    """The start cannot go on; the message is one line for the operator."""
