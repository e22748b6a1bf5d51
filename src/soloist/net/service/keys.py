"""What nodes prove themselves with: a test authority and certificates, as `soloist.net.TLS` takes them, or a secret.

    soloist keys keys a b c     ->  keys/ca.pem, keys/ca.key, keys/a.pem, keys/a.key, …
    soloist keys keys --client shop     ->  keys/client-shop.pem, keys/client-shop.key
    soloist keys keys --secret  ->  keys/secret
    soloist keys keys --client-secret   ->  keys/client.secret

For trying things out, and for small clusters whose keys are carried by hand. An authority that is there already is
used again, so a node can be added later.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from soloist.core import UsageError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY = "ca"
SECRET = "secret"
CLIENT = "client"
CLIENT_SECRET = "client.secret"
SECRET_BYTES = 32
DAYS = 365
ONE_HOUR = datetime.timedelta(hours=1)
"""Clocks differ: a certificate is good from a little before it was made."""


class _Pair(NamedTuple):
    certificate: x509.Certificate
    key: EllipticCurvePrivateKey


def make_keys(
    directory: Path, nodes: Sequence[str], days: int = DAYS, clients: Sequence[str] = ()
) -> list[Path]:
    """Certificates and keys for these nodes and clients, and an authority if there is none; what was written."""
    _check_cryptography()
    _check_directory(directory)
    if days < 1:
        raise UsageError(f"--days must be at least 1, not {days}")
    for name in (*nodes, *clients):
        _check_name(name)
    for what, names in (("node", nodes), ("client", clients)):
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"{what} {twice!r} is named twice")
    of_clients = {f"{CLIENT}-{name}": name for name in clients}
    for node in (*nodes, *of_clients):
        if taken := next((path for path in _files(directory, node) if path.exists()), None):
            raise UsageError(f"{taken} exists; remove it first to have it made again")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        authority, written = _authority(directory, days)
        for node in nodes:
            written += _write(directory, node, _issue(node, authority, days))
        for file, client in of_clients.items():
            written += _write(directory, file, _issue(client, authority, days, client=True))
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or directory}: {error.strerror}") from None
    return written


def make_secret(directory: Path, name: str = SECRET) -> Path:
    """A file with a new secret, for `secret_file` or `client_secret_file`; the same one goes to all nodes."""
    path = directory / name
    _check_directory(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _put(path, secrets.token_hex(SECRET_BYTES).encode() + b"\n", 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists; remove it first to have it made again") from None
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or directory}: {error.strerror}") from None
    return path


def _check_directory(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is no directory, and keys go into one")


def _check_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise UsageError("keys need the package cryptography: pip install 'soloist[tls]'") from None


def _check_name(name: str) -> None:
    """A node's name stands in its certificate as a DNS name, and in the names of its files."""
    if name == AUTHORITY:
        raise UsageError(f"a node cannot be called {AUTHORITY!r}: that is the authority's name")
    if len(name) > 63 or not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", name) or ".." in name:
        raise UsageError(f"{name!r} cannot be a name in a certificate; use letters, digits, '.', '-' and '_'")
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return
    raise UsageError(f"{name!r} is an address; give the node a name")


def _files(directory: Path, name: str) -> tuple[Path, Path]:
    return directory / f"{name}.pem", directory / f"{name}.key"


def _authority(directory: Path, days: int) -> tuple[_Pair, list[Path]]:
    """The authority that is there, or a new one."""
    certificate, key = _files(directory, AUTHORITY)
    if certificate.exists() != key.exists():
        there, missing = (certificate, key) if certificate.exists() else (key, certificate)
        raise UsageError(f"{there} is there, but {missing} is not; without both no certificate can be made")
    if certificate.exists():
        return _read(certificate, key), []
    pair = _issue(f"soloist test authority {os.urandom(4).hex()}", None, 10 * days)
    return pair, _write(directory, AUTHORITY, pair)


def _read(certificate: Path, key: Path) -> _Pair:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = x509.load_pem_x509_certificate(certificate.read_bytes())
        secret = load_pem_private_key(key.read_bytes(), None)
    except (ValueError, TypeError):
        raise UsageError(f"{certificate} and {key} are not an authority made by `soloist keys`") from None
    if not isinstance(secret, EllipticCurvePrivateKey) or secret.public_key() != found.public_key():
        raise UsageError(f"{key} is not the key of {certificate}")
    return _Pair(found, secret)


def _issue(name: str, authority: _Pair | None, days: int, client: bool = False) -> _Pair:
    """A certificate: of a node or a client if there is an authority to sign it, otherwise of an authority.

    A client's is good for no server, and has no DNS name: no node takes it for another node's, and no client for a node's.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    signer = authority.key if authority else key
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - ONE_HOUR)
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .add_extension(_usage(authority is None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    if authority:
        called = x509.UniformResourceIdentifier(f"{CLIENT}:{name}") if client else x509.DNSName(name)
        uses = [*([] if client else [ExtendedKeyUsageOID.SERVER_AUTH]), ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.SubjectAlternativeName([called]), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    return _Pair(builder.sign(signer, hashes.SHA256()), key)


def _usage(authority: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(directory: Path, name: str, pair: _Pair) -> list[Path]:
    """The key first, and never readable by others, not even for a moment."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    certificate, key = _files(directory, name)
    secret = pair.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for path, data, mode in (
        (key, secret, 0o600),
        (certificate, pair.certificate.public_bytes(Encoding.PEM), 0o644),
    ):
        _put(path, data, mode)
    return [certificate, key]


def _put(path: Path, data: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
