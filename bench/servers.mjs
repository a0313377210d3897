/** The servers that are measured: each a separate process, on a free port, with its own folder. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { etcdOptions } from './etcd.mjs';

/** Linux' unit of processor time. */
const tickMs = 10;
const root = path.dirname(import.meta.dirname);
const lookMs = 50;

// Clusters and the kubeconfig of the user who measures stay as they are.
const user = mkdtempSync(path.join(tmpdir(), 'wherry-bench-user-'));
process.once('exit', () => rmSync(user, { recursive: true, force: true }));
process.env.XDG_DATA_HOME = user;
process.env.KUBECONFIG = path.join(user, 'kubeconfig');

/** Processor time that a process has used, in milliseconds, user and system. */
export function processorMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

export class Server {
  constructor(child, url, dataDir) {
    this.child = child;
    this.url = url;
    this.dataDir = dataDir;
  }

  /** Resident memory in megabytes; undefined where the system does not report it. */
  get residentMB() {
    try {
      const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024;
    } catch {
      return undefined;
    }
  }

  get processorMs() {
    return processorMs(this.child.pid);
  }

  async close() {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    if (this.dataDir) rmSync(this.dataDir, { recursive: true, force: true });
  }
}

async function launch(args, dataDir) {
  const begun = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  // Stop it when the run fails, too.
  const stop = () => child.kill('SIGTERM');
  process.once('exit', stop);
  child.once('exit', () => process.off('exit', stop));
  const [line] = await once(child.stdout, 'data');
  const server = new Server(child, /http:\/\/[\d.:]+/.exec(String(line))[0], dataDir);
  await (await fetch(`${server.url}/healthz`)).text();
  server.startMs = performance.now() - begun;
  return server;
}

/** The command of a build, with a store of its own: `memory`, `lmdb` or `etcd`. */
async function command(name, store, more, build = root) {
  const args = [path.join(build, 'dist/cli.cjs'), name, '--port', '0', ...more];
  if (store === 'memory') return launch([...args, '--in-memory']);
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-bench-'));
  const options = store === 'etcd' ? await etcdOptions() : [];
  const server = await launch([...args, '--data-dir', dataDir, ...options], dataDir);
  server.options = options;
  return server;
}

/** A server on a data folder, which stays. */
export const on = (dataDir, build = root) =>
  launch([path.join(build, 'dist/cli.cjs'), 'serve', '--port', '0', '--data-dir', dataDir]);

/** One more server on the etcd of another. */
export function beside({ options }) {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-bench-'));
  return launch(
    [path.join(root, 'dist/cli.cjs'), 'serve', '--port', '0', '--data-dir', dataDir, ...options],
    dataDir,
  );
}

/**
 * Starts are measured with compiled code, which the command caches once it has run for a second. This gives
 * all commands a cache folder of the benchmark, and runs one until its code is cached.
 */
export async function keepCompiledCode() {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-bench-code-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.env.XDG_CACHE_HOME = folder;
  const server = await command('up', 'lmdb', ['--simulated-nodes', '1']);
  const code = path.join(folder, 'wherry');
  while (!existsSync(code) || !readdirSync(code).some((name) => name.endsWith('.code')))
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  await server.close();
  return server.startMs;
}

/** The API server alone; of another checkout when its folder is given. */
export const wherry = (store, build, more = []) => command('serve', store, more, build);

/** The whole cluster, with this machine as its node unless `more` asks for simulated ones. */
export const cluster = (store, more = []) => command('up', store, more);

/** Node's own HTTP server, which answers every request with this many bytes: the unit of all figures. */
export const bare = (bytes) => launch([path.join(root, 'bench/bare.mjs'), String(bytes)]);
