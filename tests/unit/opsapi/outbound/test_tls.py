"""TLS: the name is verified although the connection goes to an address."""

import ssl
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core.mail import EmailMessage
from pytest_django import Settings

from opsapi.outbound import OutboundError, OutboundReason, post
from opsapi.outbound.errors import MailError
from opsapi.outbound.trust import Purpose, _context, trusting
from tests.processes.certificates import Authority
from tests.processes.certificates import make_certificate as make_address_certificate
from tests.receivers import LOOPBACK, HttpReceiver, MailReceiver
from tests.unit.opsapi.outbound.names import resolve_names


def make_certificate(path: Path, name: str) -> Path:
    """A self-signed certificate for that name, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"authority of {name}")])
    today = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(key.private_bytes(*pem) + certificate)
    return path


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for hook.example."""
    return make_certificate(tmp_path / "hook.pem", "hook.example")


@pytest.fixture
def asked_names() -> list[str | None]:
    """The names clients sent by SNI."""
    return []


@pytest.fixture
def context(certificate: Path, asked_names: list[str | None]) -> ssl.SSLContext:
    """The receiver's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda _socket, name, _context: asked_names.append(name)
    return context


@pytest.fixture(autouse=True)
def names(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names for the receiver; the certificate has one of them."""
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    resolve_names(monkeypatch, {"hook.example": ["127.0.0.1"], "other.example": ["127.0.0.1"]})


@pytest.fixture
def trusted(settings: Settings, certificate: Path) -> None:
    """The receiver's certificate is that of an authority the operator added."""
    settings.OPSAPI_OUTBOUND_CA_FILE = str(certificate)


def test_it_verifies_the_name_while_connecting_to_the_address(
    context: ssl.SSLContext,
    trusted: None,
    asked_names: list[str | None],
) -> None:
    with HttpReceiver(context).running() as receiver:
        assert post(receiver.url(host="hook.example"), b"{}", {}).status == 200
        assert receiver.requests[0].headers["Host"] == f"hook.example:{receiver.port}"
    assert asked_names == ["hook.example"]


@pytest.mark.parametrize("host", ["other.example", "127.0.0.1"])
def test_it_refuses_a_certificate_for_another_name(context: ssl.SSLContext, trusted: None, host: str) -> None:
    with HttpReceiver(context).running() as receiver:
        with pytest.raises(OutboundError) as caught:
            post(receiver.url(host=host), b"{}", {})
        assert (caught.value.reason, receiver.requests) == (OutboundReason.BAD_CERTIFICATE, [])
        # The name can be that of the operator's proxy or mail server.
        assert caught.value.detail
        assert host not in caught.value.detail


def test_it_refuses_an_untrusted_certificate(context: ssl.SSLContext) -> None:
    with HttpReceiver(context).running() as receiver:
        with pytest.raises(OutboundError) as caught:
            post(receiver.url(host="hook.example"), b"{}", {})
        assert (caught.value.reason, receiver.requests) == (OutboundReason.BAD_CERTIFICATE, [])


@pytest.mark.slow
def test_it_is_not_held_by_a_receiver_that_drips_over_tls(context: ssl.SSLContext, trusted: None) -> None:
    with HttpReceiver(context).running() as receiver:
        receiver.drip(b"")
        with pytest.raises(OutboundError) as caught:
            post(receiver.url(host="hook.example"), b"{}", {}, total_timeout=4.0)
        assert caught.value.reason is OutboundReason.NO_ANSWER


def test_one_context_serves_all_threads_and_still_checks_names(
    context: ssl.SSLContext, trusted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[ssl.SSLContext] = []
    create = ssl.create_default_context

    def creating() -> ssl.SSLContext:
        made.append(create())
        return made[-1]

    monkeypatch.setattr(ssl, "create_default_context", creating)

    def status(host: str) -> int | OutboundReason:
        try:
            return post(receiver.url(host=host), b"{}", {}).status
        except OutboundError as error:
            return error.reason

    with HttpReceiver(context).running() as receiver, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(status, ["hook.example", "other.example"] * 8))
    assert answers == [200, OutboundReason.BAD_CERTIFICATE] * 8
    assert [(context.check_hostname, context.verify_mode) for context in made] == [(True, ssl.CERT_REQUIRED)]


def test_the_operators_authorities_are_added_to_the_systems(
    certificate: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_certificate(tmp_path / "other.pem", "other.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    settings.OPSAPI_OUTBOUND_CA_FILE = str(other)
    statuses = []
    for host, path in (("hook.example", certificate), ("other.example", other)):
        served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        served.load_cert_chain(path)
        with HttpReceiver(served).running() as receiver:
            statuses.append(post(receiver.url(host=host), b"{}", {}).status)
    assert statuses == [200, 200]


@pytest.mark.parametrize("is_trusted", [True, False])
def test_the_mail_server_is_trusted_as_receivers_are(
    tmp_path: Path, settings: Settings, mail_receiver: MailReceiver, is_trusted: bool
) -> None:
    certificate, key = make_address_certificate(tmp_path)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate, key)
    served.set_alpn_protocols(["http/1.1"])
    settings.OPSAPI_OUTBOUND_CA_FILE = str(certificate) if is_trusted else ""
    settings.EMAIL_USE_TLS = True
    server = MailReceiver()
    with server.running(served):
        settings.EMAIL_PORT = server.port
        mail = EmailMessage("subject", "text", "ops@example.com", ["a@example.com"])
        if is_trusted:
            mail.send()
        else:
            with pytest.raises(MailError) as caught:
                mail.send()
            assert caught.value.reason is OutboundReason.BAD_CERTIFICATE
            assert caught.value.detail == "self-signed certificate"
    assert len(server.mails) == is_trusted


@pytest.mark.parametrize("purpose", list(Purpose))
def test_the_flags_are_the_same_whatever_this_python_has_as_default(
    purpose: Purpose, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = ssl.create_default_context

    def creating() -> ssl.SSLContext:
        context = create()
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.verify_flags &= ~ssl.VERIFY_X509_PARTIAL_CHAIN
        return context

    monkeypatch.setattr(ssl, "create_default_context", creating)
    _context.cache_clear()
    flags = trusting(purpose).verify_flags
    _context.cache_clear()
    assert flags & ssl.VERIFY_X509_PARTIAL_CHAIN
    assert not flags & ssl.VERIFY_X509_STRICT


def test_an_issuing_authority_alone_is_enough(tmp_path: Path, settings: Settings) -> None:
    root = Authority(tmp_path / "root", "A root")
    issuing = root.authority("An issuing authority")
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(issuing.issue("receiver", "hook.example"))
    settings.OPSAPI_OUTBOUND_CA_FILE = str(issuing.file)
    with HttpReceiver(served).running() as receiver:
        assert post(receiver.url(host="hook.example"), b"{}", {}).status == 200
