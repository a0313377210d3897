/** A web server for pods: answers with its name and the request, redirects, links, and WebSockets. */
import { createRequire } from 'node:module';
import type { Container } from '../../src/api/generated/types.ts';
import { program } from './running.ts';

const source = `
  const { createServer } = require('node:http');
  const { WebSocketServer } = require(process.argv[1]);
  const { POD: pod, PORT: port } = process.env;
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    const { pathname } = new URL(url, 'http://x');
    if (pathname === '/redirect') return response.writeHead(302, { Location: '/target?a=b' }).end();
    if (pathname === '/page')
      return response.setHeader('Content-Type', 'text/html').end('<a href="/target">x</a><img src=\\'rel.png\\'>');
    if (pathname === '/mirror') return request.pipe(response);
    if (pathname === '/missing') return response.writeHead(404).end('not here');
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ pod, method, url, headers }));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.on('message', (data, binary) => socket.send(data, { binary })));
  server.listen(Number(port));
`;

/** Resolve `ws` here: the pod has no node_modules. */
const websockets = createRequire(import.meta.url).resolve('ws');

export const webServer = (port: number): Container => ({
  ...program(source, [websockets]),
  env: [
    { name: 'PORT', value: String(port) },
    { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ],
  ports: [{ name: 'web', containerPort: port }],
  readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
});
