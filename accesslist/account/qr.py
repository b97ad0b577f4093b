"""The QR code for an authenticator app, as an inline picture."""

import segno
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

# Cameras need dark on light, also on a dark page, with a margin of four modules.
_SCALE, _BORDER, _DARK, _LIGHT = 5, 4, "#000", "#fff"


def qr_code(text: str) -> SafeString:
    """An inline SVG of the text, with a label for screen readers."""
    code = segno.make(text, error="m", micro=False)
    svg = code.svg_inline(scale=_SCALE, border=_BORDER, dark=_DARK, light=_LIGHT, omitsize=True)
    picture = mark_safe(svg)  # noqa: S308 - made of the modules alone; the text is not in it
    return format_html(
        '<div class="account-qr" role="img" aria-label="QR code of the key below">{}</div>', picture
    )
