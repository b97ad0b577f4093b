"""Answers that hold automation documents: numbers stay as they were written, as no other renderer does."""

from collections.abc import Mapping
from typing import Any

from automation.document.text import write
from opsapi.api.renderers import DocumentRenderer


class AutomationRenderer(DocumentRenderer):
    """As everywhere else, but for the numbers."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Bytes of the document; a response without one has no body."""
        if data is None:
            return b""
        return write(data, pretty=bool(renderer_context and renderer_context.get("pretty"))).encode()
