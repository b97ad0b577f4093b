"""Passwords for commands."""

import getpass
import secrets
import sys


def password_asked() -> tuple[str, bool]:
    """The password, and whether it was generated, as it is if nothing is typed at a terminal."""
    typed = getpass.getpass("New password (leave blank to generate one): ") if sys.stdin.isatty() else ""
    return (typed, False) if typed else (secrets.token_urlsafe(16), True)
