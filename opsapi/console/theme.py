"""The theme settings (django-unfold) of the console."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy

_STATIC = "console"


def _file(name: str) -> Any:
    """The URL of a static file, computed when a page is rendered."""
    return lambda _request: static(f"{_STATIC}/{name}")


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Ops API",
    "SITE_HEADER": "Ops API",
    "SITE_SUBHEADER": "database operations",
    "SITE_URL": None,
    "SITE_ICON": _file("icon.svg"),
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _file("icon.svg")}],
    "ACCOUNT": {"navigation": [{"title": "Your account", "link": reverse_lazy("account")}]},
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": False,
    "BORDER_RADIUS": "6px",
    "STYLES": [_file("console.css")],
    "SCRIPTS": [_file("console.js")],
    "COLORS": {
        "primary": {
            "50": "oklch(97.1% .013 236.62)",
            "100": "oklch(94.3% .029 233.56)",
            "200": "oklch(89.5% .058 232.0)",
            "300": "oklch(82.0% .099 232.7)",
            "400": "oklch(72.5% .132 235.0)",
            "500": "oklch(62.0% .138 240.0)",
            "600": "oklch(51.0% .126 244.0)",
            "700": "oklch(44.0% .108 246.0)",
            "800": "oklch(38.5% .088 247.0)",
            "900": "oklch(34.0% .070 248.0)",
            "950": "oklch(26.0% .052 250.0)",
        }
    },
}
