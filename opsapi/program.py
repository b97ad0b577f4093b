"""Where this program is and how you start it: in a checkout, or installed as a package. Imports no Django."""

import gc
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PARENT = Path(__file__).resolve().parent.parent
IS_CHECKOUT = (_PARENT / "manage.py").is_file()
FILES = _PARENT if IS_CHECKOUT else _PARENT / "opsapi" / "files"
"""The directory of `templates`, `deploy`, `.env.example` and `LICENSE`."""
COMMAND = ".venv/bin/python manage.py" if IS_CHECKOUT else "opsapi"
"""How texts name the program; a command such as `serve` follows."""
START = "make run" if IS_CHECKOUT else "opsapi serve"


def default_data_dir() -> Path:
    """Return `var` of a checkout, or the directory for an installed program's state.

    Source: XDG Base Directory Specification, `XDG_STATE_HOME`; a relative path there counts as unset. For
    root it is `/var/lib/opsapi`: PostgreSQL runs as another user, who cannot enter root's home.
    """
    if IS_CHECKOUT:
        return _PARENT / "var"
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        state = Path("/var/lib") if os.geteuid() == 0 else Path.home() / ".local" / "state"
    return state / "opsapi"


def data_dir() -> Path:
    """Return the data directory that the environment names, or the default one.

    A relative path starts at the root of a checkout, or at the current directory for an installed program.
    """
    named = os.environ.get("OPSAPI_DATA_DIR")
    if not named:
        return default_data_dir()
    return (_PARENT / named if IS_CHECKOUT else Path(named)).absolute()


def env_file() -> Path:
    """Return the file of settings: `.env` in a checkout, `opsapi.env` in the data directory otherwise."""
    return _PARENT / ".env" if IS_CHECKOUT else data_dir() / "opsapi.env"


def base_dir() -> Path:
    """Return the directory at which relative paths of settings start: a checkout, or the data directory."""
    return _PARENT if IS_CHECKOUT else data_dir()


def arguments(*command: str) -> list[str]:
    """Return the arguments that run a command of this program in a process of its own."""
    if IS_CHECKOUT:
        return [sys.executable, str(_PARENT / "manage.py"), *command]
    return module("opsapi", *command)


def module(name: str, *options: str) -> list[str]:
    """Return the arguments that run a Python module in a process of its own.

    `-P`: an installed program imports nothing from the current directory, whatever modules are there.
    """
    return [sys.executable, *([] if IS_CHECKOUT else ["-P"]), "-m", name, *options]


@contextmanager
def importing() -> Iterator[None]:
    """Run the imports of a process in the block: without garbage collection they take a sixth less time.

    Later collections skip the imported objects (gc.freeze).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def machine_name() -> str:
    """Return the name of this machine as it is set, without a query for its domain."""
    return socket.gethostname().lower() or "localhost"
