// The reference "everything" server over Streamable HTTP: node everything-http.mjs PORT. It listens on all interfaces,
// and has no option for it: the address is set where node takes it. It prints its own lines on stdout.

import net from 'node:net';
import process from 'node:process';

const [port] = process.argv.splice(2, process.argv.length, 'streamableHttp');
process.env.PORT = port;
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (port, ...rest) {
    return listen.call(this, port, '127.0.0.1', ...rest);
};
await import('./node_modules/@modelcontextprotocol/server-everything/dist/index.js');
