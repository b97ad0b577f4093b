"""Passwords that commands are given."""

import getpass
import secrets
import sys


def password_asked() -> tuple[str, bool]:
    """Asked for at a terminal (empty: drawn), drawn elsewhere; and whether it was drawn."""
    typed = getpass.getpass("Password (empty: one is made): ") if sys.stdin.isatty() else ""
    return (typed, False) if typed else (secrets.token_urlsafe(16), True)
