"""Resolves names with a time limit; `getaddrinfo` itself may take half a minute."""

import socket
import threading
from concurrent.futures import Future
from ipaddress import ip_address

from opsapi.outbound.guard import Address


def resolve(host: str, port: int, timeout: float) -> list[Address]:
    """Return the addresses of a name or of an IP address, without duplicates, in the order of the resolver.

    Raises:
        socket.gaierror: the name is invalid or has no address. TimeoutError: the resolver did not answer
            within `timeout` seconds.
    """
    found: Future[list[Address]] = Future()
    # A separate thread: a resolver that hangs blocks only this look-up.
    threading.Thread(target=_look_up, args=(host, port, found), daemon=True).start()
    return found.result(timeout)


def _look_up(host: str, port: int, found: Future[list[Address]]) -> None:
    try:
        found.set_result(_addresses(host, port))
    except OSError as error:
        found.set_exception(error)
    except UnicodeError:
        found.set_exception(socket.gaierror(socket.EAI_NONAME, "not a host name"))


def _addresses(host: str, port: int) -> list[Address]:
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(sockaddr[0]) for *_, sockaddr in answers))
