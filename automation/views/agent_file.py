"""The agent to be downloaded, how to check that it arrived whole, and the unit by which systemd runs it.

No login: they hold no secret, they are the same for everybody, and what fetches them has no key yet.
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import condition

from automation.agent_file import NAME, agent_file
from opsapi import VERSION
from opsapi.api.pages import only_read
from opsapi.program import FILES
from opsapi.wire_json import write_json

UNIT = FILES / "deploy" / "agent" / "opsapi-agent.service"
_JSON = "application/json"


def _file() -> bytes:
    return agent_file().octets


def _sum() -> bytes:
    """A line as sha256sum(1) reads it."""
    return f"{agent_file().sha256}  {NAME}\n".encode()


def _facts() -> bytes:
    made = agent_file()
    return write_json({"version": VERSION, "sha256": made.sha256, "size": len(made.octets)})


@lru_cache(maxsize=1)
def _unit() -> bytes:
    return UNIT.read_bytes()


def _page(
    octets: Callable[[], bytes], media_type: str, saved_as: str = ""
) -> Callable[..., HttpResponseBase]:
    """A page of these octets, with a strong ETag; `saved_as` is the name of the file that a browser makes."""
    headers: Mapping[str, str] = {
        # Kept, and asked for anew each time: an upgrade brings another one.
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
