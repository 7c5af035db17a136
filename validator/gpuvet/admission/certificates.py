"""A self-signed CA and the serving certificate that it signs, and their rotation with overlapping CA bundles."""

import os
import re
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path as FilePath

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gpuvet.values.errors import InputError, UsageError

VALID_DAYS = 365
_BACKDATED = timedelta(minutes=5)
"""Clocks differ."""
_LONGEST = 36500
_HOST = re.compile(r"(?:[*][.])?[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:[.][A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*", re.ASCII)


def make_certificates(out: FilePath, hosts: list[str], days: int = VALID_DAYS) -> list[str]:
    """Writes `ca.crt`, `tls.crt`, `tls.key` to a folder and returns their names.

    An existing `ca.crt` is kept behind the new CA for as long as it is valid, so that clients trust the old and the new
    serving certificate while they are swapped. The CA's key is thrown away: the next rotation makes a new CA.
    Raises UsageError when a host is no name, the days make no date, or the folder cannot be written; InputError when `ca.crt` is none.
    """
    now = datetime.now(UTC)
    names = [_name(host) for host in hosts]
    if not 0 <= days <= _LONGEST:
        raise UsageError(f"--days {days}: between 0 and {_LONGEST}")
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
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    bundle = [ca, *(old for old in read_certificates(out / "ca.crt") if old.not_valid_after_utc > now)][:3]
    pem = serialization.Encoding.PEM
    try:
        out.mkdir(parents=True, exist_ok=True)
        _write(out / "ca.crt", b"".join(item.public_bytes(pem) for item in bundle), 0o644)
        _write(out / "tls.key", key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()), 0o600)
        _write(out / "tls.crt", certificate.public_bytes(pem), 0o644)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror}") from None
    return ["ca.crt", "tls.crt", "tls.key"]


def read_certificates(path: FilePath) -> list[x509.Certificate]:
    """The certificates of a PEM file, none when there is no file. Raises InputError when the file holds something else."""
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: holds no PEM certificate: {error}") from None


def check_pair(certificate: FilePath, key: FilePath) -> None:
    """Raises InputError when a server cannot be started with the two files: one is missing or damaged, or they do not belong together."""
    for file in (certificate, key):
        try:
            file.open("rb").close()
        except FileNotFoundError:
            raise InputError(f"{file}: is not there; `gpuvet webhook certs --out DIR --host NAME` makes a pair") from None
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    expiry(certificate)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        if reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
            raise InputError(f"{key}: is not the key of {certificate}") from None
        raise InputError(f"{key}: holds no unencrypted key in PEM that fits {certificate}: {reason}") from None


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
    left = _days(certificate, now)
    if left <= 0:
        return f"it ended on {certificate.not_valid_after_utc:%Y-%m-%d}", left
    if certificate.not_valid_before_utc > now:
        return f"it begins on {certificate.not_valid_before_utc:%Y-%m-%d}", left
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        names = []
    if host not in names and f"*.{host.partition('.')[2]}" not in names:
        return f"it is for {', '.join(names) or 'no name'}, not for {host}", left
    wrong = "no CA of the bundle has signed it"
    # Up from the serving certificate, through those that stand behind it, to one of the bundle.
    while chain:
        link, *chain = chain
        left = min(left, _days(link, now))
        if link in authorities and left > 0:
            return "", left
        for authority in authorities:
            if _issued(link, authority):
                if _days(authority, now) > 0:
                    return "", min(left, _days(authority, now))
                wrong = "the CA that signed it has ended"
        chain = [other for other in chain if _issued(link, other)]
    return wrong, left


def _days(certificate: x509.Certificate, now: datetime) -> float:
    """That it is still good for."""
    return (certificate.not_valid_after_utc - now).total_seconds() / 86400


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


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
        if len(host) > 253 or not _HOST.fullmatch(host):
            raise UsageError(f"--host {host!r}: is neither a DNS name (of letters, digits, hyphens and dots) nor an IP address") from None
        return x509.DNSName(host)


def _write(path: FilePath, data: bytes, mode: int) -> None:
    """Replaces the file at once, so that nobody reads half of it."""
    new = path.with_name(path.name + ".new")
    # What an interrupted run left may have another mode.
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
    new.replace(path)
