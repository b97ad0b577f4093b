"""Renders answers with automation documents: numbers stay as written."""

from collections.abc import Mapping
from typing import Any

from automation.document.text import write
from opsapi.api.renderers import DocumentRenderer


class AutomationRenderer(DocumentRenderer):
    """The default renderer, except for numbers."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The bytes of the document; empty without a body."""
        if data is None:
            return b""
        return write(data, pretty=bool(renderer_context and renderer_context.get("pretty"))).encode()
