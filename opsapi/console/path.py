"""Where the console is; imports nothing, for the settings name what asks."""

CONSOLE_PATH = "/admin/"
