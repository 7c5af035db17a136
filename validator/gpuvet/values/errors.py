"""The one exception root. Everything that gpuvet raises on purpose is a `GpuvetError`; its text is meant for people."""


class GpuvetError(Exception):
    """Root of all errors that gpuvet raises on purpose. The message names the file, line and key and says what to do."""


class UsageError(GpuvetError):
    """The command line asks for something that cannot be done."""


class ConfigError(GpuvetError):
    """A configuration file, bundle or rule file is wrong."""


class InputError(GpuvetError):
    """An input cannot be read at all."""


class EngineError(GpuvetError):
    """An engine that was asked, such as OPA, gave no verdict: exit code 3. `reason` is one word, for metrics."""

    LASTING = frozenset(("unreachable", "timeout", "unauthorized", "tls", "redirect", "token", "nonsense", "empty"))
    """Reasons that will not go away by asking about another object."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def lasting(self) -> bool:
        """Whether asking about the next object is in vain."""
        return self.reason in self.LASTING


class StaleError(GpuvetError):
    """A generated file does not fit its source; the message names the command that renews it."""
