"""A self-signed CA and the serving certificate that it signs, and their rotation with overlapping CA bundles."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path as FilePath

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gpuvet.values.errors import InputError

VALID_DAYS = 365
_BACKDATED = timedelta(minutes=5)
"""Clocks differ."""


def make_certificates(out: FilePath, hosts: list[str], days: int = VALID_DAYS) -> list[str]:
    """Writes `ca.crt`, `tls.crt`, `tls.key` to a folder and returns their names.

    An existing `ca.crt` is kept behind the new CA for as long as it is valid, so that clients trust the old and the new
    serving certificate while they are swapped. The CA's key is thrown away: the next rotation makes a new CA.
    """
    now = datetime.now(UTC)
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"gpuvet webhook CA {now:%Y-%m-%d %H:%M:%S}")])
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key(), now, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    certificate = (
        _builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])]), ca_name, key.public_key(), now, days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    out.mkdir(parents=True, exist_ok=True)
    bundle = [ca, *(old for old in read_certificates(out / "ca.crt") if old.not_valid_after_utc > now)][:3]
    pem = serialization.Encoding.PEM
    _write(out / "ca.crt", b"".join(item.public_bytes(pem) for item in bundle), 0o644)
    _write(out / "tls.key", key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()), 0o600)
    _write(out / "tls.crt", certificate.public_bytes(pem), 0o644)
    return ["ca.crt", "tls.crt", "tls.key"]


def read_certificates(path: FilePath) -> list[x509.Certificate]:
    """The certificates of a PEM file, none when there is no file. Raises InputError when the file holds something else."""
    if not path.is_file():
        return []
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path}: holds no PEM certificate: {error}") from None


def expiry(path: FilePath) -> float:
    """When the first certificate of a PEM file ends, in seconds since 1970. Raises InputError when there is none."""
    found = read_certificates(path)
    if not found:
        raise InputError(f"{path}: holds no certificate")
    return found[0].not_valid_after_utc.timestamp()


def trusted(bundle: bytes, serving: bytes, host: str) -> tuple[str, float]:
    """What keeps clients with this CA bundle from trusting a serving certificate (empty: nothing), and the days that it has left."""
    now = datetime.now(UTC)
    try:
        authorities, chain = x509.load_pem_x509_certificates(bundle), x509.load_pem_x509_certificates(serving)
    except ValueError as error:
        return f"no PEM certificate: {error}", 0.0
    certificate = chain[0]
    left = (certificate.not_valid_after_utc - now).total_seconds() / 86400
    if left <= 0:
        return f"it ended on {certificate.not_valid_after_utc:%Y-%m-%d}", left
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        names = []
    if host not in names:
        return f"it is for {', '.join(names) or 'no name'}, not for {host}", left
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return ("", left) if authority.not_valid_after_utc > now else ("the CA that signed it has ended", left)
    return "no CA of the bundle has signed it", left


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, days: int) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - _BACKDATED).not_valid_after(now + timedelta(days=days))


def _key_usage(sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(host: str) -> x509.GeneralName:
    from ipaddress import ip_address

    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(path: FilePath, data: bytes, mode: int) -> None:
    """Replaces the file at once, so that nobody reads half of it."""
    new = path.with_name(path.name + ".new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(data)
    new.replace(path)
