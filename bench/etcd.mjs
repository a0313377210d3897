/**
 * An etcd of one member for measurements, on free ports, with its data in a temporary folder. `WHERRY_ETCD` names another
 * program than the one on the path.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.mjs';

let running;
let prefixes = 0;

/** Options of a server on the one etcd of this run, under a prefix of its own unless one is given. */
export async function etcdOptions(prefix = `/bench${prefixes++}`) {
  running ??= start();
  return ['--store', 'etcd', '--etcd-servers', await running, '--etcd-prefix', prefix];
}

async function start() {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-bench-etcd-'));
  const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
  const args = [
    ['--data-dir', folder, '--quota-backend-bytes', String(8 * 2 ** 30)],
    ['--listen-client-urls', client, '--advertise-client-urls', client],
    [
      '--listen-peer-urls',
      peer,
      '--initial-advertise-peer-urls',
      peer,
      '--initial-cluster',
      `default=${peer}`,
    ],
  ].flat();
  const child = spawn(process.env.WHERRY_ETCD ?? 'etcd', args, {
    stdio: 'ignore',
    env: { ...process.env, ETCD_UNSUPPORTED_ARCH: 'arm64' },
  });
  process.once('exit', () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  child.unref();
  for (;;) {
    const healthy = await fetch(`${client}/health`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (healthy) return client;
    if (child.exitCode !== null) throw new Error('etcd did not start');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
