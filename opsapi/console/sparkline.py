"""Spark lines: small pictures of numbers over time, drawn on the server."""

from collections.abc import Sequence
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_WIDTH: Final = 3
_GAP: Final = 1
_HEIGHT: Final = 20


def sparkline(numbers: Sequence[int], words: str) -> SafeString:
    """A bar for each number, oldest first; `words` say the same as the picture."""
    most, step = max(numbers, default=0), _WIDTH + _GAP
    bars = format_html_join(
        "",
        '<rect x="{}" y="{}" width="{}" height="{}"{}/>',
        (
            (place * step, _HEIGHT - tall, _WIDTH, tall, SafeString("" if number else ' class="spark-none"'))
            for place, number in enumerate(numbers)
            for tall in [_tall(number, most)]
        ),
    )
    width = max(1, len(numbers) * step - _GAP)
    return format_html(
        '<svg class="spark" role="img" width="{}" height="{}" viewBox="0 0 {} {}"><title>{}</title>{}</svg>',
        width,
        _HEIGHT,
        width,
        _HEIGHT,
        words,
        bars,
    )


def _tall(number: int, most: int) -> int:
    """The height of a bar. A number above 0 is in sight next to a far greater one."""
    return max(2, round(number / most * _HEIGHT)) if number else 1
