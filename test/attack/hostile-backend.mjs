/**
 * A program for pods that attacks what connects to it: a server of HTTP, plain and over TLS, whose path says how it
 * misbehaves. `PORT` and `TLS_PORT` say where it listens, `CERT` and `KEY` what it shows; it prints a line per second.
 */
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

const { PORT, TLS_PORT, CERT, KEY } = process.env;
const megabyte = Buffer.alloc(1024 * 1024, 'x');

/** Writes the same bytes until the other side is gone, no faster than it reads. */
function forever(socket, bytes) {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', more);
  more();
}

/** One byte of a text after the other, and then the first again. */
function slowly(socket, text) {
  let at = 0;
  const timer = setInterval(() => socket.write(text[at++ % text.length]), 100);
  socket.on('close', () => clearInterval(timer));
}

const plain = (text, more = '') =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${more}\r\n${text}`;
const json = (value) => plain(JSON.stringify(value), 'Content-Type: application/json\r\n');
const list = (path, resources) =>
  json({ kind: 'APIResourceList', groupVersion: path.split('/').slice(2).join('/'), resources });
const resource = (name, more = {}) => ({
  name,
  singularName: '',
  namespaced: true,
  kind: 'Thing',
  verbs: ['get', 'list'],
  ...more,
});

/** By the first word of the path, or of the group in a path of the API. */
const ways = {
  fine: (socket) => socket.end(plain('fine')),
  hang: () => undefined,
  endless: (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n');
    forever(socket, megabyte);
  },
  'endless-head': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    forever(socket, Buffer.from('X-More: y\r\n'.repeat(1_000)));
  },
  'huge-header': (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nX-Huge: ${'y'.repeat(3_000_000)}\r\nContent-Length: 0\r\n\r\n`),
  'many-headers': (socket) => socket.end(plain('many', 'X: y\r\n'.repeat(5_000))),
  informing: (socket) => {
    forever(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n'.repeat(1_000)));
  },
  processing: (socket) => forever(socket, Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1_000))),
  continuing: (socket) => forever(socket, Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000))),
  switching: (socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: made-up\r\n\r\n');
    forever(socket, megabyte);
  },
  splitting: (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nX-A: b\rSet-Cookie: split=1\r\nContent-Length: 0\r\n\r\n'),
  'split-reason': (socket) => socket.end('HTTP/1.1 200 OK\rX-Split: 1\r\nContent-Length: 0\r\n\r\n'),
  'split-feed': (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nX-A: b\n\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
  'null-header': (socket) => socket.end('HTTP/1.1 200 OK\r\nX-A: b\0c\r\nContent-Length: 0\r\n\r\n'),
  'too-short': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nshort'),
  'too-long': (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst${plain('smuggled', 'X-Smuggled: 1\r\n')}`),
  'two-lengths': (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nfirst!'),
  'two-framings': (socket) =>
    socket.end(
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n',
    ),
  'bad-chunk': (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\nfirst'),
  'odd-code': (socket) => socket.end('HTTP/1.1 000 Odd\r\nContent-Length: 0\r\n\r\n'),
  'big-code': (socket) => socket.end('HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'),
  'not-http': (socket) => socket.end(megabyte),
  slow: (socket) => slowly(socket, 'HTTP/1.1 200 OK\r\nX-Slow: 1\r\n'),
  'slow-body': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
    slowly(socket, 'x');
  },
  redirect: (socket, path) =>
    socket.end(
      path.split('/').length === 4 && path.startsWith('/apis/')
        ? list(path, [resource('things')])
        : 'HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:1/stolen\r\nContent-Length: 0\r\n\r\n',
    ),
  // What a server of the API says of itself.
  core: (socket, path) =>
    socket.end(
      list(path, [
        resource('pods', { kind: 'Pod', group: '', version: 'v1', verbs: ['*'] }),
        resource('secrets', { kind: 'Secret', group: '', version: 'v1' }),
        resource('deployments', { kind: 'Deployment', group: 'apps', version: 'v1' }),
      ]),
    ),
  controls: (socket, path) =>
    socket.end(
      list(path, [resource('a\u001b[31m\u0000\r\nb'), resource('../../api/v1'), resource('__proto__')]),
    ),
  types: (socket, path) =>
    socket.end(
      list(path, [
        5,
        null,
        [],
        resource(5),
        resource('verbs', { verbs: [null, {}] }),
        resource('x/y/z', { kind: '' }),
        resource('short', {
          shortNames: 5,
          categories: {},
          singularName: 7,
          namespaced: 'no',
          group: 5,
          version: [],
        }),
        { name: {}, kind: [], verbs: 7 },
      ]),
    ),
  deep: (socket) => socket.end(plain(`${'['.repeat(1_000_000)}`, 'Content-Type: application/json\r\n')),
  'huge-list': (socket, path) =>
    socket.end(
      list(
        path,
        Array.from({ length: 30_000 }, (_, i) => resource(`things-${i}`)),
      ),
    ),
};

const serve = (socket) => {
  socket.on('error', () => undefined);
  let head = '';
  const read = (bytes) => {
    head += bytes.toString('latin1');
    if (!head.includes('\r\n\r\n')) return;
    socket.off('data', read).resume();
    const path = head.split(' ', 2)[1].split('?')[0];
    const parts = path.split('/');
    const way = parts[1] === 'apis' ? parts[2]?.split('.')[0] : parts[1];
    (ways[way] ?? ways.fine)(socket, path);
  };
  socket.on('data', read);
};

if (PORT) createServer(serve).listen(Number(PORT));
if (TLS_PORT)
  createTlsServer({ cert: CERT, key: KEY }, serve)
    .on('tlsClientError', () => undefined)
    .listen(Number(TLS_PORT));
setInterval(() => process.stdout.write(`${'line '.repeat(20)}\n`), 1_000);
