"""Puts builds of the database on the machine: downloaded, unpacked, checked, and renamed into place.

A build is in a directory of its own below `options.downloadBase`. This directory appears by a single rename,
after the program in it has said its version. Until then, everything is in one private directory, which the
next try removes. So a build is there as a whole or not at all, whenever the machine stops. A lock admits one
agent at a time. A build is never deleted.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from automation.agent.automation.build_faults import BuildError, BuildFault, DownloadLimits, file_error
from automation.agent.automation.directories import real_place
from automation.agent.automation.fetch import fetch
from automation.agent.automation.unpack import PROGRAM, unpack
from automation.agent.faults import shown
from automation.agent.files import sync_directory
from automation.agent.settings import PREFIX

LOCK, UNFINISHED = ".opsapi-agent.lock", ".opsapi-agent.unfinished"
"""Names in the download directory: the lock, and the directory of a build that is not complete."""
ANSWER_SECONDS = 60.0
"""How long the program may take to say its version."""

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "ppc64le": "ppc64le"}
"""Names of the document, by the machine's own."""
_LONGEST_ANSWER = 65_536
_LONGEST_NAME = 60
_SHA256 = re.compile(r"[0-9a-f]{64}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_NUMBERS = re.compile(r"v?(\d+\.\d+\.\d+)(?![\d.])")
_VERSION = re.compile(r"^db version v(\S+)", re.MULTILINE)
_COMMIT = re.compile(r'"gitVersion": "([^"]*)"|^git version: (\S+)', re.MULTILINE)
_MODULES = re.compile(r'"modules": \[([^\]]*)\]|^modules: (.*)$', re.MULTILINE)


@dataclass(frozen=True)
class MachineKind:
    """The platform and the architecture of a machine, in the words of the document."""

    platform: str
    architecture: str


def this_kind() -> MachineKind:
    """The kind of this machine."""
    machine = platform.machine().lower()
    return MachineKind(sys.platform, _ARCHITECTURES.get(machine, machine))


@dataclass(frozen=True)
class Build:
    """A build of the document. `sha256` is of its archive, in hexadecimal; empty if the document has none."""

    version: str
    url: str
    commit: str
    modules: frozenset[str]
    sha256: str = ""

    @property
    def directory(self) -> str:
        """The name of its directory, which differs for builds of the same version with other contents."""
        identity = json.dumps([self.version, self.commit, sorted(self.modules)])
        name = _UNSAFE.sub("_", self.version)[:_LONGEST_NAME]
        return f"mongodb-{name}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"


def choose(
    version: str,
    entries: Iterable[Mapping[str, Any]],
    kind: MachineKind,
    running_modules: frozenset[str] | None = None,
) -> Build:
    """The build of a version for a machine; `entries` are its `builds` in the document.

    If several have different modules, it is the one with the modules of the server that runs, if known.

    Raises: BuildError: there is none, there are several, or it has wrong values.
    """
    fitting = [_build(version, entry) for entry in entries if _fits(entry, kind)]
    if not fitting:
        why = f"version {version} has no build for {kind.platform} on {kind.architecture}"
        raise BuildError(BuildFault.NO_BUILD, why)
    same = [build for build in fitting if build.modules == running_modules]
    choice = set(same or fitting)
    if len(choice) > 1:
        why = f"version {version} has {len(choice)} builds for {kind.platform} on {kind.architecture}"
        raise BuildError(BuildFault.SEVERAL_BUILDS, f"{why}: leave one")
    return choice.pop()


def _fits(entry: Mapping[str, Any], kind: MachineKind) -> bool:
    named = str(entry.get("platform")).lower(), entry.get("architecture")
    return named == (kind.platform, kind.architecture) and entry.get("bits") in (None, 64)


def _build(version: str, entry: Mapping[str, Any]) -> Build:
    url, commit, modules = entry.get("url"), entry.get("gitVersion"), entry.get("modules")
    sha256 = entry.get("sha256") or ""
    if not isinstance(url, str) or not isinstance(commit, str) or not commit:
        raise BuildError(BuildFault.INVALID_BUILD, f"a build of version {version} has no url or gitVersion")
    if not isinstance(modules, list) or not all(isinstance(module, str) for module in modules):
        raise BuildError(
            BuildFault.INVALID_BUILD, f"the modules of a build of version {version} are no texts"
        )
    if sha256 and not (isinstance(sha256, str) and _SHA256.fullmatch(sha256.lower())):
        raise BuildError(BuildFault.INVALID_BUILD, f"the sha256 of a build of version {version} is none")
    return Build(version, url, commit.lower(), _lower(modules), sha256.lower())


def _lower(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


class Builds:
    """The builds in a download directory. Thread-safe, also between agents."""

    def __init__(
        self,
        base: Path,
        allowed: Sequence[Path],
        *,
        limits: DownloadLimits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`base` is `options.downloadBase`; `allowed` are the directories that the operator allows."""
        self._base, self._allowed = base, allowed
        self._limits, self._monotonic = limits or DownloadLimits(), monotonic

    def find(self, build: Build) -> Path | None:
        """The directory of the build; None if it is not on the machine."""
        base = real_place(self._base, self._allowed)
        place = None if base is None else base / build.directory
        return place if place is not None and _is_program(place / PROGRAM) else None

    def ensure(self, build: Build) -> Path:
        """Put the build on the machine unless it is there, and return its directory, which has `bin/mongod`.

        The program must be the build of the document, also if it was there before.

        Raises: BuildError: the build is not there.
        """
        try:
            base = self._place()
            with _alone(base):
                _remove(base / UNFINISHED)
                place = base / build.directory
                if place.exists():
                    _check_program(place / PROGRAM, build)
                else:
                    self._make(build, base / UNFINISHED, place)
                return place
        except BuildError as error:
            raise BuildError(error.fault, f"version {build.version} is not there: {error}") from None
        except OSError as error:
            failure = file_error(error)
            raise BuildError(failure.fault, f"version {build.version} is not there: {failure}") from None

    def _place(self) -> Path:
        """The download directory, created if it is missing. Raises: BuildError: not allowed. OSError."""
        place = real_place(self._base, self._allowed)
        if place is None:
            why = f"the download directory {shown(self._base)} is not in a directory that the operator allows"
            raise BuildError(BuildFault.DIRECTORY, why)
        place.mkdir(mode=0o755, parents=True, exist_ok=True)
        return place

    def _make(self, build: Build, unfinished: Path, place: Path) -> None:
        """Download, unpack, check and rename. Raises: BuildError. OSError."""
        try:
            unfinished.mkdir(mode=0o700)
            archive = unfinished / "archive"
            sha256 = fetch(build.url, archive, self._limits, self._monotonic)
            if build.sha256 and sha256 != build.sha256:
                raise BuildError(
                    BuildFault.CHECKSUM, "the checksum of the archive is not that of the document"
                )
            content = unpack(archive, unfinished / "content", self._limits)
            _check_program(content / PROGRAM, build)
            content.rename(place)
            sync_directory(place.parent)
        finally:
            with suppress(OSError):  # The next try removes it.
                _remove(unfinished)


class DocumentBuilds:
    """The builds of a document for this machine, by the names of their versions."""

    def __init__(
        self, builds: Builds, entries: Mapping[str, Sequence[Mapping[str, Any]]], kind: MachineKind
    ) -> None:
        """`entries` are the `builds` of each version in `databaseVersions`."""
        self._builds, self._entries, self._kind = builds, entries, kind

    def present(self, versions: Iterable[str]) -> frozenset[str]:
        """The versions whose build is on the machine."""
        return frozenset(version for version in versions if self.find(version) is not None)

    def find(self, version: str) -> Path | None:
        """The directory of the build; None if it is not on the machine, or the document has no such build."""
        try:
            return self._builds.find(self._build(version))
        except BuildError:  # `ensure` says why.
            return None

    def ensure(self, version: str) -> Path:
        """Put the build on the machine unless it is there, and return its directory. Raises: BuildError."""
        return self._builds.ensure(self._build(version))

    def _build(self, version: str) -> Build:
        return choose(version, self._entries.get(version, ()), self._kind)


@contextmanager
def _alone(base: Path) -> Iterator[None]:
    """Hold the lock of the directory. Raises: BuildError: another agent holds it. OSError."""
    # The descriptor is closed in programs that the agent starts, so a server does not keep the lock.
    descriptor = os.open(base / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError(BuildFault.BUSY, "another agent downloads into this directory") from None
        yield
    finally:
        os.close(descriptor)


def _remove(unfinished: Path) -> None:
    """Remove what an interrupted try left. Raises: OSError."""
    if unfinished.is_symlink() or unfinished.is_file():
        unfinished.unlink()
    elif unfinished.exists():
        shutil.rmtree(unfinished)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _check_program(program: Path, build: Build) -> None:
    """Check that the program says the commit, the modules and the version of the build.

    Raises: BuildError: it does not.
    """
    answer = _answer(program)
    commit, modules, version = _COMMIT.search(answer), _MODULES.search(answer), _VERSION.search(answer)
    if commit is None or modules is None or version is None:
        raise BuildError(BuildFault.NOT_RUNNABLE, f"the program does not say its version: {shown(answer)}")
    said = (commit[1] or commit[2] or "").lower()
    if said != build.commit:
        why = f"the program says gitVersion {shown(said)}, and the document {shown(build.commit)}"
        raise BuildError(BuildFault.OTHER_COMMIT, why)
    names = _lower(re.findall(r"[\w-]+", modules[1] or modules[2] or "")) - {"none"}
    if names != build.modules:
        why = f"the program has the modules {sorted(names)}, and the document {sorted(build.modules)}"
        raise BuildError(BuildFault.OTHER_MODULES, why)
    numbers, wanted = _NUMBERS.match(version[1]), _NUMBERS.match(build.version)
    # The name of a version is free text. A plan reads its numbers.
    if wanted is not None and (numbers is None or numbers[1] != wanted[1]):
        raise BuildError(BuildFault.OTHER_VERSION, f"the program says that it is version {shown(version[1])}")


def _answer(program: Path) -> str:
    """The output of the program for `--version`. Raises: BuildError: it does not run, or not to its end."""
    # The program does not get the key of the agent.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    try:
        process = subprocess.Popen(  # noqa: S603 - the operator allows programs of this directory
            [str(program), "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise BuildError(BuildFault.NOT_RUNNABLE, f"the program does not start: {error.strerror}") from None
    timer = threading.Timer(ANSWER_SECONDS, _kill, [process])
    timer.daemon = True
    timer.start()
    with process:
        octets = b"" if process.stdout is None else process.stdout.read(_LONGEST_ANSWER)
        if len(octets) == _LONGEST_ANSWER:
            _kill(process)
        status = process.wait()
    timer.cancel()
    answer = octets.decode(errors="replace")
    if status != 0:
        why = f"the program ends with status {status}: {shown(answer)}"
        raise BuildError(BuildFault.NOT_RUNNABLE, why)
    return answer


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and its children, which could hold its output open."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
