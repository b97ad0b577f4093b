"""Names that resolve to what a test says."""

import socket
from collections.abc import Mapping, Sequence

import pytest


def resolve_names(monkeypatch: pytest.MonkeyPatch, names: Mapping[str, Sequence[str]]) -> list[str]:
    """Let each name resolve to its addresses, in that order; returns the names asked for, as they come."""
    return answer_names(monkeypatch, {name: [addresses] for name, addresses in names.items()})


def answer_names(monkeypatch: pytest.MonkeyPatch, names: Mapping[str, Sequence[Sequence[str]]]) -> list[str]:
    """The same for names whose addresses change: one answer after another, the last one for good."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *args: int, **options: int) -> list[object]:
        if host not in names:
            return list(real(host, port, *args, **options))
        answer = names[host][min(asked.count(host), len(names[host]) - 1)]
        asked.append(host)
        found = [real(address, port, *args, **options) for address in answer]
        return [entry for entries in found for entry in entries]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked
