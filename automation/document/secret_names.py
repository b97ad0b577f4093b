"""Decides which names in the automation document hold a secret. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_LONGEST_REMEMBERED = 64  # Maximum characters of a name.

_SECRET: Final = re.compile(r"pass|pwd|secret|token|credential|creds")
_KEY: Final = re.compile(r"(?:private|access|api)key")
_FILES: Final = ("file", "files", "path", "paths")
"""Endings of names such as keyFile, which hold the place of a key, not the key."""
_KEY_BELOW_AUTH: Final = re.compile(r"(?:new)?keys?$|keyfile")
_SEPARATORS: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the names above a value reveal about it."""

    auth: bool = False
    secret: bool = False

    def below(self, name: str) -> "Surroundings":
        """The context of the value with that name."""
        return _remembered(self, name) if len(name) <= _LONGEST_REMEMBERED else _below(self, name)


def _below(around: Surroundings, name: str) -> Surroundings:
    plain = _SEPARATORS.sub("", name).casefold()
    is_secret = (
        _SECRET.search(plain)
        or (_KEY.search(plain) and not plain.endswith(_FILES))
        or (around.auth and _KEY_BELOW_AUTH.match(plain))
    )
    return Surroundings(auth=around.auth or plain == "auth", secret=around.secret or bool(is_secret))


_remembered = lru_cache(maxsize=4096)(_below)
