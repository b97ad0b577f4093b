"""The Content-Security-Policy of every answer: what a browser can load and run. Sent by django-csp.

By default a browser can load and run nothing (CONTENT_SECURITY_POLICY in the settings). Four kinds of pages
need more.
"""

from collections.abc import Mapping
from typing import Any

from csp.constants import HEADER, NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

from opsapi.page_paths import CONSOLE_PATH, DOCUMENTS_PATH, KIOSK_PATH

Policy = Mapping[str, list[str]]

STRICT: Policy = {
    "default-src": [NONE],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": [NONE],
}
"""The default: documents of the API, files, errors."""

DOCS: Policy = {
    **STRICT,
    "script-src": [SELF],
    "style-src": [SELF],
    # Its style sheet holds its icons as data.
    "img-src": [SELF, "data:"],
    "connect-src": [SELF],
    "form-action": [SELF],
}
"""The viewer at `/api/docs/`."""

DOCUMENTS: Policy = {
    **STRICT,
    "script-src": [SELF],
    "style-src": [SELF],
    "img-src": [SELF],
    "font-src": [SELF],
    "form-action": [SELF],  # the search
}
"""All pages below `/docs/`."""

CONSOLE: Policy = {
    **STRICT,
    # The theme's menus and dialogs are expressions in attributes, which Alpine evaluates.
    "script-src": [SELF, UNSAFE_EVAL],
    # Its widgets set styles in the page.
    "style-src": [SELF, UNSAFE_INLINE],
    "img-src": [SELF, "data:"],
    "font-src": [SELF],
    "connect-src": [SELF],
    "form-action": [SELF],
}
"""All pages below `/admin/`."""

KIOSK: Policy = {
    **STRICT,
    "script-src": [SELF],
    "style-src": [SELF],
    "img-src": [SELF],
    "font-src": [SELF],
    "connect-src": [SELF],
}
"""The pages below `/kiosk/`, which have no forms."""

_OF_PATHS = {CONSOLE_PATH: CONSOLE, DOCUMENTS_PATH: DOCUMENTS, KIOSK_PATH: KIOSK}


def header_line(policy: Policy) -> str:
    """Return the header's value, for responses that django-csp does not handle."""
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in policy.items())


_STRICT_LINE = header_line(STRICT)


class ContentSecurityPolicy(CSPMiddleware):
    """The middleware of django-csp, which also finds the policy by path: error pages have no view."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """As django-csp, but STRICT is built once and not for each response."""
        of_view = any(name.startswith("_csp") for name in vars(response))
        if of_view or request.path_info.startswith(tuple(_OF_PATHS)):
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, _STRICT_LINE)
        return response

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """Return the policy of the view, otherwise of the path, otherwise of the settings."""
        parts = super().get_policy_parts(request, response, report_only)
        if parts.config is None and not report_only:
            policies = (policy for path, policy in _OF_PATHS.items() if request.path_info.startswith(path))
            parts.config = next((dict[str, Any](policy) for policy in policies), None)
        return parts
