"""The notation of host and port. Pure."""

from __future__ import annotations


def host_and_port(hostname: str, port: int | None = None) -> str:
    """`hostname:port`, with an IPv6 address in brackets (RFC 3986); only the name without a port."""
    if port is None:
        return hostname
    return f"[{hostname}]:{port}" if ":" in hostname else f"{hostname}:{port}"
