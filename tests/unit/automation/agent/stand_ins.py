"""A local platform and MongoDB server that answer as the test asks."""

import http.server
import json
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from typing import Any

import bson

Command = Mapping[str, Any]
Answer = Callable[[Command], Mapping[str, Any]]

HELLO = {
    "isWritablePrimary": True,
    "maxWireVersion": 25,
    "minWireVersion": 0,
    "maxBsonObjectSize": 16_777_216,
}
CHALLENGE = 'Digest realm="ops", nonce="n", qop="auth", algorithm=SHA-256'
_OP_MSG, _OP_REPLY, _OP_QUERY = 2013, 1, 2004


@contextmanager
def mongod(
    refused: Mapping[str, int] | None = None, answers: Mapping[str, Command] | None = None, **hello: Any
) -> Iterator[int]:
    """A server that accepts every command except `refused`, which it refuses with a code; yields its port.

    `answers` are its answers by command; other commands have an empty answer.
    """
    codes, known = {} if refused is None else refused, answers or {}

    def answer(command: Command) -> Mapping[str, Any]:
        name = next(iter(command))
        if name in codes:
            return {"ok": 0, "code": codes[name], "errmsg": f"no {name} for you"}
        if name in {"hello", "isMaster", "ismaster"}:
            return {"ok": 1, **HELLO, **hello}
        return {"ok": 1, **known.get(name, {})}

    class StandInConnection(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            """Answer messages of the wire protocol until the client goes."""
            while len(header := self.rfile.read(16)) == 16:
                length, request_id, _, opcode = struct.unpack("<iiii", header)
                body = self.rfile.read(length - 16)
                self.wfile.write(reply_to(request_id, opcode, answer(command_in(opcode, body))))

    class StandInServer(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client may go while it is answered."""

    with _running(StandInServer(("127.0.0.1", 0), StandInConnection)) as port:
        yield port


@contextmanager
def platform(
    status: int,
    code: str = "",
    *,
    ahead: float = 0,
    settings: Any = None,
    file: bytes | None = None,
    automation: str = "",
    **said: Any,
) -> Iterator[tuple[str, list[bytes]]]:
    """A platform that answers reports so, its clock `ahead` seconds; its URL, and the bodies it was sent.

    `said` is in its answers next to the code. It gives these settings; None for an older platform. `file` is
    the agent that it serves. `automation` is the code of its answer to requests for a machine's part.
    """
    bodies: list[bytes] = []

    class StandInRequest(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """A challenge first."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append(body)
            self._answer(status, {"errorCode": code, "detail": "As told", **said})

        def do_GET(self) -> None:
            """The agent, or the settings."""
            if file is not None and self.path == "/agents/v1.0/opsapi-agent.pyz":
                self.send_response_only(200)
                self.send_header("Content-Length", str(len(file)))
                self.end_headers()
                self.wfile.write(file)
                return
            if automation and "/automation?" in self.path:
                self._answer(403, {"errorCode": automation, "detail": "Not for agent1"})
                return
            found = (404, {"errorCode": "RESOURCE_NOT_FOUND"}) if settings is None else (200, settings)
            self._answer(*found)

        def _answer(self, status: int, said: Any) -> None:
            answered = status if "Authorization" in self.headers else 401
            document = json.dumps(said).encode()
            self.send_response_only(answered)
            if answered == 401:
                self.send_header("WWW-Authenticate", CHALLENGE)
            self.send_header("Date", formatdate(time.time() + ahead, usegmt=True))
            self.send_header("Content-Length", str(len(document)))
            self.end_headers()
            self.wfile.write(document)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with _running(http.server.ThreadingHTTPServer(("127.0.0.1", 0), StandInRequest)) as port:
        yield f"http://127.0.0.1:{port}", bodies


@contextmanager
def _running(server: socketserver.TCPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    with server:
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def command_in(opcode: int, body: bytes) -> Command:
    """The command of a message of the wire protocol, given without its header."""
    if opcode == _OP_MSG:  # flags, then a section of kind 0: the command
        return bson.decode(body[5 : 5 + struct.unpack_from("<i", body, 5)[0]])
    start = body.index(b"\0", 4) + 9  # flags, name of the collection, how many to skip and to return
    return bson.decode(body[start : start + struct.unpack_from("<i", body, start)[0]])


def reply_to(request_id: int, opcode: int, document: Mapping[str, Any]) -> bytes:
    """The message that answers this one with a document."""
    octets = bson.encode(document)
    if opcode == _OP_QUERY:
        body, code = struct.pack("<iqii", 0, 0, 0, 1) + octets, _OP_REPLY
    else:
        body, code = struct.pack("<iB", 0, 0) + octets, _OP_MSG
    return struct.pack("<iiii", 16 + len(body), 1, request_id, code) + body
