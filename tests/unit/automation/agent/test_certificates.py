"""The end of a server's certificate: read from DER, and from a TLS handshake."""

import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from automation.agent.certificates import (
    ClientCertificate,
    ServerCertificate,
    not_after,
    presented_certificate,
)
from automation.agent.engine import DATABASES_EVERY
from tests.each import each
from tests.processes.certificates import Authority, make_certificate

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())


def certificate(ends: datetime, name: str = "db1") -> bytes:
    """A certificate in DER that ends then."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begins = datetime(1955, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).serial_number(2**158)
    builder = builder.public_key(KEY.public_key()).not_valid_before(begins).not_valid_after(ends)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


GOOD = certificate(NOW + timedelta(days=30))


@each(
    "ends",
    [
        datetime(1960, 2, 29, 23, 59, 59, tzinfo=UTC),
        datetime(1999, 12, 31, tzinfo=UTC),
        datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),
        datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2050, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    ],
)
def test_the_end_is_read_from_either_form_of_a_time(ends: datetime) -> None:
    assert not_after(certificate(ends)) == ends


def test_long_names_are_passed_over() -> None:
    ends = NOW + timedelta(days=3)
    assert not_after(certificate(ends, "a" * 60)) == ends


def test_a_certificate_that_is_cut_is_none() -> None:
    for length in range(len(GOOD)):
        with pytest.raises(ValueError, match="not a certificate"):
            not_after(GOOD[:length])


@given(st.binary(max_size=200), st.integers(0, len(GOOD)))
def test_bytes_that_are_no_certificate_raise_a_value_error_at_most(found: bytes, place: int) -> None:
    for content in (found, GOOD[:place] + found + GOOD[place + len(found) :]):
        try:
            not_after(content)
        except ValueError:
            continue


def test_the_certificate_is_asked_for_every_ten_minutes() -> None:
    seconds = [0.0]
    asked = []

    def ask() -> bytes:
        asked.append(seconds[0])
        return GOOD

    watched = ServerCertificate(lambda: seconds[0])
    for seconds[0] in (0.0, DATABASES_EVERY - 1, DATABASES_EVERY):
        assert watched.days(NOW + timedelta(seconds=seconds[0]), ask) == pytest.approx(30, abs=0.01)
    assert asked == [0.0, DATABASES_EVERY]
    assert watched.days(NOW + timedelta(days=31), ask) == -1
    watched.forget()
    assert watched.days(NOW, lambda: None) is None
    assert watched.problem == ""


def test_an_answer_that_fails_is_not_replaced_by_an_old_answer() -> None:
    watched = ServerCertificate()
    assert watched.days(NOW, lambda: GOOD) == 30
    watched.forget()
    assert watched.days(NOW, lambda: b"") is None
    watched.forget()
    assert watched.days(NOW, lambda: b"no") is None
    assert watched.problem.startswith("ValueError: not a certificate")


def server_context(directory: Path) -> ssl.SSLContext:
    """Of a server with a certificate that nothing vouches for."""
    cert, key = make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def presented_by(context: ssl.SSLContext, own: ClientCertificate | None = None) -> bytes:
    """The certificate of a server with this context."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with suppress(OSError), context.wrap_socket(theirs, server_side=True) as secured:
            secured.recv(1)

    server = threading.Thread(target=serve)
    server.start()
    try:
        return presented_certificate(ours, "127.0.0.1", own)
    finally:
        ours.close()
        server.join()


def test_a_handshake_gives_the_certificate_of_a_server_that_nothing_vouches_for(tmp_path: Path) -> None:
    found = presented_by(server_context(tmp_path))
    assert not_after(found) == x509.load_der_x509_certificate(found).not_valid_after_utc


@pytest.fixture
def demanding(tmp_path: Path) -> tuple[ssl.SSLContext, Authority]:
    """A server that demands the certificate of an authority in the handshake, as before TLS 1.3."""
    context, authority = server_context(tmp_path), Authority(tmp_path / "authority")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.file)
    return context, authority


def test_a_server_that_demands_a_certificate_gets_the_agents(
    demanding: tuple[ssl.SSLContext, Authority], tmp_path: Path
) -> None:
    context, authority = demanding
    file = authority.issue("agent")
    assert presented_by(context, ClientCertificate(str(file)))
    key = serialization.load_pem_private_key(file.read_bytes(), None)
    parts = tmp_path / "agent.crt", tmp_path / "agent.key"
    parts[0].write_bytes(file.read_bytes())
    parts[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    assert presented_by(context, ClientCertificate(str(parts[0]), str(parts[1]), "secret"))
    for unusable in ("", "wrong"):
        with pytest.raises(OSError, match="cannot be read"):
            presented_by(context, ClientCertificate(str(parts[0]), str(parts[1]), unusable))
    with pytest.raises(OSError, match=r"."):  # The end of the connection can overtake the reason.
        presented_by(context)


def test_a_certificate_of_the_agent_that_cannot_be_read_matters_only_if_the_server_demands_it(
    tmp_path: Path,
) -> None:
    assert presented_by(server_context(tmp_path), ClientCertificate(str(tmp_path / "gone.pem")))
