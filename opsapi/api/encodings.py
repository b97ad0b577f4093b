"""Content codings that clients accept (RFC 9110, 12.5.3)."""

import re

# A weight of 0 refuses gzip.
_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|\Z))", re.IGNORECASE)


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether a client with this `Accept-Encoding` accepts gzip."""
    return _GZIP.search(accept_encoding) is not None
