"""`--check`: tries each step of a report and says whether it works or what to do.

Writes nothing to the databases or the platform; in the spool, only an unnamed file that disappears
immediately.
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

from automation.agent.backups import BackupMarkers
from automation.agent.central import PATIENCE, PLATFORM, WITHHELD, CentralSource, merged
from automation.agent.client import (
    NoChallenge,
    PlatformAnswer,
    Unreachable,
    client_of,
    clock_words,
    tls_fault,
    trusting,
)
from automation.agent.engine import CONNECT_SECONDS, CheckStep, connection_steps
from automation.agent.postgresql import MISSING
from automation.agent.program import running_program
from automation.agent.sender import check_owner
from automation.agent.settings import FIELDS, PREFIX, Settings, SettingsError
from automation.agent.update import why_not

MOST_SKEW = timedelta(minutes=5)
"""Maximum clock difference between this machine and the platform."""

_NO_REPORT = b"{}"
_OTHER_MACHINE = "HOSTNAME_NOT_OF_KEY"
_OTHERS_WRITE = 0o002


def check(read: Callable[[], Settings], config: Path | None, write: Callable[[str], object]) -> bool:
    """Try every step; `write` gets a line for each. Returns whether all steps work.

    `read` reads the settings from `config`, or from the environment only.
    """
    source = f"settings: {config or 'the environment'}"
    try:
        settings = read()
    except SettingsError as error:
        for fault in error.faults:
            write(str(CheckStep(source, fault)))
        return False
    write(str(CheckStep(source)))
    works = True
    central = CentralSource(client_of(settings, PATIENCE), settings)
    for step in _steps(settings, central):
        # No step prints the private key. If one did, the key would be on a terminal or in a request for help.
        write(str(step).replace(settings.private_key, "***"))
        works = works and not step.fault
    return works


def _steps(own: Settings, central: CentralSource) -> Iterator[CheckStep]:
    central.look()
    settings = merged(own, central.current)
    yield from _central_steps(settings, central)
    yield from _mongodb_steps(settings.mongodb)
    yield from _postgresql_steps(settings.postgresql, settings.hostname)
    yield from BackupMarkers(settings.backup_markers).steps()
    yield from _platform_steps(settings)
    if settings.labels:
        given = " ".join(f"{name}={value}" for name, value in settings.labels.items())
        yield CheckStep(f"labels of all hosts: {given}")
    if settings.automation:
        yield from map(_automation_step, settings.automation_dirs)
    yield _spool_step(settings.spool_dir)


def _central_steps(settings: Settings, central: CentralSource) -> Iterator[CheckStep]:
    """Where each setting comes from, and the faults of the platform's settings."""
    names: dict[str, list[str]] = {}
    for name, setting in FIELDS.items():
        names.setdefault(settings.sources.get(setting, "the default"), []).append(name)
    for source, variables in names.items():
        yield CheckStep(f"settings from {source}: {', '.join(variables)}")
    for fault in central.current.faults:
        yield CheckStep("settings of the platform", fault)
    if central.current.withheld:
        yield CheckStep(f"settings of the platform: {WITHHELD}")
    if offer := central.current.update:
        obstacle = why_not(settings, running_program(()))
        yield CheckStep(f"version {offer.version} of the platform: {obstacle or 'the agent can take it'}")
    if central.failure and PLATFORM in settings.sources.values():
        yield CheckStep(f"settings of the platform: as they were stored, because {central.failure}")
    # If the platform does not answer, a later step says why.
    is_idle = not settings.mongodb and not settings.postgresql and not settings.automation
    if is_idle and central.is_reached:
        todo = f"set {PREFIX}MONGODB or {PREFIX}POSTGRESQL, or write the settings in the platform"
        why = f"{central.failure}: " if central.failure else ""
        yield CheckStep("databases", f"{why}there is nothing to watch: {todo}")


def _mongodb_steps(connection_strings: Sequence[str]) -> Iterator[CheckStep]:
    """Imported on demand: pymongo takes much memory."""
    if connection_strings:
        from automation.agent.mongodb.check import mongodb_steps  # noqa: PLC0415

        yield from mongodb_steps(connection_strings)


def _postgresql_steps(uris: Sequence[str], hostname: str) -> Iterator[CheckStep]:
    """Imported on demand: it needs libpq, which the single-file agent does not contain."""
    if not uris:
        return
    try:
        from automation.agent.postgresql.check import postgresql_steps  # noqa: PLC0415
    except ImportError:
        yield CheckStep(f"{PREFIX}POSTGRESQL", MISSING)
        return
    yield from postgresql_steps(uris, hostname)


# --- the platform ---------------------------------------------------------------------------------


def _platform_steps(settings: Settings) -> Iterator[CheckStep]:
    parts = urlsplit(settings.url)
    hostname, is_tls = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    if _proxied(parts.scheme, hostname):
        yield CheckStep(f"platform: {settings.url} through the proxy of the environment variables")
    else:
        if not (yield from connection_steps("platform", hostname, port)):
            return
        tls = _tls_step(hostname, port) if is_tls else CheckStep("platform: no TLS (http:// URL)")
        yield tls
        if tls.fault:
            return
    yield from _answer_steps(settings)


def _proxied(scheme: str, hostname: str) -> bool:
    return scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(hostname)


def _tls_step(hostname: str, port: int) -> CheckStep:
    tried = f"platform: TLS with {hostname}"
    try:
        plain = socket.create_connection((hostname, port), timeout=CONNECT_SECONDS)
        with plain, trusting().wrap_socket(plain, server_hostname=hostname) as secure:
            return CheckStep(f"{tried} ({secure.version()})")
    except ssl.SSLCertVerificationError as error:
        todo = "if you use a private CA, set SSL_CERT_FILE to its certificate file"
        return CheckStep(tried, f"the certificate is not valid ({tls_fault(error)}): {todo}")
    except OSError as error:
        reason = tls_fault(error) or error.strerror or type(error).__name__
        return CheckStep(
            tried, f"the handshake fails ({reason}): check that {PREFIX}URL names a port with TLS"
        )


def _answer_steps(settings: Settings) -> Iterator[CheckStep]:
    """Checks key and role with an empty report, which the platform rejects after it has accepted both."""
    try:
        answer = client_of(settings).report(_NO_REPORT, uuid.uuid4().hex)
    except (Unreachable, NoChallenge) as error:
        todo = f"check that {PREFIX}URL is the address of the platform, and check the proxies"
        yield CheckStep("platform: answers", f"{error}: {todo}")
        return
    yield CheckStep("platform: answers")
    key = f"platform: key {settings.public_key}"
    if answer.status == 401:
        todo = f"check {PREFIX}PUBLIC_KEY and {PREFIX}PRIVATE_KEY, or create a key for the agent"
        yield CheckStep(key, f"the platform rejects the key ({answer.code or answer.status}): {todo}")
    else:
        yield CheckStep(key)
        role_fault = _role_fault(answer)
        yield CheckStep(f"platform: role in project {settings.group_id}", role_fault)
        if not role_fault:
            yield from _machine_steps(settings)
    if answer.date is not None:
        yield _clock_step(answer.date)


def _machine_steps(settings: Settings) -> Iterator[CheckStep]:
    """Whether the key is for another machine. With this ETag, the platform sends and records nothing."""
    try:
        answer = client_of(settings).automation(settings.hostname, "*")
    except (Unreachable, NoChallenge):
        return  # A step before says whether the platform answers.
    if answer.code == _OTHER_MACHINE:
        todo = f"You can also set {PREFIX}HOSTNAME."
        yield CheckStep(f"platform: key for machine {settings.hostname}", f"{answer.detail} {todo}")


def _role_fault(answer: PlatformAnswer) -> str:
    """Why the key cannot report; empty if it can."""
    if answer.status == 400:
        return ""
    todo = {
        "IP_ADDRESS_NOT_ON_ACCESS_LIST": "add the address of this machine to the access list of the key",
        "GROUP_NOT_FOUND": f"check {PREFIX}GROUP_ID",
        "RATE_LIMITED": "try again in a minute",
    }.get(answer.code, "give the key the role GROUP_AGENT in the project" if answer.status == 403 else "")
    return f"{answer.detail.rstrip('.')}{': ' if todo else ''}{todo}"


def _clock_step(date: datetime) -> CheckStep:
    if abs(datetime.now(timezone.utc) - date) <= MOST_SKEW:
        return CheckStep("platform: clocks agree")
    fault = f"the clock of this machine is {clock_words(date)}: correct it, for example with NTP"
    return CheckStep("platform: clocks", fault)


# --- the directories ------------------------------------------------------------------------------


def _automation_step(directory: Path) -> CheckStep:
    """Whether servers can be started below the directory. It must exist: the operator decides who owns it."""
    tried = f"automation: {directory}"
    if not directory.is_dir():
        return CheckStep(tried, "there is no such directory: create it for the user of the agent")
    if not os.access(directory, os.W_OK | os.X_OK):
        return CheckStep(tried, "not writable: make it writable for the user of the agent")
    if directory.stat().st_mode & _OTHERS_WRITE:
        return CheckStep(tried, f"every user can write it: chmod o-w {directory}")
    return CheckStep(tried)


# --- the spool ------------------------------------------------------------------------------------


def _spool_step(directory: Path) -> CheckStep:
    """Whether reports can be stored in the spool; does not create a missing directory."""
    tried = f"spool: {directory}"
    there = directory
    while not there.exists() and there != there.parent:
        there = there.parent
    todo = f"make it writable for this user, or set {PREFIX}SPOOL_DIR to another directory"
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return CheckStep(tried, f"{there} is not writable: {todo}")
    if there != directory:
        return CheckStep(f"{tried} will be created")
    try:
        check_owner(directory)
    except OSError as error:
        return CheckStep(tried, f"not usable: {error}")
    try:
        with contextlib.closing(tempfile.TemporaryFile(dir=directory)) as file:
            file.write(_NO_REPORT)
    except OSError as error:
        return CheckStep(tried, f"not writable ({error.strerror}): {todo}")
    return CheckStep(tried)
