/**
 * The stand-in for etcd: claims the data folder, answers `/health` and `/version`, and tells its API server where the
 * folder is. It does not speak etcd's own protocol: only that server asks it anything.
 */

import { appendFileSync, mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createListener, type Server } from 'node:net';
import path from 'node:path';
import { wallClock } from '../clock.ts';
import { platform } from '../platform.ts';
import { claimFolder } from '../store/owner.ts';
import { etcdHelp, etcdUsage, readEtcdFlags } from './etcd-flags.ts';
import { FlagError, type FlagValues, isTrue, lastOf } from './flag.ts';
import { type Pair, pairPath } from './pair.ts';
import { followParent } from './parent.ts';

/** The version of etcd that this stands in for. */
const etcdVersion = '3.5.30';
const defaultClientUrl = 'http://localhost:2379';
const defaultPeerUrl = 'http://localhost:2380';
const defaultRequestBytes = 1_572_864;
const levels: readonly string[] = ['debug', 'info', 'warn', 'error', 'panic', 'fatal'];
const loopback = /^(127\.|::1$|::ffff:127\.)/;

/** A start that is refused, with etcd's words. */
class EtcdError extends Error {}

/** @param parent the process that started it */
export async function runEtcd(args: readonly string[], parent: number): Promise<void> {
  let values: FlagValues;
  try {
    values = readEtcdFlags(args, process.env);
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    process.stderr.write(`${error.message}\n${etcdUsage}`);
    process.exitCode = 2;
    return;
  }
  if (isTrue(values, 'help')) {
    process.stderr.write(etcdUsage);
    process.stdout.write(etcdHelp());
  } else if (isTrue(values, 'version'))
    process.stdout.write(
      `etcd Version: ${etcdVersion}\nGit SHA: wherry\nGo Version: none\nGo OS/Arch: ${platform.name}/${process.arch}\n`,
    );
  else await serve(values, parent);
}

async function serve(values: FlagValues, parent: number): Promise<void> {
  const log = logOf(values);
  // Ignored: failures of single requests and of the log must not end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const dataDir = path.resolve(lastOf(values, 'data-dir') || 'default.etcd');
    await listen(values, dataDir);
    log('info', 'ready to serve client requests');
  } catch (error) {
    log('fatal', (error as Error).message);
    process.exit(1);
  }
  followParent(parent, () => process.exit(0));
}

async function listen(values: FlagValues, dataDir: string): Promise<void> {
  if (values.has('listen-client-urls') && !values.has('advertise-client-urls'))
    throw new EtcdError('--advertise-client-urls is required when --listen-client-urls is set explicitly');
  for (const name of ['cert-file', 'key-file', 'trusted-ca-file'])
    if (lastOf(values, name)) throw new EtcdError(`--${name} is not supported: clients reach it over HTTP`);
  if (isTrue(values, 'client-cert-auth')) throw new EtcdError('--client-cert-auth is not supported');
  const clients = addressesOf(lastOf(values, 'listen-client-urls') || defaultClientUrl);
  const peers = addressesOf(lastOf(values, 'listen-peer-urls') || defaultPeerUrl);
  for (const folder of [dataDir, lastOf(values, 'wal-dir')])
    if (folder) mkdirSync(folder, { recursive: true, mode: 0o700 });
  claimFolder(dataDir);
  const requestBytesMax = Number(lastOf(values, 'max-request-bytes') ?? defaultRequestBytes);
  const pair: Pair = { dataDir, requestBytesMax, unsafeNoFsync: isTrue(values, 'unsafe-no-fsync') };
  for (const address of clients)
    await listening(
      createServer((request, response) => answer(request, response, pair)),
      address,
    );
  for (const address of peers)
    await listening(
      createListener((socket) => socket.destroy()),
      address,
    );
}

interface Address {
  readonly host: string;
  readonly port: number;
}

function addressesOf(urls: string): Address[] {
  return urls.split(',').map((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== 'http:') throw new EtcdError(`URL scheme must be http: ${text}`);
    return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80) };
  });
}

function listening(server: Server, { host, port }: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new EtcdError(
          error.code === 'EADDRINUSE'
            ? `listen tcp ${host}:${port}: bind: address already in use`
            : error.message,
        ),
      ),
    );
    server.listen(port, host, () => resolve());
  });
}

function answer(request: IncomingMessage, response: ServerResponse, pair: Pair): void {
  request.resume();
  const asked = request.url?.split('?')[0];
  if (asked === '/health') json(response, { health: 'true', reason: '' });
  else if (asked === '/version') json(response, { etcdserver: etcdVersion, etcdcluster: '3.5.0' });
  else if (asked === pairPath && loopback.test(request.socket.remoteAddress ?? '')) json(response, pair);
  else response.writeHead(404, { 'Content-Type': 'text/plain' }).end('404 page not found\n');
}

const json = (response: ServerResponse, body: object): void =>
  void response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));

/** Lines of JSON, as etcd writes them. */
function logOf(values: FlagValues): (level: string, message: string) => void {
  const least = levels.indexOf(lastOf(values, 'log-level') ?? 'info');
  const outputs = (lastOf(values, 'log-outputs') ?? 'default').split(',');
  return (level, message) => {
    if (levels.indexOf(level) < least) return;
    const ts = new Date(wallClock()).toISOString();
    const line = `${JSON.stringify({ level, ts, caller: 'wherry/etcd', msg: message })}\n`;
    for (const output of outputs)
      if (output === 'stdout') process.stdout.write(line);
      else if (output === 'default' || output === 'stderr') process.stderr.write(line);
      else appendFileSync(output, line);
  };
}
