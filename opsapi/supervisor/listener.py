"""The listening socket. The supervisor binds it once: restarts of the web server lose no connection."""

import errno
import socket
import time
from pathlib import Path

from opsapi.hostnames import host_and_port
from opsapi.supervisor import StartError
from opsapi.supervisor.certificate import check

# Processes that were just killed may still use the port.
PATIENCE_SECONDS = 3.0
# Variables for gunicorn_conf: the numbers of open descriptors.
LISTENER_VARIABLE = "OPSAPI_LISTENER_FD"
READY_VARIABLE = "OPSAPI_READY_FD"
PAUSE = 0.05
# Connections that wait to be accepted; net.core.somaxconn limits them, too. The system drops further
# connections, and their clients try again only after a second.
BACKLOG = 4096


def listen(host: str, port: int) -> socket.socket:
    """Return a listening TCP socket.

    Raises: StartError: the address cannot be used; the message names it and the reason.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise StartError(
            f"OPSAPI_BIND: {host!r} is not an address of this machine: {error.strerror}"
        ) from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        _bind(listener, address, time.monotonic() + PATIENCE_SECONDS)
    except OSError as error:
        listener.close()
        raise StartError(
            f"OPSAPI_BIND: cannot listen on {host_and_port(host, port)}: {_reason(error)}"
        ) from None
    return listener


def check_tls(certificate: Path | None, key: Path | None) -> None:
    """Check the TLS files. Raises StartError: only one of them is given, or they cannot be used together."""
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        raise StartError("OPSAPI_TLS_CERT and OPSAPI_TLS_KEY: set both or neither")
    try:
        check(certificate, key)
    except (OSError, ValueError) as error:  # SSLError is an OSError.
        raise StartError(f"OPSAPI_TLS_CERT and OPSAPI_TLS_KEY: cannot be used: {error}") from None


def _bind(listener: socket.socket, address: tuple[object, ...], deadline: float) -> None:
    while True:
        try:
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)
        else:
            return


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program uses this port"
    return error.strerror or str(error)
