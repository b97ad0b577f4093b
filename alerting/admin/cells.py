"""Cells of lists: a long value must not stretch the table."""

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

LONGEST = 60
"""Characters of a value in a list; the rest is in its tooltip, and on the row's page."""


def short(text: str | None) -> str | SafeString | None:
    """A value, cut where it is too long."""
    if text is None or len(text) <= LONGEST:
        return text
    return format_html('<span title="{}">{}</span>', text, Truncator(text).chars(LONGEST))
