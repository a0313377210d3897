/**
 * The yardsticks of the secure door: a bare `node:https` server, and a bare `node:http2` one, that answer every request
 * with a given number of bytes. Arguments: bytes, key file, certificate file.
 */
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';

const [, , bytes, key, cert] = process.argv;
const body = Buffer.alloc(Number(bytes), 'a');
const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
const options = { key: readFileSync(key), cert: readFileSync(cert) };
const servers = [
  createServer(options, (_request, response) => {
    response.writeHead(200, headers);
    response.end(body);
  }),
  createSecureServer(options).on('stream', (stream) => {
    stream.respond({ ':status': 200, ...headers });
    stream.end(body);
  }),
];
const ports = await Promise.all(
  servers.map(
    (server) =>
      new Promise((resolve) => {
        server.listen(0, '127.0.0.1', () => resolve(server.address().port));
      }),
  ),
);
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
process.send(ports.map((port) => `https://127.0.0.1:${port}`));
