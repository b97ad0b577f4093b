"""`python -m tools.release <tag>`: builds all files of a release from a tag, in a clean clone.

The source archive and the wheel have the same bytes wherever they are built. The images do not: they contain
packages of the operating system as they are on the day.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUMS = "SHA256SUMS"
_IMAGES = ("opsapi", "opsapi-database")
_VERSION = re.compile(r'^VERSION = "([^"]+)"$', re.MULTILINE)


class ReleaseError(Exception):
    """There is nothing that can be released; the message is one line."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the release that the arguments name; exits with one line if it cannot be built."""
    parser = argparse.ArgumentParser(prog="tools.release", description=__doc__.partition("\n")[0])
    parser.add_argument("tag", help="such as v0.2.0")
    parser.add_argument("--directory", type=Path, default=ROOT / "release", help="where the files go")
    parser.add_argument("--without-images", action="store_true", help="build no images")
    options = parser.parse_args(arguments)
    has_images = not options.without_images and shutil.which("podman") is not None
    try:
        target = build_release(options.tag, options.directory, with_images=has_images)
    except ReleaseError as error:
        sys.exit(f"{options.tag} cannot be released: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{options.tag} cannot be released: {error}\n{error.stderr or ''}".rstrip())
    sys.stdout.write((target / SUMS).read_text(encoding="utf-8"))
    if not has_images:
        reason = "as asked" if options.without_images else "podman is not installed"
        sys.stdout.write(f"without images: {reason}\n")
    sys.stdout.write(f"{target}\n")


def build_release(tag: str, directory: Path, *, with_images: bool) -> Path:
    """Write the files of a release to a new directory named for the tag, and return it.

    The directory appears when it is complete.

    Raises: ReleaseError: the tag does not fit what it marks, or the release exists.
    CalledProcessError: a step failed.
    """
    target = directory / tag
    if target.exists():
        raise ReleaseError(f"{target} exists")
    with tempfile.TemporaryDirectory(prefix="opsapi-release-") as temporary:
        clone, built = Path(temporary) / "clone", Path(temporary) / "built"
        _run("git", "clone", "--quiet", "--no-local", "--branch", tag, str(ROOT), str(clone))
        if _run("git", "tag", "--points-at", "HEAD", directory=clone).split().count(tag) != 1:
            raise ReleaseError("it is a branch and not a tag")
        version = _checked_version(tag, clone)
        built.mkdir()
        epoch = _run("git", "log", "-1", "--format=%ct", directory=clone).strip()
        _run(sys.executable, "manage.py", "sbom", "--check", directory=clone)
        _run(sys.executable, "-m", "hatchling", "build", directory=clone, SOURCE_DATE_EPOCH=epoch)
        for path in sorted((clone / "dist").iterdir()):
            shutil.copy(path, built)
        shutil.copy(clone / "requirements.txt", built / f"opsapi-{version}-requirements.txt")
        shutil.copy(clone / "sbom.cdx.json", built / f"opsapi-{version}.cdx.json")
        if with_images:
            _save_images(clone, built / f"opsapi-{version}-images.tar", version)
        _write_sums(built)
        directory.mkdir(parents=True, exist_ok=True)
        draft = directory / f".{tag}"
        shutil.rmtree(draft, ignore_errors=True)  # of a run that was killed
        shutil.copytree(built, draft)
        draft.rename(target)
    return target


def _checked_version(tag: str, clone: Path) -> str:
    """The version of the clone, which its tag, its changelog and its build system agree with."""
    found = _VERSION.search((clone / "opsapi" / "__init__.py").read_text(encoding="utf-8"))
    version = found[1] if found else ""
    if tag != f"v{version}":
        raise ReleaseError(f"opsapi/__init__.py has version {version}")
    if f'\nversion = "{version}"\n' not in (clone / "pyproject.toml").read_text(encoding="utf-8"):
        raise ReleaseError("pyproject.toml has another version than opsapi/__init__.py")
    changes = (clone / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(version)}\b.*$", changes, re.MULTILINE)
    if section is None or "unreleased" in section[0]:
        raise ReleaseError(f"CHANGELOG.md has no section of the released version {version}")
    requirements = (clone / "requirements-dev.txt").read_text(encoding="utf-8")
    pinned = re.search(r"^hatchling==(\S+)", requirements, re.MULTILINE)
    if not pinned or pinned[1] != metadata.version("hatchling"):
        raise ReleaseError(
            "its pinned hatchling is not installed: run make install-dev in a checkout of the tag"
        )
    return version


def _save_images(clone: Path, archive: Path, version: str) -> None:
    _run("make", "--old-file=wheel", "image", directory=clone)  # of the wheel that was just built
    names = [f"localhost/{name}:{version}" for name in _IMAGES]
    for name in names:
        _run("podman", "tag", name.rpartition(":")[0], name)
    _run("podman", "save", "--multi-image-archive", "--output", str(archive), *names)


def _write_sums(directory: Path) -> None:
    lines = []
    for path in sorted(directory.iterdir()):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    (directory / SUMS).write_text("".join(lines), encoding="utf-8")


def _run(*command: str, directory: Path = ROOT, **variables: str) -> str:
    """Return what the command writes to stdout."""
    return subprocess.run(  # noqa: S603 - programs that are named above
        command,
        cwd=directory,
        env={**os.environ, "OPSAPI_ENV_FILE": os.devnull, **variables},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


if __name__ == "__main__":
    main()
