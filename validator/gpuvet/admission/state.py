"""The rules of the webhook: loaded, swapped as a whole when their files change, the last good ones kept when they break."""

import hashlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path as FilePath

from gpuvet.admission.review import RuleState
from gpuvet.engine.conditions import OTHERS, WHOLE
from gpuvet.engine.context import Context
from gpuvet.engine.domains import Domains
from gpuvet.engine.judge import Judge
from gpuvet.engine.outside import Outside
from gpuvet.engine.ruleset import RuleSet
from gpuvet.manifests.workloads import INDEX
from gpuvet.scan.rules import rule_set
from gpuvet.settings.config import Settings, load_settings
from gpuvet.values.errors import GpuvetError

log = logging.getLogger("gpuvet.webhook")


Ask = Callable[[Settings], tuple[Outside, ...]]
"""Makes the engines that the settings want asked, too. May raise GpuvetError."""


def nobody(settings: Settings) -> tuple[Outside, ...]:
    """Asks no engine."""
    return ()


def load_state(config: FilePath | None, context: Context, ask: Ask = nobody, bundle: str | None = None) -> RuleState:
    """`bundle` wins over the configuration's. Raises GpuvetError when the configuration, bundle or a rule file is wrong."""
    settings = load_settings(config, bundle)
    rules = rule_set(settings)
    seen = RuleSet([rule for rule in rules.rules if rule.info.sees == "object" and rule.info.kind != "input"], settings.usage_key)
    for rule in seen.rules:
        # The first review is not to wait for imports.
        _ = rule.screen, rule.function
    rows = settings.workloads
    judge = Judge(seen, rows, settings.platform, domains=Domains(settings.domains))
    owners = frozenset(INDEX if rows is None else rows)
    return RuleState(judge, context, rules_digest(seen, settings), owners, ask(settings))


def kinds_of(state: RuleState) -> frozenset[str]:
    """That the webhook may be asked about."""
    others = {other.kind for other in (*OTHERS, *WHOLE)} | {kind for rule in state.judge.rules.rules for kind in rule.kinds}
    return frozenset(kind for _, kind in state.owners) | {kind.partition(".")[0] for kind in others}


def rules_digest(rules: RuleSet, settings: Settings) -> str:
    """Of everything that decides a verdict: rules, severities, parameters, platform versions."""
    digest = hashlib.blake2b(digest_size=8)
    for rule in rules.rules:
        digest.update(repr((rule.info, rule.severity, sorted(rule.parameters.items(), key=lambda item: item[0]))).encode())
    digest.update(repr((sorted(settings.platform.items()), sorted(settings.domains.items()))).encode())
    if settings.opa is not None:
        digest.update(repr((settings.opa.url, settings.opa.packages, settings.opa.denies_when_silent)).encode())
    for name in settings.rule_files:
        digest.update((settings.folder / name).read_bytes())
    return digest.hexdigest()


class RuleWatch:
    """Holds the state in force and looks every `interval` seconds whether its files have changed."""

    def __init__(
        self, config: FilePath | None, context: Context, interval: float, told: Callable[[bool, RuleState], None], ask: Ask = nobody
    ) -> None:
        """`told(ok, state)` hears of every load. Raises GpuvetError when the first load fails."""
        self._config = config
        self._context = context
        self._interval = interval
        self._told = told
        self._ask = ask
        self._folders = _folders(config)
        self._seen = self._signature()
        self.state = load_state(config, context, ask=ask)
        told(True, self.state)
        self._stop = threading.Event()

    def start(self) -> None:
        """Watches in a thread that ends with the process."""
        threading.Thread(target=self._watch, name="rules", daemon=True).start()

    def stop(self) -> None:
        """Ends the watching."""
        self._stop.set()

    def look(self) -> None:
        """Reloads if a file has changed; a set that cannot be loaded leaves the last good one in force."""
        if self._signature() == self._seen:
            return
        self._folders |= _folders(self._config)
        self._seen = self._signature()
        try:
            state = load_state(self._config, self._context, ask=self._ask)
        except Exception as error:  # noqa: BLE001 - whatever a file does to its readers, the watching goes on
            why = str(error) if isinstance(error, GpuvetError | OSError) else f"{type(error).__name__}: {error}"
            log.error("rules not reloaded, the last good set stays in force: %s", why)
            self._told(False, self.state)
            return
        self.state = state
        log.info("rules reloaded, digest %s", state.digest)
        self._told(True, state)

    def _watch(self) -> None:
        while not self._stop.wait(self._interval):
            self.look()

    def _signature(self) -> bytes:
        """Of the files in the folders of the configuration and of what it names: a mounted ConfigMap is swapped there as a whole."""
        digest = hashlib.blake2b(digest_size=16)
        for folder in sorted(self._folders):
            for path in sorted((*folder.glob("*.yaml"), *folder.glob("*.yml"))):
                digest.update(bytes(path) + b"\0")
                try:
                    digest.update(path.read_bytes())
                except OSError:
                    digest.update(b"\0")
        return digest.digest()


def _folders(config: FilePath | None) -> set[FilePath]:
    """Of the configuration, and of rule files and a bundle that it names, as far as it can be read."""
    if config is None:
        return set()
    try:
        settings = load_settings(config)
    except Exception:  # noqa: BLE001 - told when rules are loaded
        return {config.parent}
    named = [*settings.rule_files, *([settings.bundle] if settings.bundle.endswith((".yaml", ".yml")) else [])]
    return {config.parent, *((settings.folder / name).parent for name in named)}
