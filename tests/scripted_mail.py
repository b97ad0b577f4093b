"""A mail server that follows a script: for each stage, it gives the reply of the test, or no reply."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import BinaryIO

from pytest_django import Settings

from opsapi.outbound.errors import Stage


class NoReply(Enum):
    """Instead of a reply."""

    CLOSE = "close the connection"
    WAIT = "wait until the test releases the server"


Reply = bytes | NoReply
_REPLIES: Mapping[Stage, Reply] = {
    Stage.GREETING: b"220 mail.example ESMTP\r\n",
    Stage.EHLO: b"250-mail.example\r\n250-SIZE 10000000\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN\r\n",
    Stage.STARTTLS: b"220 go ahead\r\n",
    Stage.TLS: b"not TLS\r\n",
    Stage.AUTH: b"235 welcome\r\n",
    Stage.MAIL: b"250 sender\r\n",
    Stage.RCPT: b"250 recipient\r\n",
    Stage.DATA: b"354 go ahead\r\n",
    Stage.END: b"250 queued\r\n",
}
_VERBS: Mapping[bytes, Stage] = {
    b"EHLO": Stage.EHLO,
    b"HELO": Stage.EHLO,
    b"STARTTLS": Stage.STARTTLS,
    b"AUTH": Stage.AUTH,
    b"MAIL": Stage.MAIL,
    b"RCPT": Stage.RCPT,
    b"DATA": Stage.DATA,
}


class ScriptedMailServer:
    """Listens on 127.0.0.1. `mails` are the contents that were sent with their final dot."""

    def __init__(
        self,
        script: Mapping[Stage, Reply] | None = None,
        *,
        context: ssl.SSLContext | None = None,
        is_implicit: bool = False,
    ) -> None:
        """With a context it offers STARTTLS, or begins with TLS if that `is_implicit`.

        `script` replaces the replies of some stages.
        """
        self.script = {**_REPLIES, **(script or {})}
        self.commands: list[bytes] = []
        self.mails: list[bytes] = []
        self.released = threading.Event()
        self.waiting = threading.Semaphore(0)
        """Released once for each connection that waits."""
        self._context = context
        self._is_implicit = is_implicit
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])

    @contextlib.contextmanager
    def running(self) -> Iterator["ScriptedMailServer"]:
        """Listen until the block ends."""
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield self
        finally:
            self.released.set()
            self._listener.close()

    def release_who_waits(self) -> None:
        """Answer as soon as a client waits."""

        def release() -> None:
            self.waiting.acquire()
            self.released.set()

        threading.Thread(target=release, daemon=True).start()

    def named_by(self, settings: Settings) -> None:
        """Let the settings name this server."""
        settings.EMAIL_BACKEND = "opsapi.outbound.mail.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", self.port
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.DEFAULT_FROM_EMAIL = "Ops <ops@platform.example>"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        # The client can close the connection early.
        with contextlib.suppress(OSError, ValueError), sock:
            self._talk(sock)

    def _talk(self, sock: socket.socket) -> None:
        if self._context and self._is_implicit:
            sock = self._context.wrap_socket(sock, server_side=True)
        if not self._reply(sock, Stage.GREETING):
            return
        lines = sock.makefile("rb")
        while line := lines.readline():
            self.commands.append(line.rstrip(b"\r\n"))
            stage = _VERBS.get(line.split()[0].upper() if line.split() else b"")
            if stage is None:
                sock.sendall(b"221 bye\r\n" if line.upper().startswith(b"QUIT") else b"500 what\r\n")
                continue
            if not self._reply(sock, stage):
                return
            reply = self.script[stage]
            if stage is Stage.STARTTLS and reply == _REPLIES[stage]:
                if self._context is None:
                    self._reply(sock, Stage.TLS)
                    return
                sock = self._context.wrap_socket(sock, server_side=True)
                lines = sock.makefile("rb")
            is_content_next = reply is NoReply.WAIT or (isinstance(reply, bytes) and reply.startswith(b"354"))
            if stage is Stage.DATA and is_content_next and not self._take(sock, lines):
                return

    def _take(self, sock: socket.socket, lines: BinaryIO) -> bool:
        """Read a mail up to its final dot, and return whether the conversation goes on."""
        content = []
        while (line := lines.readline()) not in {b".\r\n", b""}:
            content.append(line)
        if not line:
            return False
        self.mails.append(b"".join(content))
        return self._reply(sock, Stage.END)

    def _reply(self, sock: socket.socket, stage: Stage) -> bool:
        """NoReply as the script says, and return whether the conversation goes on."""
        reply = self.script[stage]
        if reply is NoReply.CLOSE:
            return False
        if reply is NoReply.WAIT:
            self.waiting.release()
            self.released.wait()
            reply = _REPLIES[stage]
        assert isinstance(reply, bytes)
        sock.sendall(reply)
        return True
