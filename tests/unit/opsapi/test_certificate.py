"""A certificate whose files change while it is in use."""

import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from opsapi.supervisor.certificate import LOOK_SECONDS, Certificate, check
from tests.processes.certificates import make_certificate


class Files:
    """A certificate and its key, as certbot keeps them: links to the files of a renewal."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.certificate, self.key = directory / "cert", directory / "key"
        self._renewals = 0
        self.renew()

    def renew(self, *, halfway: bool = False) -> bytes:
        """Replace the files, or only the certificate. Return the certificate."""
        self._renewals += 1
        renewal = self.directory / str(self._renewals)
        renewal.mkdir()
        made = dict(zip((self.certificate, self.key), make_certificate(renewal), strict=True))
        for link in (self.certificate,) if halfway else made:
            (renewal / "link").symlink_to(made[link])
            (renewal / "link").replace(link)
        return ssl.PEM_cert_to_DER_cert(self.certificate.read_text())

    def context(self) -> ssl.SSLContext:
        """A context for servers with these files."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def certificate(files: Files) -> Certificate:
    made = Certificate(files.certificate, files.key, files.context)
    made.context(0.0)
    return made


def shown(context: ssl.SSLContext) -> bytes:
    """The certificate that a client gets (DER)."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = client.wrap_bio(back, there), context.wrap_bio(there, back, server_side=True)
    for _ in range(3):
        for end in ends:
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    return ends[0].getpeercert(binary_form=True) or b""


@contextmanager
def _news(caplog: pytest.LogCaptureFixture) -> Iterator[list[int]]:
    """The levels of what is logged in the block."""
    levels: list[int] = []
    caplog.clear()
    with caplog.at_level(logging.INFO, "opsapi.supervisor"):
        yield levels
    levels += [record.levelno for record in caplog.records]


def test_changed_files_are_used_within_a_minute(
    files: Files, certificate: Certificate, caplog: pytest.LogCaptureFixture
) -> None:
    before, renewed = shown(certificate.context(1.0)), files.renew()
    with _news(caplog) as levels:
        assert shown(certificate.context(LOOK_SECONDS - 0.1)) == before
        assert shown(certificate.context(LOOK_SECONDS)) == renewed != before
        assert shown(certificate.context(LOOK_SECONDS + 0.1)) == renewed
    assert levels == [logging.INFO]


def test_unchanged_files_are_not_read_again(files: Files) -> None:
    certificate = Certificate(files.certificate, files.key, files.context)
    assert len({certificate.context(minute * LOOK_SECONDS) for minute in range(5)}) == 1


@pytest.mark.parametrize("broken", ["halfway", "empty", "gone"])
def test_files_that_cannot_be_used_leave_the_earlier_certificate_until_they_can(
    files: Files, certificate: Certificate, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    before = shown(certificate.context(1.0))
    if broken == "halfway":
        files.renew(halfway=True)
    else:
        files.key.unlink()
        if broken == "empty":
            files.key.touch()
    with _news(caplog) as levels:
        for minute in (1, 2, 3):
            assert shown(certificate.context(minute * LOOK_SECONDS)) == before
    assert levels == [logging.ERROR]
    renewed = files.renew()
    assert shown(certificate.context(4 * LOOK_SECONDS)) == renewed


def test_a_key_with_a_password_is_refused_without_a_question(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path, password=b"secret")
    with pytest.raises(ValueError, match="protected by a password"):
        check(certificate, key)
