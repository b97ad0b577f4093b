"""Downloads of the agent: its file, its checksum and its systemd unit.

They need no login: they contain no secret, and a machine without an agent has no key yet.
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import condition

from automation.agent_file import NAME, agent_file
from opsapi import VERSION
from opsapi.api.handler import only_read
from opsapi.program import FILES
from opsapi.wire_json import write_json

UNIT = FILES / "deploy" / "agent" / "opsapi-agent.service"
_JSON = "application/json"


def _file() -> bytes:
    return agent_file().octets


def _sum() -> bytes:
    """A line for sha256sum(1)."""
    return f"{agent_file().sha256}  {NAME}\n".encode()


def _facts() -> bytes:
    file = agent_file()
    return write_json({"version": VERSION, "sha256": file.sha256, "size": len(file.octets)})


@lru_cache(maxsize=1)
def _unit() -> bytes:
    return UNIT.read_bytes()


def _page(
    octets: Callable[[], bytes], media_type: str, saved_as: str = ""
) -> Callable[..., HttpResponseBase]:
    """A view that serves these octets with a strong ETag; `saved_as` is the file name for browsers."""
    headers: Mapping[str, str] = {
        # Clients revalidate each time, because an upgrade of the platform changes the file.
        "Cache-Control": "no-cache",
        **({"Content-Disposition": f'attachment; filename="{saved_as}"'} if saved_as else {}),
    }

    @lru_cache(maxsize=1)
    def etag() -> str:
        return f'"{hashlib.sha256(octets()).hexdigest()[:32]}"'

    @only_read
    @condition(etag_func=lambda _: etag())
    def answer(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(octets(), content_type=media_type, headers=dict(headers))

    return answer


download = _page(_file, "application/octet-stream", NAME)
checksum = _page(_sum, "text/plain; charset=utf-8")
facts = _page(_facts, _JSON)
unit = _page(_unit, "text/plain; charset=utf-8", UNIT.name)
