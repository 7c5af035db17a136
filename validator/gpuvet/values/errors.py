"""The one exception root. Everything that gpuvet raises on purpose is a `GpuvetError`; its text is meant for people."""


class GpuvetError(Exception):
    """Root of all errors that gpuvet raises on purpose. The message names the file, line and key and says what to do."""


class UsageError(GpuvetError):
    """The command line asks for something that cannot be done."""


class ConfigError(GpuvetError):
    """A configuration file, bundle or rule file is wrong."""


class InputError(GpuvetError):
    """An input cannot be read at all."""


class StaleError(GpuvetError):
    """A generated file does not fit its source; the message names the command that renews it."""
