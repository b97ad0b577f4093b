"""Redacts secrets in responses and messages. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, urlsplit

MASK = "******"
_SHORTEST_SECRET = 4
"""Shorter secrets are not looked for in a text: they are parts of words."""
_SHORTEST_CUT = 8
"""A secret that the end of a text cuts off is recognized by at least this number of its characters."""
_SHOWN = 4
_SHORT = 8
# The second alternative is a URL without its scheme: it does not begin within a path.
_AUTHORITY: Final = re.compile(r"(://|(?<![\w/.:~-])//)")
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]+")
_WORD = re.compile(r"\S+")
# Everything before the last @ of the authority. If the authority is neither `host` nor `host:port`, the
# password contains a slash, a question mark or a #: then everything before the last @.
_USER_INFO = re.compile(r"(?:[^/?#]*|[^/?#@:\[]*:(?!\d+(?:[/?#,]|$)).*)@")
_PARAMETER = re.compile(r"\?[^?=/]+=")


def redact_token(value: str) -> str:
    """Redact a key or token: `******<last4>`; up to 8 characters, only `******`."""
    return MASK + value[-_SHOWN:] if len(value) > _SHORT else MASK


def redact_secret(value: str) -> str:  # noqa: ARG001 - the same shape as its siblings, so a table can name them
    """Redact a password or webhook secret completely."""
    return MASK


def redact_url(value: str) -> str:
    """Redact a URL that contains a credential: scheme and host, then `/******` and the last 4 of the path."""
    parts = urlsplit(value)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}/{MASK}{parts.path.strip('/')[-_SHOWN:]}"


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return the text with `******` for the secrets, also if its end cuts one off. Shorten it afterwards.

    A secret is found as it is, escaped for a URL or for JSON, and with a space for each run of characters
    that are no printable ASCII.
    """
    forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
    for form in forms:
        text = re.sub(re.escape(form), MASK, text, flags=re.IGNORECASE)
    end = text.lower()
    cut = [
        length
        for form in forms
        for length in range(_SHORTEST_CUT, len(form))
        if end.endswith(form[:length].lower())
    ]
    return f"{text[: -max(cut)]}{MASK}" if cut else text


def _forms(secret: str) -> Iterable[str]:
    escaped = (json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))
    forms = (secret, quote(secret, safe=""), _UNPRINTABLE.sub(" ", secret).strip(), *escaped)
    return [form for form in forms if len(form) >= _SHORTEST_SECRET]


def redact_urls(text: str) -> str:
    """Return the text with `******` for the user info and the query of every URL in it.

    A URL ends at white space. It can lack its scheme: `//host`, or a path with a query of `name=value`.
    """
    return _WORD.sub(lambda word: _redact_word(word[0]), text) if "/" in text else text


def holds_redacted_url(text: str) -> bool:
    """Whether `******` replaces the user info or the query of a URL in the text."""
    redacted_user = f"//{MASK}@"
    return MASK in text and any(
        redacted_user in word or ("/" in word and word.endswith(f"?{MASK}")) for word in text.split()
    )


def _redact_word(word: str) -> str:
    parts = _AUTHORITY.split(word)
    word = "".join([parts[0], *(_redact_user_info(part) for part in parts[1:])])
    path, mark, query = word.partition("?")
    has_query = query and (parts[1:] or ("/" in path and _PARAMETER.match(mark + query)))
    return f"{path}?{MASK}" if has_query else word


def _redact_user_info(part: str) -> str:
    match = _USER_INFO.match(part)
    return f"{MASK}@{part[match.end() :]}" if match else part
