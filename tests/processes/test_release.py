"""`make release`: all files of a release, from its tag alone, with the same bytes each time."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opsapi import VERSION
from tests.processes.released import TAG, git, tagged_clone

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with a commit that is ready to be released, its tag, and a tag of another version."""
    made = tagged_clone(tmp_path_factory.mktemp("release") / "clone")
    git(made, "tag", "v99.0.0")
    git(made, "branch", "work")
    return made


def release(clone: Path, tag: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What the command does in the clone."""
    command = [sys.executable, "-m", "tools.release", tag, "--without-images", *options]
    spoken = {**os.environ, "LC_ALL": "C"}  # the words of git
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False, env=spoken)


def test_it_builds_all_files_of_a_tag_with_the_same_bytes_each_time(clone: Path, tmp_path: Path) -> None:
    (clone / "opsapi" / "unknown.py").write_text(
        "raise SystemExit\n"
    )  # what is not committed does not matter
    done = release(clone, TAG)
    assert done.returncode == 0, done.stderr
    made = clone / "release" / TAG
    files = {path.name: path for path in made.iterdir()}
    assert files.keys() == {
        f"opsapi-{VERSION}-py3-none-any.whl",
        f"opsapi-{VERSION}.tar.gz",
        f"opsapi-{VERSION}-requirements.txt",
        f"opsapi-{VERSION}.cdx.json",
        "SHA256SUMS",
    }
    sums = dict(line.split("  ")[::-1] for line in files.pop("SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    again = release(clone, TAG, "--directory", str(tmp_path))
    assert again.returncode == 0, again.stderr
    assert (tmp_path / TAG / "SHA256SUMS").read_text() == (made / "SHA256SUMS").read_text()
    refused = release(clone, TAG)
    assert (refused.returncode, "exists" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ("v99.0.0", f"opsapi/__init__.py has version {VERSION}"),
        ("work", "it is a branch and not a tag"),
        ("v1.2.3", "Remote branch v1.2.3 not found"),
    ],
)
def test_what_cannot_be_released_is_refused(clone: Path, tmp_path: Path, tag: str, reason: str) -> None:
    done = release(clone, tag, "--directory", str(tmp_path))
    assert done.returncode == 1
    assert reason in done.stderr
    assert not list(tmp_path.iterdir())
