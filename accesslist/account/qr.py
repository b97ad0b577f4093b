"""The QR code that an authenticator reads, as a picture in the page."""

import segno
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

# What cameras need: dark on light, also in a dark page, with a margin of four modules.
_SCALE, _BORDER, _DARK, _LIGHT = 5, 4, "#000", "#fff"


def qr_code(text: str) -> SafeString:
    """An inline SVG of the text, named for who does not see it."""
    code = segno.make(text, error="m", micro=False)
    svg = code.svg_inline(scale=_SCALE, border=_BORDER, dark=_DARK, light=_LIGHT, omitsize=True)
    picture = mark_safe(svg)  # noqa: S308 - made of the modules alone; the text is not in it
    return format_html(
        '<div class="account-qr" role="img" aria-label="QR code of the key below">{}</div>', picture
    )
