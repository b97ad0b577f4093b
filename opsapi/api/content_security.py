"""Content-Security-Policy, with django-csp: what a browser may load and run.

By default nothing (CONTENT_SECURITY_POLICY in the settings). The policies here are for two kinds of pages and
give their reasons.
"""

from collections.abc import Mapping
from typing import Any

from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

from opsapi.console import CONSOLE_PATH

Policy = Mapping[str, list[str]]

STRICT: Policy = {
    "default-src": [NONE],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": [NONE],
}
"""The policy of documents, files and errors."""

DOCS: Policy = {
    **STRICT,
    "script-src": [SELF],
    "style-src": [SELF],
    # The style sheet contains its icons as data.
    "img-src": [SELF, "data:"],
    "connect-src": [SELF],
    "form-action": [SELF],
}
"""The policy of `/api/docs/`."""

CONSOLE: Policy = {
    **STRICT,
    # The theme's menus and dialogs are expressions in attributes, which Alpine evaluates.
    "script-src": [SELF, UNSAFE_EVAL],
    # The theme's widgets set styles in the page.
    "style-src": [SELF, UNSAFE_INLINE],
    "img-src": [SELF, "data:"],
    "font-src": [SELF],
    "connect-src": [SELF],
    "form-action": [SELF],
}
"""The policy of all paths below `/admin/`."""


class ContentSecurityPolicy(CSPMiddleware):
    """django-csp's middleware, extended by the policy of the console, including its error pages."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """Return the policy of the view, otherwise of the path, otherwise of the settings."""
        parts = super().get_policy_parts(request, response, report_only)
        if parts.config is None and not report_only and request.path_info.startswith(CONSOLE_PATH):
            parts.config = dict[str, Any](CONSOLE)
        return parts


def header_line(policy: Policy) -> str:
    """Return the header's value, for responses that pass no middleware."""
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in policy.items())
