"""Client driver for the Python SDK: connect once, list the tools once, print one JSON line.

The contract is docs/driver.md. Nothing of the SDK is imported before the watchdog and the signal handlers are in place:
importing it takes seconds on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version

SDK = "mcp"
# Both are declared in ../python.toml.
PROBE_TIMEOUT_MS = 1500
REQUEST_TIMEOUT_MS = 5000
TIMEOUT_MS = 20_000
MESSAGE_LIMIT = 2000

EXIT_BROKEN = 1
EXIT_UNSUPPORTED = 89


def main() -> None:
    options = read_options()
    try:
        report = Report(version(SDK))
    except PackageNotFoundError:
        give_up(EXIT_BROKEN, f"{SDK} is not installed; run: peers/install python")
    children = Children()
    start_watchdog(options.timeout_ms, report, children)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: (children.kill(), os._exit(128 + number)))

    import anyio

    connection = choose_connection(options)
    try:
        anyio.run(drive, connection, report)
    except BaseException as error:  # even a stray cancellation or SystemExit is the SDK's answer, not our failure
        report.fail(error)
    if left := children.running():
        report.fail(f"the SDK left {left} server process(es) running")
    children.kill()
    report.print_and_exit()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Client driver for the Python SDK", allow_abbrev=False)
    parser.add_argument("--mode", default="auto", help="auto, legacy, modern or pin:VERSION")
    parser.add_argument("--probe-timeout-ms", type=positive, default=PROBE_TIMEOUT_MS)
    parser.add_argument("--timeout-ms", type=positive, default=TIMEOUT_MS)
    parser.add_argument("--url", help="the server's URL")
    parser.add_argument("server", nargs="*", help="the server's command, after --")
    options = parser.parse_args()
    if (options.url is None) == (not options.server):
        parser.error("say which server: --url URL, or a command after --")
    return options


def positive(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise ValueError(text)
    return value


async def drive(connection, report: Report) -> None:
    try:
        async with connection as client:
            report.connect(client.protocol_version)
            try:
                report.fields["tools"] = len((await client.list_tools()).tools)
            except Exception as error:
                report.fail(error)
            report.stage = "close"
    except Exception as error:
        report.fail(error)


def choose_connection(options: argparse.Namespace):
    """The SDK's own connection for a mode, not yet entered."""
    import mcp.client.session
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters
    from mcp_types import Implementation
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    # The SDK has no option for it: the probe's time-out is a constant of this module, read at each probe.
    mcp.client.session.DISCOVER_TIMEOUT_SECONDS = options.probe_timeout_ms / 1000

    server = options.url or StdioServerParameters(command=options.server[0], args=options.server[1:])
    settings = {
        "client_info": Implementation(name="mcp-parley-driver", version="0"),
        "read_timeout_seconds": REQUEST_TIMEOUT_MS / 1000,
    }
    if options.mode == "modern":
        return discover_only(server, settings)
    mode = options.mode.removeprefix("pin:")
    # A pinned version is adopted without a probe. The SDK pins modern versions only.
    if options.mode in ("auto", "legacy") or mode != options.mode and mode in MODERN_PROTOCOL_VERSIONS:
        return Client(server, mode=mode, **settings)
    give_up(EXIT_UNSUPPORTED, f"this SDK has no mode {options.mode}")


@asynccontextmanager
async def discover_only(server, settings):
    """Probe and never fall back. `Client` has no such mode, the session underneath it has."""
    from mcp.client.session import ClientSession
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    async with streamable_http_client(server) if isinstance(server, str) else stdio_client(server) as streams:
        async with ClientSession(*streams, **settings) as session:
            await session.discover()
            yield session


class Report:
    """The one line, and the only way out. The first failure is kept."""

    def __init__(self, sdk_version: str) -> None:
        self.stage = "connect"
        self.fields = {
            "schema": 1,
            "sdk": SDK,
            "version": sdk_version,
            "connected": False,
            "era": None,
            "protocol_version": None,
            "tools": None,
            "error": None,
        }
        self._printing = threading.Lock()
        # Whatever else writes to stdout from here on, the SDK included, writes to stderr.
        self._line = os.dup(1)
        os.dup2(2, 1)

    def connect(self, protocol_version: str) -> None:
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        era = "modern" if protocol_version in MODERN_PROTOCOL_VERSIONS else "legacy"
        self.fields.update(connected=True, era=era, protocol_version=protocol_version)
        self.stage = "call"

    def fail(self, error: BaseException | str) -> None:
        if self.fields["error"] is None:
            self.fields["error"] = {"stage": self.stage, "message": describe(error)}

    def time_out(self, timeout_ms: int) -> None:
        self.fields["error"] = {"stage": self.stage, "message": f"driver time-out after {timeout_ms} ms"}
        self.print_and_exit()

    def print_and_exit(self) -> None:
        self._printing.acquire()  # never released: the watchdog and the end of the work may meet here
        os.write(self._line, json.dumps(self.fields).encode() + b"\n")
        os._exit(0)


class Children:
    """Every process that the SDK starts. It puts each at the head of its own session and keeps the pid to itself."""

    def __init__(self) -> None:
        self._started = started = []

        class Popen(subprocess.Popen):
            def __init__(self, *args, **kwargs) -> None:
                super().__init__(*args, **kwargs)
                started.append(self)

        subprocess.Popen = Popen

    def running(self) -> int:
        return sum(child.returncode is None for child in self._started)

    def kill(self) -> None:
        for child in self._started:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            if child.returncode is None:
                try:
                    os.kill(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass


def start_watchdog(timeout_ms: int, report: Report, children: Children) -> None:
    def expire() -> None:
        children.kill()
        report.time_out(timeout_ms)

    timer = threading.Timer(timeout_ms / 1000, expire)
    timer.daemon = True
    timer.start()


def describe(error: BaseException | str) -> str:
    if isinstance(error, str):
        return error
    while getattr(error, "exceptions", None):  # an exception group of the SDK's task groups
        error = error.exceptions[0]
    code = getattr(error, "code", None)
    kind = type(error).__name__ if code is None else f"{type(error).__name__} {code}"
    return f"{kind}: {error}"[:MESSAGE_LIMIT]


def give_up(code: int, message: str) -> None:
    print(f"python driver: {message}", file=sys.stderr, flush=True)
    os._exit(code)


if __name__ == "__main__":
    main()
