"""The path of the console. Imports nothing, because settings refer to modules that use it."""

CONSOLE_PATH = "/admin/"
