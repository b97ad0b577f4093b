"""Paths of the console. Imports nothing, because settings refer to modules that use it."""

CONSOLE_PATH = "/admin/"
SETUP_PATH = f"{CONSOLE_PATH}setup/"
