"""A little authority for the tests: certificates that are right, and some that are wrong in one way each."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from soloist.net import TLS

NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)


class Authority:
    """Signs certificates, and keeps them as files."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self.directory = directory
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self.path = directory / f"{name}.pem"
        builder = self._builder(self.name, self.key, NOW + DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs=True), critical=True)
        certificate = builder.sign(self.key, hashes.SHA256())
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def certificate(self, name: str, file: str | None = None, expired: bool = False) -> TLS:
        """A certificate with this node's name, and its key in the same file."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key, NOW - DAY if expired else NOW + DAY)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        builder = builder.add_extension(_usage(signs=False), critical=True)
        certificate = builder.sign(self.key, hashes.SHA256())
        path = self.directory / f"{file or name}-{self.path.stem}.pem"
        path.write_bytes(_pem(key) + certificate.public_bytes(serialization.Encoding.PEM))
        return TLS(str(path), str(self.path))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, until: dt.datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - 3 * DAY)
            .not_valid_after(until)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
            )
        )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
