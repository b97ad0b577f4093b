"""`--check`: tries each step on the way to a report, and says of each whether it works or what to do.

Nothing is written at the databases or the platform; in the spool, a file without a name that is gone at once.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import tempfile
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import urlsplit

from automation.agent.client import Answer, Client, Unreachable, clock_told
from automation.agent.digest import NoChallenge
from automation.agent.mongodb.check import mongodb_steps
from automation.agent.postgresql import MISSING
from automation.agent.settings import PREFIX, Settings, SettingsError
from automation.agent.spool import check_owner
from automation.agent.steps import CONNECT_SECONDS, Step, reach

MOST_SKEW = timedelta(minutes=5)
"""How far the clocks of this machine and of the platform may differ."""

_NO_REPORT = b"{}"


def check(read: Callable[[], Settings], config: Path | None, write: Callable[[str], object]) -> bool:
    """Try everything; `write` is given a line for each step. Returns whether all of it works.

    `read` reads the settings, from `config` or else from the environment alone.
    """
    source = f"settings: {config or 'the environment'}"
    try:
        settings = read()
    except SettingsError as error:
        for fault in error.faults:
            write(str(Step(source, fault)))
        return False
    write(str(Step(source)))
    works = True
    for step in _steps(settings):
        # No step writes it; were one to, it would stand in a terminal, or in a message that asks for help.
        write(str(step).replace(settings.private_key, "***"))
        works = works and not step.fault
    return works


def _steps(settings: Settings) -> Iterator[Step]:
    yield from mongodb_steps(settings.mongodb)
    yield from _postgresql_steps(settings.postgresql)
    yield from _platform_steps(settings)
    yield _spool_step(settings.spool_dir)


def _postgresql_steps(uris: Sequence[str]) -> Iterator[Step]:
    """Imported when it is wanted: it needs libpq, which the agent in one file does not bring."""
    if not uris:
        return
    try:
        from automation.agent.postgresql.check import postgresql_steps  # noqa: PLC0415
    except ImportError:
        yield Step(f"{PREFIX}POSTGRESQL", MISSING)
        return
    yield from postgresql_steps(uris)


# --- the platform ---------------------------------------------------------------------------------


def _platform_steps(settings: Settings) -> Iterator[Step]:
    parts = urlsplit(settings.url)
    hostname, is_tls = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    if _proxied(parts.scheme, hostname):
        yield Step(f"platform: {settings.url} is asked through the proxy that the environment names")
    else:
        if not (yield from reach("platform", hostname, port)):
            return
        tls = _tls_step(hostname, port) if is_tls else Step("platform: no TLS, the URL begins with http://")
        yield tls
        if tls.fault:
            return
    yield from _answer_steps(settings)


def _proxied(scheme: str, hostname: str) -> bool:
    return scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(hostname)


def _tls_step(hostname: str, port: int) -> Step:
    tried = f"platform: TLS with {hostname}"
    try:
        plain = socket.create_connection((hostname, port), timeout=CONNECT_SECONDS)
        with plain, ssl.create_default_context().wrap_socket(plain, server_hostname=hostname) as secure:
            return Step(f"{tried} ({secure.version()})")
    except ssl.SSLCertVerificationError as error:
        todo = "for an authority of your own set SSL_CERT_FILE to the file of its certificate"
        return Step(tried, f"its certificate is not accepted ({error.verify_message}): {todo}")
    except OSError as error:
        reason = getattr(error, "reason", None) or error.strerror or type(error).__name__
        return Step(tried, f"the handshake fails ({reason}): check that {PREFIX}URL names a port with TLS")


def _answer_steps(settings: Settings) -> Iterator[Step]:
    """Key and role, by a report without anything in it: it is refused once both are accepted."""
    client = Client(
        url=settings.url,
        group_id=settings.group_id,
        public_key=settings.public_key,
        private_key=settings.private_key,
    )
    try:
        answer = client.report(_NO_REPORT, uuid.uuid4().hex)
    except (Unreachable, NoChallenge) as error:
        todo = f"check that {PREFIX}URL is the platform's address, and its proxies"
        yield Step("platform: answers", f"{error}: {todo}")
        return
    yield Step("platform: answers")
    key = f"platform: key {settings.public_key}"
    if answer.status == 401:
        todo = f"check {PREFIX}PUBLIC_KEY and {PREFIX}PRIVATE_KEY, or make a key for the agent"
        yield Step(key, f"the platform does not accept it ({answer.code or answer.status}): {todo}")
    else:
        yield Step(key)
        yield Step(f"platform: role in project {settings.group_id}", _role_fault(answer))
    if answer.date is not None:
        yield _clock_step(answer.date)


def _role_fault(answer: Answer) -> str:
    """Why the key may not report; empty when it may."""
    if answer.status == 400:
        return ""
    todo = {
        "IP_ADDRESS_NOT_ON_ACCESS_LIST": "add this machine's address to the access list of the key",
        "GROUP_NOT_FOUND": f"check {PREFIX}GROUP_ID",
        "RATE_LIMITED": "try again in a minute",
    }.get(answer.code, "give the key the role GROUP_AGENT there" if answer.status == 403 else "")
    return f"{answer.detail.rstrip('.')}{': ' if todo else ''}{todo}"


def _clock_step(date: datetime) -> Step:
    if abs(datetime.now(timezone.utc) - date) <= MOST_SKEW:
        return Step("platform: clocks agree")
    fault = f"this machine's clock is {clock_told(date)}: set it, for instance by NTP"
    return Step("platform: clocks", fault)


# --- the spool ------------------------------------------------------------------------------------


def _spool_step(directory: Path) -> Step:
    """Whether reports can wait there; a directory that does not exist is not made."""
    tried = f"spool: {directory}"
    there = directory
    while not there.exists() and there != there.parent:
        there = there.parent
    todo = f"make it writable for this user, or name another directory in {PREFIX}SPOOL_DIR"
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Step(tried, f"{there} cannot be written: {todo}")
    if there != directory:
        return Step(f"{tried} can be made")
    try:
        check_owner(directory)
    except OSError as error:
        return Step(tried, f"the agent does not use it: {error}")
    try:
        with contextlib.closing(tempfile.TemporaryFile(dir=directory)) as file:
            file.write(_NO_REPORT)
    except OSError as error:
        return Step(tried, f"it cannot be written ({error.strerror}): {todo}")
    return Step(tried)
