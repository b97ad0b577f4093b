"""`/metrics` for Prometheus: it needs no key, but an address of OPSAPI_METRICS_ALLOW or loopback."""

from ipaddress import ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from opsapi.api.addresses import is_forwarded, peer_address
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.handler import plain_answer
from opsapi.api.pages import only_read
from opsapi.metrics import exposition

_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_LIST = "OPSAPI_METRICS_ALLOW, or asks through a proxy"


@only_read
def metrics_page(request: HttpRequest) -> HttpResponse:
    """The metrics of the installation, and of this machine's processes."""
    if not _may_read(request):
        shown = str(peer_address(request) or "unknown")
        return plain_answer(ApiError(ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST, shown, _LIST))
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _may_read(request: HttpRequest) -> bool:
    """Loopback and what the settings allow; behind a proxy on this machine everybody would be loopback."""
    address = peer_address(request)
    if address is None or is_forwarded(request):
        return False
    return any(address in network for network in (*_LOOPBACK, *settings.OPSAPI_METRICS_ALLOW))
