"""A name server for tests, which this process asks in place of the machine's."""

import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import dns.message
import dns.rcode
import dns.resolver
import dns.rrset

Records = Mapping[tuple[str, str], str]
"""(Name, type such as SRV) → the data of the record, as in a zone file."""


@contextmanager
def name_server(records: Records) -> Iterator[None]:
    """While it lasts, the names in these records are looked up there, over the network."""

    class Question(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            """Answer one."""
            octets, answers = self.request
            answers.sendto(_answer(octets, records), self.client_address)

    resolver = dns.resolver.Resolver(configure=False)
    system = socket.getaddrinfo

    def look_up(host: str, *arguments: Any, **named: Any) -> Any:
        address = resolver.resolve(host, "A")[0].to_text() if (host, "A") in records else host
        return system(address, *arguments, **named)

    with socketserver.UDPServer(("127.0.0.1", 0), Question) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        resolver.nameservers, resolver.port = ["127.0.0.1"], server.server_address[1]
        try:
            with patch("dns.resolver.default_resolver", resolver), patch("socket.getaddrinfo", look_up):
                yield
        finally:
            server.shutdown()
            thread.join()


def _answer(octets: bytes, records: Records) -> bytes:
    question = dns.message.from_wire(octets)
    answer = dns.message.make_response(question)
    (asked,) = question.question
    name, kind = asked.name.to_text(omit_final_dot=True), asked.rdtype.name
    if data := records.get((name, kind)):
        answer.answer.append(dns.rrset.from_text(asked.name, 60, asked.rdclass, asked.rdtype, data))
    elif name not in {known for known, _ in records}:
        answer.set_rcode(dns.rcode.NXDOMAIN)
    return answer.to_wire()
