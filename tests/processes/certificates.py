"""Certificates that a test makes for itself."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class Authority:
    """Signs certificates, whose files are in a directory of its own."""

    def __init__(self, directory: Path, name: str = "An authority") -> None:
        """Make its own certificate."""
        directory.mkdir()
        self.file = directory / "authority.pem"
        self._directory = directory
        self._name = _name(name)
        self._key: PrivateKey = ec.generate_private_key(ec.SECP256R1())
        self._certify(self._name, self._key)

    def authority(self, name: str) -> "Authority":
        """An authority whose certificate is signed by this authority."""
        issuing = Authority(self._directory / "issuing", name)
        issuing._certify(self._name, self._key)
        return issuing

    def _certify(self, issuer: x509.Name, key: PrivateKey) -> None:
        made = _builder(self._name, issuer, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.file.write_bytes(_pem(made.sign(key, hashes.SHA256())))

    def issue(self, subject: str, *names: str) -> Path:
        """A certificate of this common name for these host names, with its key: one PEM file."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(subject), self._name, key)
        if names:
            alternatives = x509.SubjectAlternativeName(list(map(x509.DNSName, names)))
            builder = builder.add_extension(alternatives, critical=False)
        path = self._directory / f"{subject}.pem"
        path.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())) + _key_pem(key))
        return path


def make_certificate(
    directory: Path, *names: str, rsa_bits: int | None = None, password: bytes | None = None
) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and these names that vouches for itself, and its key: two PEM files.

    The key is an ECDSA key, or an RSA key of `rsa_bits`. `password` encrypts the key.
    """
    key: PrivateKey = (
        rsa.generate_private_key(65537, rsa_bits) if rsa_bits else ec.generate_private_key(ec.SECP256R1())
    )
    name = _name("127.0.0.1")
    subjects = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), *map(x509.DNSName, names)]
    builder = _builder(name, name, key).add_extension(x509.SubjectAlternativeName(subjects), critical=False)
    paths = directory / "cert.pem", directory / "key.pem"
    paths[0].write_bytes(_pem(builder.sign(key, hashes.SHA256())))
    paths[1].write_bytes(_key_pem(key, password))
    return paths


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: x509.Name, issuer: x509.Name, key: PrivateKey) -> x509.CertificateBuilder:
    """Of a certificate that holds for a day."""
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: PrivateKey, password: bytes | None = None) -> bytes:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
