"""A real outgoing proxy on loopback: CONNECT for https, absolute URLs for http."""

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from opsapi.outgoing_proxy import OutgoingProxy
from tests.receivers import ReceivedRequest


class Proxy:
    """An HTTP proxy on 127.0.0.1 (with TLS when given a context) that records and forwards requests.

    It connects to 127.0.0.1 for every name, because the names of tests do not exist. `log_in` is the value of
    Proxy-Authorization that it asks for. `clients` are the ports that connections came from, one for each.
    """

    def __init__(self, context: ssl.SSLContext | None = None, *, log_in: str = "") -> None:
        self.requests: list[ReceivedRequest] = []
        self.clients: list[int] = []
        self.log_in = log_in
        self.stopped = threading.Event()
        self._answer: bytes | None = None
        self._hangs = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        if context:
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._scheme = "https" if context else "http"
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def url(self, user_info: str = "", host: str = "127.0.0.1") -> str:
        """Where it listens; `user_info` ends with @."""
        return f"{self._scheme}://{user_info}{host}:{self.port}"

    def setting(self, user_info: str = "", host: str = "127.0.0.1") -> OutgoingProxy:
        """The value of OPSAPI_OUTBOUND_PROXY."""
        return OutgoingProxy.of_url(self.url(user_info, host))

    def answer(self, raw: bytes) -> None:
        """From now on answer each request with these bytes, and close the connection."""
        self._answer = raw

    def hang(self) -> None:
        """From now on read requests and answer none."""
        self._hangs = True

    @contextlib.contextmanager
    def running(self) -> Iterator["Proxy"]:
        """Listen until the block ends."""
        self._thread.start()
        try:
            yield self
        finally:
            self.stopped.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Record a request, then refuse or forward it."""
        body = handler.rfile.read(int(handler.headers.get("Content-Length", "0")))
        headers = dict(handler.headers.items())
        self.requests.append(ReceivedRequest(handler.command, handler.path, headers, body))
        if self._hangs:
            handler.close_connection = True
            self.stopped.wait(60)
        elif self._answer is not None:
            handler.close_connection = True
            handler.wfile.write(self._answer)
        elif self.log_in and headers.get("Proxy-Authorization") != self.log_in:
            handler.close_connection = True
            handler.wfile.write(
                b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                b'Proxy-Authenticate: Basic realm="proxy"\r\nContent-Length: 0\r\n\r\n'
            )
        elif handler.command == "CONNECT":
            handler.close_connection = True
            _tunnel(handler, self.stopped)
        else:
            _forward(handler, headers, body)


def _forward(handler: BaseHTTPRequestHandler, headers: Mapping[str, str], body: bytes) -> None:
    url = urlsplit(handler.path)
    kept = {name: value for name, value in headers.items() if name != "Proxy-Authorization"}
    receiver = HTTPConnection("127.0.0.1", url.port or 80, timeout=30)
    with contextlib.closing(receiver):
        receiver.request(handler.command, f"{url.path}?{url.query}".rstrip("?"), body, kept)
        response = receiver.getresponse()
        content = response.read()
    handler.send_response(response.status)
    handler.send_header("Content-Length", str(len(content)))
    for name in ("Retry-After", "Content-Type"):
        if name in response.headers:
            handler.send_header(name, response.headers[name])
    handler.end_headers()
    handler.wfile.write(content)


def _tunnel(handler: BaseHTTPRequestHandler, stopped: threading.Event) -> None:
    try:
        receiver = socket.create_connection(("127.0.0.1", int(handler.path.rpartition(":")[2])), 30)
    except OSError:
        handler.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        return
    with receiver:
        handler.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        client = handler.connection
        while not stopped.is_set():
            pending = isinstance(client, ssl.SSLSocket) and client.pending()
            ready = [client] if pending else select.select([client, receiver], [], [], 0.05)[0]
            for source in ready:
                if not (data := source.recv(65_536)):
                    return
                (receiver if source is client else client).sendall(data)


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class ProxyHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 0

        def handle(self) -> None:
            proxy.clients.append(self.client_address[1])
            # A client that refuses the certificate, or has seen enough, hangs up.
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                super().handle()

        def do_POST(self) -> None:
            proxy.handle(self)

        def do_CONNECT(self) -> None:
            proxy.handle(self)

        def log_message(self, *_: object) -> None:
            """Nothing: the requests are recorded."""

    return ProxyHandler
