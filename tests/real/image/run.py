"""Builds deploy/Dockerfile and runs the webhook from it as a cluster would: `make image`. Needs root, Debian's buildah and mmdebstrap.

No registry is asked: unless `--base IMAGE` names one that may be pulled, the base is made from Debian's own packages. The container is the
image's file system, read-only and without a place to write, as user 65532 without any privilege, with the arguments of our Deployment.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from gpuvet import __version__
from gpuvet.admission.certificates import make_certificates
from gpuvet.admission.install import Plan, manifests
from webhook.reviews import body, deployment, quiet
from webhook.server import WebhookServer

ROOT = Path(__file__).parents[3]
TOOLS = ("buildah", "mmdebstrap", "unshare", "chroot", "setpriv")
PACKAGES = "python3,python3-venv,python-is-python3,ca-certificates"
SUITE = "trixie"
ENTER = """\
set -e
root=$1; certs=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mkdir -p "$root/etc/gpuvet/tls"
mount --bind "$certs" "$root/etc/gpuvet/tls"
mount -o remount,ro,bind "$root/etc/gpuvet/tls"
mount -t proc proc "$root/proc"
mount -t tmpfs -o size=64k tmpfs "$root/dev"
for device in null zero urandom; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mount -o remount,ro "$root/dev"
mount -o remount,ro,bind "$root"
exec env -i "PATH=$GPUVET_PATH:/usr/sbin:/sbin" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \\
    chroot "$root" setpriv --reuid 65532 --regid 65532 --clear-groups --bounding-set=-all --no-new-privs "$@"
"""


class Image:
    """What buildah built, mounted."""

    def __init__(self, work: Path, base: str | None) -> None:
        self._work = work
        (work / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        self._make(base or self._debian())
        self.container = self._buildah("from", *self._trust(), "localhost/gpuvet:test")
        self.root = self._buildah("mount", self.container)
        described = json.loads(self._buildah("inspect", "--type", "image", "localhost/gpuvet:test"))["OCIv1"]["config"]
        assert described["User"] == "65532:65532", described
        assert described["Entrypoint"] == ["gpuvet"], described
        self.path = next(entry for entry in described["Env"] if entry.startswith("PATH=")).removeprefix("PATH=")

    def _trust(self) -> list[str]:
        return ["--signature-policy", str(self._work / "policy.json")]

    def _buildah(self, *arguments: str) -> str:
        command = ["buildah", "--root", str(self._work / "store"), "--runroot", str(self._work / "run"), *arguments]
        environment = {**os.environ, "BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout.strip()

    def _debian(self) -> str:
        archive = self._work / "base.tar"
        command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(archive)]
        subprocess.run([*command, "http://deb.debian.org/debian"], check=True)
        container = self._buildah("from", *self._trust(), "scratch")
        self._buildah("add", container, str(archive), "/")
        self._buildah("commit", *self._trust(), container, "localhost/base:test")
        return "localhost/base:test"

    def _make(self, base: str) -> None:
        source = self._work / "source"
        source.mkdir()
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        for name in filter(None, listed):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy(ROOT / name, source / name)
        certificates = ["--volume", "/etc/ssl/certs:/etc/ssl/certs:ro"]
        options = [*self._trust(), *certificates, "--build-arg", f"BASE={base}", "--file", str(source / "deploy" / "Dockerfile")]
        self._buildah("bud", *options, "--tag", "localhost/gpuvet:test", str(source))

    def close(self) -> None:
        """Removes everything that buildah holds."""
        self._buildah("umount", self.container)
        self._buildah("rm", "--all")
        self._buildah("rmi", "--all", "--force")

    def enter(self, certs: Path, *arguments: str) -> list[str]:
        """The command that runs the image's `gpuvet` or another program."""
        return ["unshare", "--mount", "--", "env", f"GPUVET_PATH={self.path}", "sh", "-c", ENTER, "sh", self.root, str(certs), *arguments]


class Contained(WebhookServer):
    """The webhook in the image."""

    def __init__(self, folder: Path, image: Image) -> None:
        super().__init__(folder)
        self._image = image

    def command(self) -> list[str]:
        (pod,) = (each["spec"]["template"]["spec"] for each in manifests(Plan()) if each["kind"] == "Deployment")
        arguments = [argument for argument in pod["containers"][0]["args"] if not argument.startswith("--port=")]
        return self._image.enter(self.folder, "gpuvet", *arguments, "--host=127.0.0.1", f"--port={self.port}")


def main() -> None:
    """Says what was seen; fails with an AssertionError or a message."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", help="a base image to pull instead of one made of Debian's packages")
    options = parser.parse_args()
    missing = [tool for tool in TOOLS if shutil.which(tool) is None and not (options.base and tool == "mmdebstrap")]
    if missing or os.geteuid():
        raise SystemExit(f"building an image needs root and {', '.join(missing or TOOLS)}: apt-get install buildah mmdebstrap")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        work.chmod(0o755)
        image = Image(work, options.base)
        try:
            look(image, work)
        finally:
            image.close()


def look(image: Image, work: Path) -> None:
    """Everything that must hold."""
    certs = work / "certs"
    make_certificates(certs, ["127.0.0.1"])
    for file in certs.iterdir():
        file.chmod(0o644)
    write = 'for folder in / /tmp /opt/gpuvet; do touch "$folder/x" 2>/dev/null && echo written; done'
    tried = f"id -u; python --version; gpuvet --version; {write}; true"
    seen = subprocess.run(image.enter(certs, "sh", "-c", tried), capture_output=True, text=True, check=True).stdout.splitlines()
    assert seen[0] == "65532", seen
    assert seen[2:] == [f"gpuvet {__version__}"], seen
    size = subprocess.run(["du", "--summarize", "--block-size=1M", f"{image.root}/opt/gpuvet"], capture_output=True, text=True, check=True)
    print(f"image: {seen[1]}, user {seen[0]}, nothing can be written, {size.stdout.split()[0]} MB above the base")
    server = Contained(certs, image)
    print(f"webhook: ready after {server.start():.2f} s")
    assert server.validate(body(quiet()))["allowed"] is True
    denied = server.validate(body(deployment("20", "10")))
    assert denied["allowed"] is False
    assert "[TF013]" in denied["status"]["message"]
    assert server.metric("gpuvet_reviews_total") == 2
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 15, "not stopped within its grace period"
    print(f"webhook: allows, denies, counts, and ends {time.monotonic() - start:.1f} s after SIGTERM")


if __name__ == "__main__":
    main()
