"""How secrets look on the way out (contract 2.1, decisions 5 "redaction"). Pure."""

from urllib.parse import urlsplit

MASK = "******"
_SHOWN = 4
_SHORT = 8


def redact_token(value: str) -> str:
    """A key or token: `******<last4>`; up to 8 characters nothing of it."""
    return MASK + value[-_SHOWN:] if len(value) > _SHORT else MASK


def redact_secret(value: str) -> str:  # noqa: ARG001 - the same shape as its siblings, so a table can name them
    """A password or webhook secret: nothing of it."""
    return MASK


def redact_url(value: str) -> str:
    """A URL that carries a credential: scheme and host, then `/******` and the last 4 of the path."""
    parts = urlsplit(value)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}/{MASK}{parts.path.strip('/')[-_SHOWN:]}"
