"""Usernames: comparison, forbidden characters, and names that look alike (RFC 8265, UTS 39). Pure."""

import hashlib
import re
import unicodedata
from functools import lru_cache
from pathlib import Path

LONGEST_SKELETON = 600
"""The maximum number of characters of a skeleton, so that it fits into an index of PostgreSQL."""

_CONFUSABLES = Path(__file__).with_name("confusables.txt")
# Controls, formats (zero width, bidi), surrogates, private and unassigned characters, all separators.
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Of other categories: what Unicode calls default-ignorable, and the empty Braille pattern.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def username_key(username: str) -> str:
    """Return the form in which usernames are unique: NFKC, case-folded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", username).casefold())


def username_digest(username: str) -> str:
    """Return 32 hex characters that replace a typed name in log-in counters and cookies."""
    return hashlib.sha256(username_key(username).encode()).hexdigest()[:32]


def character_fault(username: str) -> str | None:
    """Return why a character of the username is invisible; None if all characters are visible.

    RFC 8265 refuses symbols, too. They are allowed here, because they are visible.
    """
    if username != username.strip():
        return "it must not begin or end with a space"
    for char in username:
        if char != " " and (unicodedata.category(char) in _UNSEEN_CATEGORIES or _UNSEEN.match(char)):
            name = unicodedata.name(char, "no name")
            return f"it must not contain U+{ord(char):04X} ({name}), which is invisible or looks like a space"
    return None


def skeleton(text: str) -> str:
    """Return a text that names share if they look alike (UTS 39, 4), case-insensitive.

    Characters are replaced before and after case folding: `aIi` looks like `ali` as typed, `M` looks like
    `rn` only as `m`.
    """
    seen = _prototypes(username_key(_prototypes(text)))
    return " ".join(seen.split())[:LONGEST_SKELETON]


def _prototypes(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text).translate(_confusables())
    return unicodedata.normalize("NFD", decomposed)


@lru_cache(maxsize=1)
def _confusables() -> dict[int, str]:
    """Return the replacement of each character that looks like other characters."""
    lines = _CONFUSABLES.read_text(encoding="utf-8").splitlines()
    pairs = (pair.split("=") for line in lines if not line.startswith("#") for pair in line.split())
    return {int(char, 16): "".join(chr(int(point, 16)) for point in look.split("+")) for char, look in pairs}
