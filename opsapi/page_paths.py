"""The paths of pages for people. Imports nothing, because settings refer to modules that use it."""

CONSOLE_PATH = "/admin/"
DOCUMENTS_PATH = "/docs/"
SETUP_PATH = f"{CONSOLE_PATH}setup/"
KIOSK_PATH = "/kiosk/"
INVITATION_PATH = f"{CONSOLE_PATH}invitation/"
