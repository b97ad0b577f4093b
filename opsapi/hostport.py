"""How a host and its port are written, everywhere. Pure."""

from __future__ import annotations


def host_and_port(hostname: str, port: int | None = None) -> str:
    """`hostname:port`, an IPv6 address in brackets (RFC 3986); the bare name where there is no port."""
    if port is None:
        return hostname
    return f"[{hostname}]:{port}" if ":" in hostname else f"{hostname}:{port}"
