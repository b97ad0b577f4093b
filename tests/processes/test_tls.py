"""The platform behind a certificate of its own."""

import datetime
import ipaddress
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.processes.platform import Platform

pytestmark = pytest.mark.processes


def test_it_speaks_tls_and_slow_handshakes_do_not_stop_it(platform: Platform) -> None:
    certificate, key = _make_certificate(platform.directory)
    platform.environment |= {"OPSAPI_TLS_CERT": str(certificate), "OPSAPI_TLS_KEY": str(key)}
    platform.start()
    assert f"https://127.0.0.1:{platform.port}/" in platform.output

    url = f"https://127.0.0.1:{platform.port}/health/live"
    with ExitStack() as silent, requests.Session() as session:
        for number in range(20):
            connection = silent.enter_context(socket.create_connection(("127.0.0.1", platform.port)))
            connection.sendall(b"\x16\x03\x01" if number % 2 else b"")
        answers = [session.get(url, timeout=8, verify=str(certificate)).status_code for _ in range(3)]
    assert answers == [200, 200, 200]
    assert platform.stop() == 0


def _make_certificate(directory: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    paths = directory / "cert.pem", directory / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return paths
