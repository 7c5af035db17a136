"""`gpuvet webhook`: serve, certs, manifests, doctor."""

import argparse
import sys
from pathlib import Path as FilePath
from typing import Any

from gpuvet import __version__


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
    serve.add_argument("--tls-key", required=True, metavar="FILE", help="in PEM, not encrypted")
    serve.add_argument("--config", metavar="FILE", help="a .gpuvet.yaml; its folder is watched for changes")
    serve.add_argument("--cluster", action="store_true", help="know profiles, nodes and devices of the cluster (needs gpuvet[cluster])")
    serve.set_defaults(run=run_serve)
    certs = actions.add_parser("certs", help="make a self-signed CA and a serving certificate, or rotate them")
    certs.add_argument("--out", required=True, metavar="DIR", help="for ca.crt, tls.crt, tls.key")
    certs.add_argument("--host", required=True, action="append", metavar="NAME", help="DNS name or IP address; may be repeated")
    certs.add_argument("--days", type=int, default=365)
    certs.set_defaults(run=run_certs)
    manifests = actions.add_parser("manifests", help="print everything that runs the webhook in a cluster")
    manifests.add_argument("--namespace", default="gpuvet-system")
    manifests.add_argument("--name", default="gpuvet", help="of the webhook, and the first part of all other names")
    manifests.add_argument("--image", default=f"gpuvet:{__version__}")
    manifests.add_argument("--replicas", type=int, default=2)
    manifests.add_argument("--config", metavar="FILE", help="a .gpuvet.yaml, put into a ConfigMap with the rule files beside it")
    manifests.add_argument(
        "--ca", metavar="FILE", help="the CA bundle, as `gpuvet webhook certs` writes it (default: cert-manager fills it in)"
    )
    manifests.add_argument("--failure-policy", choices=["Ignore", "Fail"], help="default: Fail with the bundle strict, else Ignore")
    manifests.add_argument("--cluster", action="store_true", help="let the webhook read profiles, nodes and devices of the cluster")
    manifests.add_argument("--url", help="where the webhook is reached when it runs outside the cluster")
    manifests.add_argument("--only", choices=["configuration"], help="print the ValidatingWebhookConfiguration alone")
    manifests.set_defaults(run=run_manifests)
    doctor = actions.add_parser("doctor", help="look at an installed webhook and say what to do (needs gpuvet[cluster])")
    doctor.add_argument("--namespace", default="gpuvet-system")
    doctor.add_argument("--name", default="gpuvet")
    doctor.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig (default: as kubectl finds it)")
    doctor.add_argument("--context", help="of the kubeconfig (default: the current one)")
    doctor.set_defaults(run=run_doctor)


def run_serve(options: argparse.Namespace) -> int:
    """The exit code. Raises GpuvetError when rules or certificates cannot be loaded."""
    from gpuvet.admission.serve import Options, serve
    from gpuvet.cli.outside import outside
    from gpuvet.settings.config import load_settings

    outside(load_settings(FilePath(options.config) if options.config else None))
    serve(
        Options(options.host, options.port, options.tls_cert, options.tls_key, options.config, options.cluster),
        "gpuvet.cli.worker:application",
    )
    return 0


def run_manifests(options: argparse.Namespace) -> int:
    """The exit code. Raises ConfigError when the configuration is wrong."""
    from gpuvet.admission.install import Plan, manifests, unknown_kinds, webhook_configuration
    from gpuvet.manifests.written import to_yaml

    watched: tuple[tuple[str, str], ...] = ()
    if options.cluster:
        from gpuvet.cluster.watch import KINDS

        watched = tuple(kind.resource for kind in KINDS)
    plan = Plan(
        options.namespace,
        options.name,
        options.image,
        options.replicas,
        options.config,
        options.failure_policy,
        _ca(options.ca),
        options.url,
        watched,
    )
    for kind in unknown_kinds(options.config):
        print(f"gpuvet: rules speak of {kind}, which the webhook is not asked about: its resource is not known", file=sys.stderr)
    sys.stdout.write(to_yaml([webhook_configuration(plan)] if options.only else manifests(plan)))
    return 0


def run_doctor(options: argparse.Namespace) -> int:
    """0 when nothing is wrong, 1 with errors. Raises UsageError when no cluster is configured."""
    from gpuvet.cli.outside import need_cluster

    need_cluster()
    from gpuvet.admission.certificates import trusted
    from gpuvet.cluster.access import Cluster
    from gpuvet.cluster.doctor import asking, diagnose

    ask = asking(Cluster(options.kubeconfig, options.context, 10))
    errors = 0
    for found in diagnose(ask, trusted, options.namespace, options.name, __version__):
        errors += found.state == "error"
        print(f"{found.state:8}{found.text}" + (f"\n        -> {found.cure}" if found.cure else ""))
    return 1 if errors else 0


def _ca(name: str | None) -> bytes | None:
    if name is None:
        return None
    from gpuvet.admission.certificates import expiry

    expiry(FilePath(name))
    return FilePath(name).read_bytes()


def run_certs(options: argparse.Namespace) -> int:
    """The exit code. Raises InputError when an old ca.crt cannot be read."""
    from gpuvet.admission.certificates import make_certificates

    folder = FilePath(options.out)
    for name in make_certificates(folder, options.host, options.days):
        print(folder / name)
    return 0
