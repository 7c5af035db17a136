"""`gpuvet webhook`: serve, certs, manifests, doctor."""

import argparse
from pathlib import Path as FilePath
from typing import Any


def register(commands: Any) -> None:
    """Adds the subcommands."""
    parser = commands.add_parser(
        "webhook",
        help="run and install the validating admission webhook (needs gpuvet[webhook])",
        description="The same verdict at `kubectl apply`, from a server that cannot hurt the cluster.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    serve = actions.add_parser("serve", help="answer admission reviews over TLS")
    serve.add_argument("--host", default="0.0.0.0", help="address to listen on (default: all)")  # noqa: S104
    serve.add_argument("--port", type=int, default=8443)
    serve.add_argument("--tls-cert", required=True, metavar="FILE")
    serve.add_argument("--tls-key", required=True, metavar="FILE", help="in PKCS#8")
    serve.add_argument("--config", metavar="FILE", help="a .gpuvet.yaml; its folder is watched for changes")
    serve.add_argument("--cluster", action="store_true", help="know profiles, nodes and devices of the cluster (needs gpuvet[cluster])")
    serve.set_defaults(run=run_serve)
    certs = actions.add_parser("certs", help="make a self-signed CA and a serving certificate, or rotate them")
    certs.add_argument("--out", required=True, metavar="DIR", help="for ca.crt, tls.crt, tls.key")
    certs.add_argument("--host", required=True, action="append", metavar="NAME", help="DNS name or IP address; may be repeated")
    certs.add_argument("--days", type=int, default=365)
    certs.set_defaults(run=run_certs)


def run_serve(options: argparse.Namespace) -> int:
    """The exit code. Raises GpuvetError when rules or certificates cannot be loaded."""
    from gpuvet.admission.serve import Options, serve

    serve(
        Options(options.host, options.port, options.tls_cert, options.tls_key, options.config, options.cluster),
        "gpuvet.cli.worker:application",
    )
    return 0


def run_certs(options: argparse.Namespace) -> int:
    """The exit code. Raises InputError when an old ca.crt cannot be read."""
    from gpuvet.admission.certificates import make_certificates

    folder = FilePath(options.out)
    for name in make_certificates(folder, options.host, options.days):
        print(folder / name)
    return 0
