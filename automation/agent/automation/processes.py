"""Server processes of this machine: whether they run, their start and their end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from automation.agent.settings import PREFIX
from automation.sections import items, section

LOCK = "mongod.lock"
"""The file in the directory of the data that names the process of the server."""
_SECRET = re.compile(r"(?i)passw|pwd|secret|token|credential|\bkeys?$|pem$|query")
_MOST_LINES, _LONGEST_TAIL = 12, 1500
_CHECK_SECONDS = 60.0
_JSON = (True, False)
"""Whether a JSON text escapes letters that are not ASCII."""
_MOST_LOOKS = 1000
"""How often `is_server` looks for a command line: a thread of the kernel never has one."""


def running_pid(data: Path) -> int | None:
    """The process that runs with this directory of data, as its lock file says; None if there is none.

    After a loss of power, the file can name another server, which has got the number of the earlier process.
    """
    lock = data / LOCK
    try:
        pid = int(lock.read_bytes().strip())
    except (OSError, ValueError):
        return None
    return pid if pid > 1 and is_server(pid) and _has_open(pid, lock) else None


def _has_open(pid: int, file: Path) -> bool:
    """Whether the process has this file open, by any path. If that is not known, it has.

    A server opens its lock file before it writes its number there, and closes it after it has removed it.
    """
    try:
        wanted = file.stat()
        with os.scandir(f"/proc/{pid}/fd") as links:
            return any(_leads_to(link, wanted) for link in links)
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:  # Such as a server of another user, or of another user namespace.
        return True


def _leads_to(link: os.DirEntry[str], file: os.stat_result) -> bool:
    """Whether a link of a process leads to this file. Raises: OSError: it is not known."""
    try:
        return os.path.samestat(link.stat(), file)
    except FileNotFoundError:  # Closed meanwhile.
        return False


def is_server(pid: int) -> bool:
    """Whether the process lives and is a server: another process can have the number of an earlier one."""
    with suppress(OSError):  # A child that has ended stays until its parent asks.
        os.waitpid(pid, os.WNOHANG)
    for _ in range(_MOST_LOOKS):
        try:
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, IndexError):
            return False
        if state in {b"Z", b"X"}:
            return False
        if words[0]:
            return Path(os.fsdecode(words[0])).name.startswith("mongo")
        time.sleep(0.001)  # The process is about to run its program: until then it has no command line.
    return False


def end(pid: int) -> None:
    """Ask the server to end cleanly. Raises: OSError."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def start(program: Path, config: Path, output: Path) -> subprocess.Popen[bytes]:
    """Start a server that outlives the agent, in a session of its own. Raises: OSError."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603 - the operator allows programs of this directory
            [str(program), "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd="/",
            env=_environment(),
            start_new_session=True,
        )
    finally:
        os.close(descriptor)


def config_fault(program: Path, config: Path) -> str:
    """Why the program refuses the configuration file; empty if it does not. Nothing is started.

    Raises: OSError.
    """
    try:
        answer = subprocess.run(  # noqa: S603 - as above
            [str(program), "--config", str(config), "--outputConfig"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd="/",
            env=_environment(),
            timeout=_CHECK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    if answer.returncode == 0:
        return ""
    # The output of a good configuration is the configuration with its secrets; here it is the error.
    return (answer.stderr or answer.stdout).decode(errors="replace")


def _environment() -> Mapping[str, str]:
    """Without the key of the agent."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


def size_of(path: Path) -> int:
    """The size of a file; 0 if it is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def tail(path: Path, start_at: int, settings: Mapping[str, Any]) -> str:
    """The last lines that were added to a file from this place on, without secrets."""
    try:
        with path.open("rb") as file:
            file.seek(max(start_at, size_of(path) - 64_000))
            text = file.read(64_000).decode(errors="replace")
    except OSError:
        return ""
    return without_secrets(text, settings)


def without_secrets(text: str, settings: Mapping[str, Any]) -> str:
    """The last lines of a text, and no more of them than an event can have.

    Errors and fatal errors of a structured log come first: a server writes much after its error.
    """
    secrets = _secrets(settings)
    # A structured log escapes quotation marks, backslashes and control characters.
    secrets |= {json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for secret in secrets for is_ascii in _JSON}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    text = re.sub(r"(\w+://)[^/@\s\"]*@", r"\1***@", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    severe = [line for line in lines if '"s":"E"' in line or '"s":"F"' in line]
    last_lines = "\n".join((severe or lines)[-_MOST_LINES:])
    printable = "".join(letter for letter in last_lines if letter.isprintable() or letter == "\n")
    return printable[-_LONGEST_TAIL:]


def _secrets(settings: Mapping[str, Any]) -> set[str]:
    """The values of settings that can be secrets, by the names of the settings."""
    secrets: set[str] = set()
    for name, value in settings.items():
        if isinstance(value, Mapping):
            secrets |= _secrets(section(settings, name))
        elif isinstance(value, list):
            secrets |= {secret for _, item in items(settings, name) for secret in _secrets(item)}
        elif isinstance(value, str) and len(value) > 1 and _SECRET.search(name):
            secrets.add(value)
    return secrets
