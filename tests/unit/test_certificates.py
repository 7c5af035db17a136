"""A CA, a serving certificate, and their rotation."""

import socket
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gpuvet.admission.certificates import expiry, make_certificates, read_certificates, trusted
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


def test_chain_of_certificates_is_trusted(tmp_path: Path) -> None:
    """A serving certificate, an authority in between behind it, and the root in the bundle."""
    now = datetime.now(UTC)

    def signed(name: str, key: ec.EllipticCurvePrivateKey, issuer: str, by: ec.EllipticCurvePrivateKey, days: int) -> x509.Certificate:
        def called(text: str) -> x509.Name:
            return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

        builder = x509.CertificateBuilder().subject_name(called(name)).issuer_name(called(issuer)).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=2))
        builder = builder.not_valid_after(now + timedelta(days=days))
        return builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("*.b.svc")]), critical=False).sign(by, hashes.SHA256())

    def pem(*certificates: x509.Certificate) -> bytes:
        return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)

    root_key, middle_key, leaf_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    root = signed("root", root_key, "root", root_key, 100)
    middle = signed("middle", middle_key, "root", root_key, 50)
    leaf = signed("leaf", leaf_key, "middle", middle_key, 60)
    assert trusted(pem(root), pem(leaf, middle), "a.b.svc")[0] == ""
    assert 49 < trusted(pem(root), pem(leaf, middle), "a.b.svc")[1] <= 50
    assert trusted(pem(middle), pem(leaf), "a.b.svc")[0] == ""
    assert trusted(pem(leaf), pem(leaf), "a.b.svc")[0] == ""
    assert trusted(pem(root), pem(leaf), "a.b.svc")[0] == "no CA of the bundle has signed it"
    assert "not for a.c.svc" in trusted(pem(root), pem(leaf, middle), "a.c.svc")[0]
    assert "not for b.svc" in trusted(pem(root), pem(leaf, middle), "b.svc")[0]
    ended = signed("root", root_key, "root", root_key, -1)
    assert trusted(pem(ended), pem(leaf, middle), "a.b.svc")[0] == "the CA that signed it has ended"


@pytest.mark.parametrize("leftover", [0o644, 0o600])
def test_key_is_nobody_elses_after_an_interrupted_run(tmp_path: Path, leftover: int) -> None:
    (tmp_path / "tls.key.new").write_text("half")
    (tmp_path / "tls.key.new").chmod(leftover)
    make_certificates(tmp_path, ["localhost"])
    assert stat.S_IMODE((tmp_path / "tls.key").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "m\u00fcller.de"], "is neither a DNS name"),
        (["--host", ""], "is neither a DNS name"),
        (["--host", "a b"], "is neither a DNS name"),
        (["--host", "a", "--days", "-5"], "--days -5: between 0 and 36500"),
        (["--host", "a", "--days", "99999999"], "between 0 and 36500"),
        (["--host", "a", "--out", "/proc/none"], "/proc/none: cannot be written"),
    ],
    ids=range(6),
)
def test_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str) -> None:
    assert main(["webhook", "certs", "--out", str(tmp_path / "new"), *options]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_server_says_why_it_does_not_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        make_certificates(tmp_path / name, ["localhost"])
    (tmp_path / "junk").write_text("junk")
    cert, key = tmp_path / "a" / "tls.crt", tmp_path / "a" / "tls.key"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for changed, words in (
            ({"--tls-key": tmp_path / "b" / "tls.key"}, "is not the key of"),
            ({"--tls-key": tmp_path / "junk"}, "holds no unencrypted key in PEM"),
            ({"--tls-cert": tmp_path / "junk"}, "holds no PEM certificate"),
            ({"--tls-cert": tmp_path / "none"}, "`gpuvet webhook certs --out DIR --host NAME` makes a pair"),
            ({"--port": 0}, "between 1 and 65535"),
            ({"--port": taken.getsockname()[1]}, "cannot listen there"),
            ({"--host": "localhost.example"}, "is no IP address"),
        ):
            options = {"--host": "127.0.0.1", "--port": 1024, "--tls-cert": cert, "--tls-key": key} | changed
            assert main(["webhook", "serve", *(str(word) for each in options.items() for word in each)]) == 2
            assert words in capsys.readouterr().err


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["webhook", "certs", "--out", str(tmp_path / "new"), "--host", "a.example", "--host", "b.example"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "new" / name) for name in ("ca.crt", "tls.crt", "tls.key")]
    (tmp_path / "new" / "ca.crt").write_text("broken")
    assert main(["webhook", "certs", "--out", str(tmp_path / "new"), "--host", "a.example"]) == 2
    assert "ca.crt: holds no PEM certificate" in capsys.readouterr().err
