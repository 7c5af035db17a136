"""A CA, a serving certificate, and their rotation."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from gpuvet.admission.certificates import expiry, make_certificates, read_certificates
from gpuvet.cli.main import main
from gpuvet.values.errors import InputError


def signed_by(certificate: x509.Certificate, bundle: list[x509.Certificate]) -> list[int]:
    """Which certificates of a bundle have signed it."""
    found = []
    for place, ca in enumerate(bundle):
        try:
            certificate.verify_directly_issued_by(ca)
        except (ValueError, InvalidSignature):
            continue
        found.append(place)
    return found


def test_pair_is_usable_and_names_its_hosts(tmp_path: Path) -> None:
    assert make_certificates(tmp_path, ["gpuvet.gpuvet.svc", "127.0.0.1", "::1"]) == ["ca.crt", "tls.crt", "tls.key"]
    (serving,) = read_certificates(tmp_path / "tls.crt")
    names = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["gpuvet.gpuvet.svc"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    assert signed_by(serving, read_certificates(tmp_path / "ca.crt")) == [0]
    assert stat.S_IMODE((tmp_path / "tls.key").stat().st_mode) == 0o600
    assert (tmp_path / "tls.key").read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.crt", "tls.crt", "tls.key"]


def test_rotation_keeps_the_old_ca_behind_the_new_one(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["localhost"])
    (old,) = read_certificates(tmp_path / "tls.crt")
    make_certificates(tmp_path, ["localhost"])
    (new,) = read_certificates(tmp_path / "tls.crt")
    bundle = read_certificates(tmp_path / "ca.crt")
    assert (signed_by(new, bundle), signed_by(old, bundle)) == ([0], [1])
    for _ in range(3):
        make_certificates(tmp_path, ["localhost"])
    assert len(read_certificates(tmp_path / "ca.crt")) == 3


def test_expired_ca_is_dropped(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["localhost"], days=0)
    make_certificates(tmp_path, ["localhost"])
    assert len(read_certificates(tmp_path / "ca.crt")) == 1


def test_expiry(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["localhost"], days=30)
    left = datetime.fromtimestamp(expiry(tmp_path / "tls.crt"), UTC) - datetime.now(UTC)
    assert timedelta(days=29, hours=23) < left <= timedelta(days=30)
    with pytest.raises(InputError, match="holds no certificate"):
        expiry(tmp_path / "missing")
    (tmp_path / "other").write_text("hello")
    with pytest.raises(InputError, match="no PEM certificate"):
        expiry(tmp_path / "other")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["webhook", "certs", "--out", str(tmp_path / "new"), "--host", "a.example", "--host", "b.example"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "new" / name) for name in ("ca.crt", "tls.crt", "tls.key")]
    (tmp_path / "new" / "ca.crt").write_text("broken")
    assert main(["webhook", "certs", "--out", str(tmp_path / "new"), "--host", "a.example"]) == 2
    assert "ca.crt: holds no PEM certificate" in capsys.readouterr().err
