// A minimal server on the TypeScript SDK over stdio: one tool, both eras. It is put on trial by `mcp-parley server`.

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(
    () => {
        const server = new McpServer({ name: 'mcp-parley-typescript-server', version: '0' });
        server.registerTool(
            'echo',
            { description: 'Returns its text.', inputSchema: z.object({ text: z.string() }) },
            ({ text }) => ({ content: [{ type: 'text', text }] })
        );
        return server;
    },
    // stdout is the protocol's.
    { onerror: error => console.error(error) }
);
