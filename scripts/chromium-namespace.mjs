/**
 * Chromium in a network namespace of its own, for tests. Chromium aborts all requests of all pages when any network
 * interface of its machine changes, and tests of pods make and remove interfaces all the time. Inside the namespace nothing
 * changes; connections leave it by a Unix socket, which namespaces of networks do not separate.
 *
 *   Chromium → SOCKS over TCP, inside → Unix socket → this process, outside → TCP
 *
 * Run as a program, it is the inside: it starts Chromium and carries bytes between the two sockets.
 */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const relayPort = 1080;
const here = fileURLToPath(import.meta.url);

/** Whether this process may make network namespaces. */
export const canIsolate = () =>
  process.platform === 'linux' &&
  spawnSync('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up']).status === 0;

/** What `launch` of Playwright needs to start a program inside; `close` is to be called after the browser has ended. */
export function isolated(program) {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-chromium-'));
  const socket = path.join(folder, 'socks');
  const starter = path.join(folder, 'chromium');
  const words = ['unshare', '--net', process.execPath, here, socket, program].map(quoted).join(' ');
  writeFileSync(starter, `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(starter, 0o755);
  const server = createServer(serveSocks).listen(socket);
  server.unref();
  return {
    executablePath: starter,
    args: [`--proxy-server=socks5://127.0.0.1:${relayPort}`, '--proxy-bypass-list=<-loopback>'],
    close() {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const quoted = (word) => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** Both directions. `pipe` passes an end on after all that came before it; a failure ends both sides at once. */
function join(a, b) {
  a.pipe(b).pipe(a);
  a.on('error', () => b.destroy());
  b.on('error', () => a.destroy());
}

/** One connection by SOCKS 5 (RFC 1928): no credentials, CONNECT alone. */
function serveSocks(client) {
  client.on('error', () => client.destroy());
  client.once('data', () => {
    client.write(Buffer.of(5, 0));
    client.once('data', (request) => {
      const { host, port } = destination(request);
      const target = connect({ host, port, noDelay: true }, () => {
        client.write(Buffer.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
        join(client, target);
      });
      // 5: the connection was refused.
      target.once('error', () => client.end(Buffer.of(5, 5, 0, 1, 0, 0, 0, 0, 0, 0)));
    });
  });
}

/** The address of a request: IPv4, a name, or IPv6. */
function destination(request) {
  const type = request[3];
  const start = type === 3 ? 5 : 4;
  const end = start + (type === 3 ? request[4] : type === 1 ? 4 : 16);
  const bytes = request.subarray(start, end);
  const port = request.readUInt16BE(end);
  if (type === 3) return { host: bytes.toString('latin1'), port };
  if (type === 1) return { host: bytes.join('.'), port };
  return { host: bytes.toString('hex').match(/.{4}/g).join(':'), port };
}

function runInside([socket, program, ...args]) {
  spawnSync('ip', ['link', 'set', 'lo', 'up']);
  const relay = createServer((client) => join(client, connect(socket)));
  relay.listen(relayPort, '127.0.0.1', () => {
    // 3 and 4 are the pipes by which Playwright speaks to Chromium.
    const child = spawn(program, args, { stdio: ['inherit', 'inherit', 'inherit', 3, 4] });
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
    child.on('exit', (code) => process.exit(code ?? 1));
  });
}

if (process.argv[1] === here) runInside(process.argv.slice(2));
