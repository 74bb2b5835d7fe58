// A minimal server on the TypeScript SDK: one tool, both eras. It is put on trial by `mcp-parley server`.
// Without options it speaks over stdio. `--http [--port PORT]` (0: any) listens on 127.0.0.1 and prints its URL on the
// first line; `--sessions` gives legacy clients a session each, which the SDK leaves to the host to wire.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import {
    createMcpHandler,
    isLegacyRequest,
    McpServer,
    WebStandardStreamableHTTPServerTransport
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const { values } = parseArgs({
    options: {
        http: { type: 'boolean', default: false },
        port: { type: 'string', default: '0' },
        sessions: { type: 'boolean', default: false }
    }
});
// stdout is the protocol's.
const onerror = error => console.error(error);

if (values.http) {
    serveHttp(Number(values.port), values.sessions ? withSessions() : createMcpHandler(newServer, { onerror }));
} else {
    serveStdio(newServer, { onerror });
}

function newServer() {
    const server = new McpServer({ name: 'mcp-parley-typescript-server', version: '0' });
    server.registerTool(
        'echo',
        { description: 'Returns its text.', inputSchema: z.object({ text: z.string() }) },
        ({ text }) => ({ content: [{ type: 'text', text }] })
    );
    return server;
}

function serveHttp(port, handler) {
    const handle = toNodeHandler(handler, { onerror });
    // The guards that the SDK's documentation puts before a plain node:http server.
    const hostIsLocal = localhostHostValidation();
    const originIsLocal = localhostOriginValidation();
    const listener = createServer((request, response) => {
        if (!hostIsLocal(request, response) || !originIsLocal(request, response)) return;
        if (new URL(request.url, 'http://localhost').pathname !== '/mcp') return void response.writeHead(404).end();
        handle(request, response);
    });
    listener.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
}

/** Modern requests as above, legacy ones by a transport for each session: the composition that the SDK documents. */
function withSessions() {
    const modern = createMcpHandler(newServer, { legacy: 'reject', onerror });
    const sessions = new Map();
    const fetch = async (request, options) => {
        if (!(await isLegacyRequest(request))) return modern.fetch(request, options);
        const id = request.headers.get('mcp-session-id');
        if (id !== null) return sessions.get(id)?.handleRequest(request) ?? new Response(null, { status: 404 });
        const transport = new WebStandardStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: id => void sessions.set(id, transport),
            onsessionclosed: id => void sessions.delete(id)
        });
        await newServer().connect(transport);
        return transport.handleRequest(request);
    };
    return { fetch };
}
