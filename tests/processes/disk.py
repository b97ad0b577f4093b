"""A small file system that a test can fill."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.processes.platform import RunningPlatform, copy_prepared

MEGABYTES = 256


class Disk:
    """A small file system at `path`, which can be filled."""

    def __init__(self, path: Path, megabytes: int = MEGABYTES) -> None:
        self.path, self._megabytes = path, megabytes
        self._filler = path / "filler"

    def mount(self) -> None:
        """Skips the test, saying why, where the system does not allow it."""
        options = f"size={self._megabytes}m,mode=711"
        if not shutil.which("mount"):
            pytest.skip("a small file system needs mount(8)")
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")

    def fill(self, *, leave: int = 0) -> None:
        """To the last page, and then so many megabytes are free again."""
        with self._filler.open("ab", buffering=0) as file:
            with suppress(OSError):
                while True:
                    file.write(bytes(4096))
            if leave:
                file.truncate(file.tell() - (leave << 20))

    def free(self) -> None:
        """There is space again."""
        self._filler.unlink()

    def unmount(self) -> None:
        """Its files are gone once nobody uses them."""
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)


@contextmanager
def small_disk(path: Path, megabytes: int = MEGABYTES) -> Iterator[Disk]:
    """A mounted disk at `path`, a new directory."""
    path.mkdir(mode=0o711)
    disk = Disk(path, megabytes)
    disk.mount()
    try:
        yield disk
    finally:
        disk.unmount()


@contextmanager
def disk_of(platform: RunningPlatform) -> Iterator[Disk]:
    """The disk of an installation's data directory, which holds a migrated database."""
    platform.data_dir.mkdir(mode=0o711)
    made = Disk(platform.data_dir)
    made.mount()
    copy_prepared(platform.data_dir)
    yield made
    platform.end()
    made.unmount()
