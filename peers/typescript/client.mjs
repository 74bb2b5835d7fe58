// Client driver for the TypeScript SDK: connect once, list the tools once, print one JSON line.
// The contract is docs/driver.md.
//
// The SDK runs in a worker thread, so that the watchdog and the signal handlers below hold even when the SDK
// never yields. The main thread never loads it.

import childProcess from 'node:child_process';
import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const SDK = '@modelcontextprotocol/client';
// The SDK does not export its list of modern versions.
const MODERN_VERSIONS = ['2026-07-28'];
// Both are declared in ../typescript.toml.
const PROBE_TIMEOUT_MS = 1500;
const REQUEST_TIMEOUT_MS = 5000;
const TIMEOUT_MS = 20_000;
// The SDK's own close takes up to 4 s: end of input, 2 s, SIGTERM, 2 s, SIGKILL.
const LEFTOVER_GRACE_MS = 6000;
const MESSAGE_LIMIT = 2000;

const EXIT_BROKEN = 1;
const EXIT_USAGE = 2;
const EXIT_UNSUPPORTED = 89;

if (isMainThread) {
    supervise(readOptions());
} else {
    drive(workerData).catch(error => parentPort.postMessage({ broken: describe(error) }));
}

function readOptions() {
    const number = (name, text) => {
        const value = Number(text);
        if (!Number.isInteger(value) || value <= 0) giveUp(EXIT_USAGE, `--${name} needs a positive whole number, not ${text}`);
        return value;
    };
    let parsed;
    try {
        parsed = parseArgs({
            allowPositionals: true,
            options: {
                mode: { type: 'string', default: 'auto' },
                'probe-timeout-ms': { type: 'string', default: String(PROBE_TIMEOUT_MS) },
                'timeout-ms': { type: 'string', default: String(TIMEOUT_MS) },
                url: { type: 'string' }
            }
        });
    } catch (error) {
        giveUp(EXIT_USAGE, error.message);
    }
    const { values, positionals } = parsed;
    if ((values.url === undefined) === (positionals.length === 0)) {
        giveUp(EXIT_USAGE, 'say which server: --url URL, or a command after --');
    }
    if (values.url !== undefined && !URL.canParse(values.url)) giveUp(EXIT_USAGE, `--url needs a URL, not ${values.url}`);
    return {
        mode: values.mode,
        probeTimeoutMs: number('probe-timeout-ms', values['probe-timeout-ms']),
        timeoutMs: number('timeout-ms', values['timeout-ms']),
        url: values.url,
        server: positionals
    };
}

/** Main thread: runs the worker, keeps the time, prints the line, leaves no process behind. */
function supervise(options) {
    const report = {
        schema: 1,
        ...installedSdk(),
        connected: false,
        era: null,
        protocol_version: null,
        tools: null,
        error: null
    };
    const children = new Set();
    let stage = 'connect';

    const killChildren = () => {
        for (const pid of children) {
            try {
                process.kill(pid, 'SIGKILL');
            } catch {
                // It has just exited.
            }
        }
    };
    const finish = () => {
        killChildren();
        fs.writeSync(1, `${JSON.stringify(report)}\n`);
        process.exit(0);
    };
    const closeThenFinish = () => {
        const deadline = Date.now() + LEFTOVER_GRACE_MS;
        const poll = () => {
            if (children.size > 0 && Date.now() < deadline) return void setTimeout(poll, 10);
            if (children.size > 0) {
                report.error ??= { stage: 'close', message: `the SDK left ${children.size} server process(es) running` };
            }
            finish();
        };
        poll();
    };

    setTimeout(() => {
        report.error = { stage, message: `driver time-out after ${options.timeoutMs} ms` };
        finish();
    }, options.timeoutMs);
    for (const [signal, number] of [['SIGHUP', 1], ['SIGINT', 2], ['SIGTERM', 15]]) {
        process.on(signal, () => {
            killChildren();
            process.exit(128 + number);
        });
    }

    const worker = new Worker(new URL(import.meta.url), { workerData: options, stdout: true });
    // The SDK writes to the console (console.debug), and our stdout is for the one line.
    worker.stdout.on('data', chunk => fs.writeSync(2, chunk));
    worker.on('message', message => {
        if (message.spawned) children.add(message.spawned);
        if (message.exited) children.delete(message.exited);
        if (message.learned) Object.assign(report, message.learned);
        if (message.stage) stage = message.stage;
        if (message.failed) report.error ??= { stage, message: message.failed };
        if (message.closed) closeThenFinish();
        if (message.unsupported) giveUp(EXIT_UNSUPPORTED, message.unsupported);
        if (message.broken) giveUp(EXIT_BROKEN, message.broken);
    });
    // What the SDK throws outside of its calls would have ended its host: a fact about the SDK, not our failure.
    worker.on('error', error => {
        report.error ??= { stage, message: `uncaught: ${describe(error)}` };
        finish();
    });
    worker.on('exit', code => {
        report.error ??= { stage, message: `uncaught: the SDK ended its host with exit code ${code}` };
        finish();
    });
}

function installedSdk() {
    try {
        const entry = createRequire(import.meta.url).resolve(SDK);
        const manifest = fs.readFileSync(path.join(path.dirname(entry), '../package.json'), 'utf8');
        const { name, version } = JSON.parse(manifest);
        return { sdk: name, version };
    } catch (error) {
        giveUp(EXIT_BROKEN, `${SDK} is not installed (${error.message}); run: peers/install typescript`);
    }
}

/** Worker thread: everything that touches the SDK. */
async function drive({ mode, probeTimeoutMs, url, server }) {
    const post = message => parentPort.postMessage(message);
    // A promise that nothing can settle any more must look like the hang it is, not like an exit.
    setInterval(() => {}, 1 << 30);
    reportChildren(post);
    const { Client, StreamableHTTPClientTransport, SUPPORTED_PROTOCOL_VERSIONS } = await import(SDK);
    // Not a subclass: for subclasses the SDK probes in place instead of on a second process.
    const { StdioClientTransport } = await import(`${SDK}/stdio`);

    const negotiation = clientOptions(mode, probeTimeoutMs, SUPPORTED_PROTOCOL_VERSIONS);
    if (negotiation === undefined) return post({ unsupported: `this SDK has no mode ${mode}` });
    const client = new Client({ name: 'mcp-parley-driver', version: '0' }, negotiation);
    const transport = url
        ? new StreamableHTTPClientTransport(new URL(url))
        : new StdioClientTransport({ command: server[0], args: server.slice(1) });
    try {
        await client.connect(transport, { timeout: REQUEST_TIMEOUT_MS });
        post({
            stage: 'call',
            learned: {
                connected: true,
                era: client.getProtocolEra() ?? null,
                protocol_version: client.getNegotiatedProtocolVersion() ?? null
            }
        });
        const { tools } = await client.listTools(undefined, { timeout: REQUEST_TIMEOUT_MS });
        post({ learned: { tools: tools.length } });
    } catch (error) {
        post({ failed: describe(error) });
    }
    try {
        post({ stage: 'close' });
        await client.close();
    } catch (error) {
        post({ failed: describe(error) });
    }
    post({ closed: true });
}

/** The SDK's options for a mode, or undefined where it has none. */
function clientOptions(mode, probeTimeoutMs, legacyVersions) {
    const probe = { timeoutMs: probeTimeoutMs };
    if (mode === 'auto') return { versionNegotiation: { mode: 'auto', probe } };
    if (mode === 'legacy') return { versionNegotiation: { mode: 'legacy' } };
    // A list without a legacy version makes a client that cannot fall back.
    if (mode === 'modern') return { versionNegotiation: { mode: 'auto', probe }, supportedProtocolVersions: MODERN_VERSIONS };
    const version = mode.startsWith('pin:') ? mode.slice('pin:'.length) : undefined;
    if (MODERN_VERSIONS.includes(version)) return { versionNegotiation: { mode: { pin: version }, probe } };
    // The SDK pins modern versions only; a list of one legacy version offers that one and refuses any other.
    if (legacyVersions.includes(version)) return { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: [version] };
    return undefined;
}

/** The SDK keeps its probe process to itself, so learn of every process where it is started. */
function reportChildren(post) {
    const { spawn } = childProcess;
    childProcess.spawn = (...args) => {
        const child = spawn(...args);
        if (child.pid !== undefined) {
            post({ spawned: child.pid });
            child.once('exit', () => post({ exited: child.pid }));
        }
        return child;
    };
    syncBuiltinESMExports();
}

function describe(error) {
    if (!(error instanceof Error)) return String(error).slice(0, MESSAGE_LIMIT);
    const kind = [error.name, error.code].filter(Boolean).join(' ');
    return `${kind}: ${error.message}`.slice(0, MESSAGE_LIMIT);
}

function giveUp(code, message) {
    fs.writeSync(2, `typescript driver: ${message}\n`);
    process.exit(code);
}
