"""Reads and checks settings from the environment or `.env`.

An invalid value raises `ImproperlyConfigured` with one line that names the setting, the fault and the allowed
values. `READ` lists all settings, `.env.example` explains them, and docs/reference/settings.md is generated
from both.
"""

import ipaddress
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from opsapi.outgoing_proxy import OutgoingProxy, Unproxied
from opsapi.secret_files import existing_secret

SHORTEST_KEY = 32

_env = environ.Env()
_OF_URL = re.compile(r"[A-Za-z0-9._~:/\[\]@!$&'()*+,;=%-]+")


@dataclass(frozen=True, slots=True)
class Setting:
    """A declared setting: its default as written by operators, and its allowed values in words."""

    name: str
    default: str
    allowed: str


READ: dict[str, Setting] = {}
"""All declared settings, by name."""


def declare(name: str, default: str, allowed: str) -> str:
    """Declare a setting, also one that a library reads. Returns its name."""
    READ[name] = Setting(name, default, allowed)
    return name


def lines_of(path: Path) -> None:
    """Load the file in OPSAPI_ENV_FILE, otherwise this file. Environment variables win."""
    name = declare("OPSAPI_ENV_FILE", path.name, "path of a file; only in the environment")
    _env.read_env(_env.str(name, default=str(path)))


def text(name: str, default: str = "", *, allowed: str = "text") -> str:
    """Any text. The code that uses it does further checks, described in `allowed`."""
    return str(_env.str(declare(name, default, allowed), default=default))


def words(name: str, default: Sequence[str] = (), *, allowed: str) -> list[str]:
    """A comma-separated list."""
    declare(name, ",".join(default), f"{allowed}, separated by commas")
    return list(_env.list(name, default=list(default)))


def keys(name: str, file: Path) -> list[str]:
    """Encryption keys, newest first: from the setting, otherwise from the file, otherwise none."""
    named = words(name, allowed=f"keys, the first of at least {SHORTEST_KEY} characters")
    in_file = None if named else existing_secret(file)
    key_texts = named or ([] if in_file is None else [in_file])
    if key_texts and len(key_texts[0]) < SHORTEST_KEY:
        source = f"{name}: the first key" if named else f"{file}: the key"
        raise ImproperlyConfigured(
            f"{source} has {len(key_texts[0])} characters, at least {SHORTEST_KEY} are needed"
        )
    return key_texts


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    """One of a closed set."""
    value = text(name, default, allowed=_listed(allowed))
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}: {value!r} is not one of {', '.join(allowed)}")
    return value


def number(name: str, default: int, minimum: int, maximum: int) -> int:
    """A whole number within inclusive bounds."""
    value = text(name, str(default), allowed=f"whole number, {minimum} to {maximum}")
    if not (value.isascii() and value.isdigit() and minimum <= int(value) <= maximum):
        raise ImproperlyConfigured(f"{name}: {value!r} is not a whole number from {minimum} to {maximum}")
    return int(value)


def optional_number(name: str, minimum: int, maximum: int) -> int | None:
    """A whole number within inclusive bounds; None if it is not set."""
    value = text(name, allowed=f"whole number, {minimum} to {maximum}")
    if value and not (value.isascii() and value.isdigit() and minimum <= int(value) <= maximum):
        raise ImproperlyConfigured(f"{name}: {value!r} is not a whole number from {minimum} to {maximum}")
    return int(value) if value else None


def flag(name: str, default: bool) -> bool:
    """`true` or `false`, case-insensitive."""
    value = text(name, str(default).lower(), allowed=_listed(("true", "false"))).lower()
    if value not in {"true", "false"}:
        raise ImproperlyConfigured(f"{name}: {value!r} is not true or false")
    return value == "true"


def networks(name: str, default: str = "") -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Networks in CIDR notation, comma-separated."""
    value = text(name, default, allowed="networks in CIDR form, separated by commas")
    parts = [part.strip() for part in value.split(",") if part.strip()]
    try:
        return [ipaddress.ip_network(part) for part in parts]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None


def bind(name: str, default: str) -> tuple[str, int]:
    """An address and a port."""
    value = text(name, default, allowed="address:port")
    host, separator, port = value.rpartition(":")
    if not separator or not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ImproperlyConfigured(f"{name}: {value!r} is not <address>:<port>")
    return host.strip("[]"), int(port)


def url(name: str, default: str = "") -> str:
    """An http or https base URL without a trailing slash; empty if not needed."""
    value = text(name, default, allowed="http or https URL").rstrip("/")
    if value and (fault := _url_fault(value)):
        raise ImproperlyConfigured(f"{name}: {fault}")
    return value


def outgoing_proxy(name: str) -> OutgoingProxy | None:
    """The URL of an HTTP proxy, which can contain a log-in; None if it is empty."""
    value = text(name, allowed="http or https URL, which can contain `user:password@`").strip()
    try:
        return OutgoingProxy.of_url(value) if value else None
    except ValueError as fault:
        raise ImproperlyConfigured(f"{name}: {fault}") from None


def unproxied(name: str) -> Unproxied:
    """Comma-separated receivers that need no proxy."""
    given = words(name, allowed="host names, domains and networks in CIDR form")
    try:
        return Unproxied.of_words(word.strip() for word in given if word.strip())
    except ValueError as fault:
        raise ImproperlyConfigured(f"{name}: {fault}") from None


def authorities(name: str, base: Path) -> str:
    """The path of a CA file, relative to `base`; empty for none."""
    value = text(name, allowed="path of a file (PEM)")
    if not value:
        return ""
    path = str(base / value)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise ImproperlyConfigured(f"{name}: {value!r} contains no certificate in PEM format") from None
    except OSError as error:
        raise ImproperlyConfigured(f"{name}: cannot read {value!r}: {error.strerror}") from None
    return path


def _url_fault(value: str) -> str | None:
    """Why the URL cannot be a base URL, as a clause; does not show a password."""
    try:
        parts = urlsplit(value)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if is_whole and "@" in parts.netloc:
        return "must not contain a username or password"
    if not is_whole or not value.startswith(("http://", "https://")):
        return f"{value!r} is not an http or https URL"
    if "?" in value or "#" in value:
        return f"{value!r} must not have a query or a fragment"
    if not _OF_URL.fullmatch(value):
        return f"{value!r} must not contain spaces or other characters that need escaping"
    return None


def _listed(values: Sequence[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


COMMIT = re.compile(r"[0-9a-f]{40}")
UNKNOWN = "0" * 40


def build_commit(configured: str, root: Path) -> str:
    """Return 40 hex digits: `configured`, otherwise the commit checked out at `root`, otherwise 40 zeros.

    Git is not run: it may be absent, and it refuses a checkout of another owner.

    Raises: ImproperlyConfigured: `configured` is not 40 hex digits.
    """
    if configured:
        if not COMMIT.fullmatch(configured.lower()):
            raise ImproperlyConfigured(f"OPSAPI_BUILD: {configured!r} is not 40 hex digits")
        return configured.lower()
    try:
        return _checked_out(_git_directory(root / ".git"))
    except (OSError, UnicodeDecodeError):
        return UNKNOWN  # There is no checkout, or it is not readable.


def _git_directory(dot_git: Path) -> Path:
    """Return `.git`, or the directory in the file `.git` of a worktree (gitrepository-layout(5))."""
    if dot_git.is_dir():
        return dot_git
    return (dot_git.parent / dot_git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()


def _checked_out(git: Path) -> str:
    head = (git / "HEAD").read_text().strip()
    reference = head.removeprefix("ref:").strip()
    commit = head if reference == head else _resolve(git, reference)
    return commit if COMMIT.fullmatch(commit) else UNKNOWN


def _resolve(git: Path, reference: str) -> str:
    """Return the commit of a reference, from its file or packed, also of the main checkout of a worktree."""
    pointer = git / "commondir"
    common = (git / pointer.read_text().strip()).resolve() if pointer.is_file() else git
    for directory in (git, common):
        if (directory / reference).is_file():
            return (directory / reference).read_text().strip()
    return _packed(common / "packed-refs", reference)


def _packed(packed: Path, reference: str) -> str:
    for line in packed.read_text(encoding="utf-8").splitlines():
        commit, _, name = line.partition(" ")
        if name == reference:
            return commit
    return ""
