"""Documents as JSON: compact or pretty, with or without an envelope."""

from collections.abc import Mapping
from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from opsapi.wire_json import JsonObject, write_json


def render(document: object, *, pretty: bool = False) -> bytes:
    """Return the document as UTF-8 JSON."""
    return write_json(document, pretty=pretty)


def enveloped(document: Any, status: int, *, lists: bool) -> JsonObject:
    """Return the document with its `status`, for clients that cannot read the status of a response.

    A list gets `status` next to its results; any other document becomes `content`. `lists`: the action
    answers with a list.
    """
    if lists and "results" in document:
        return {"status": status, **document}
    return {"status": status, "content": document}


class DocumentRenderer(BaseRenderer):
    """The only renderer. The view puts `pretty` into the context of the response."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the bytes of the document; a response without a document has no body."""
        if data is None:
            return b""
        return self.write(data, pretty=bool(renderer_context and renderer_context.get("pretty")))

    @staticmethod
    def write(document: Any, *, pretty: bool) -> bytes:
        """Return the document as UTF-8 JSON."""
        return render(document, pretty=pretty)


class OneRepresentation(BaseContentNegotiation):
    """Always the same representation, for any Accept header: every client must be able to read errors."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the strict parser."""
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """Return the JSON renderer."""
        return renderers[0], renderers[0].media_type
