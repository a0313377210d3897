/** Members of etcd, servers and the balancer, each a child process with ports of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

const here = import.meta.dirname;
const wherry = process.env.WHERRY ?? path.join(here, '..', '..', 'dist', 'cli.cjs');
const folder = mkdtempSync(path.join(tmpdir(), 'wherry-replicas-'));
const children = new Set();

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

class Process {
  constructor(name, url, command, args) {
    Object.assign(this, { name, url, command, args });
    this.start();
  }

  start() {
    this.child = spawn(this.command, this.args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ETCD_LOGGER: 'zap', ETCD_LOG_LEVEL: 'panic', ETCD_UNSUPPORTED_ARCH: 'arm64', ...process.env },
    });
    children.add(this.child);
    this.child.once('exit', () => children.delete(this.child));
  }

  async kill() {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  async pause(milliseconds) {
    this.child.kill('SIGSTOP');
    await pause(milliseconds);
    this.child.kill('SIGCONT');
  }

  /** Resolves when a path answers with 200. */
  async ready(where) {
    for (let attempt = 0; attempt < 600; attempt++) {
      const ok = await fetch(`${this.url}${where}`).then(
        (answer) => answer.ok,
        () => false,
      );
      if (ok) return this;
      await pause(100);
    }
    throw new Error(`${this.name} did not become ready within a minute`);
  }
}

export async function startMembers(count) {
  const urls = await Promise.all(Array.from({ length: count * 2 }, freeUrl));
  const [clients, peers] = [urls.slice(0, count), urls.slice(count)];
  const cluster = peers.map((url, i) => `m${i}=${url}`).join(',');
  const members = clients.map((url, i) => {
    const args = [
      ['--name', `m${i}`, '--data-dir', path.join(folder, `m${i}`)],
      ['--listen-client-urls', url, '--advertise-client-urls', url],
      [
        '--listen-peer-urls',
        peers[i],
        '--initial-advertise-peer-urls',
        peers[i],
        '--initial-cluster',
        cluster,
      ],
    ];
    return new Process(`etcd member ${i}`, url, 'etcd', args.flat());
  });
  return Promise.all(members.map((member) => member.ready('/health')));
}

/** The member that leads: its metrics say so. */
export async function leaderOf(members) {
  for (const member of members) {
    const metrics = await (await fetch(`${member.url}/metrics`)).text();
    if (/^etcd_server_is_leader 1$/m.test(metrics)) return member;
  }
  throw new Error('etcd has no leader');
}

export async function startServers(count, members) {
  const servers = [];
  for (let i = 0; i < count; i++) {
    const url = await freeUrl();
    // Each begins with another member, so that they do not all lose the same one.
    const etcd = [...members.slice(i), ...members.slice(0, i)].map((member) => member.url).join(',');
    const args = [
      [wherry, 'serve', '--port', new URL(url).port, '--secure-port', 'off'],
      ['--data-dir', path.join(folder, `server${i}`), '--store', 'etcd', '--etcd-servers', etcd],
    ];
    servers.push(new Process(`server ${i}`, url, process.execPath, args.flat()));
  }
  return Promise.all(servers.map((server) => server.ready('/readyz')));
}

export async function startBalancer(servers) {
  const url = await freeUrl();
  const lines = servers.map((server, i) => `  server s${i} ${new URL(server.url).host} check`);
  const file = path.join(folder, 'haproxy.cfg');
  const text = readFileSync(path.join(here, 'haproxy.cfg'), 'utf8');
  const filled = text
    .replace('127.0.0.1:@PORT@', new URL(url).host)
    .replace('@SERVERS@\n', `${lines.join('\n')}\n`);
  writeFileSync(file, filled);
  return new Process('the balancer', url, 'haproxy', ['-f', file]).ready('/readyz');
}

async function freeUrl() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}
