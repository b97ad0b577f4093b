"""Secrets that make themselves."""

import base64
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsapi.secret_files import SECRET_BYTES, secret_from_file


def test_a_secret_is_generated_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret"
    secret = secret_from_file(path)
    assert secret_from_file(path) == secret
    assert len(base64.urlsafe_b64decode(secret)) == SECRET_BYTES
    assert secret_from_file(tmp_path / "other") != secret


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    secret_from_file(tmp_path / "new" / "secret")
    assert (tmp_path / "new" / "secret").stat().st_mode & 0o777 == 0o600
    # Root's database runs as another user, who walks through.
    assert (tmp_path / "new").stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)


def test_the_mode_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o177)
    try:
        secret_from_file(tmp_path / "new" / "secret")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)


def test_an_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    secret_from_file(tmp_path / "secret")
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_processes_that_make_it_at_once_end_with_the_same(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret"
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert len(set(pool.map(secret_from_file, [path] * 16))) == 1
    assert [entry.name for entry in path.parent.iterdir()] == ["secret"]


def test_a_blank_at_the_end_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("given\n\n")
    path.chmod(0o600)
    assert secret_from_file(path) == "given"


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o644, 0o602, 0o601])
def test_a_file_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "secret"
    path.write_text("given")
    path.chmod(mode)
    with pytest.raises(ImproperlyConfigured, match=rf"secret: mode {mode:04o} gives other users access"):
        secret_from_file(path)


@pytest.mark.parametrize("content", ["", "\n", "  "])
def test_an_empty_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secret"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ImproperlyConfigured, match="secret: is empty"):
        secret_from_file(path)


def test_a_directory_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in ("file", "file/below"):
        with pytest.raises(ImproperlyConfigured, match=f"{path}: the directory cannot be created"):
            secret_from_file(tmp_path / path / "secret")
