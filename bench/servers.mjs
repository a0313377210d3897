/** Servers under measurement: each a process of its own, on a free port, with a folder of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);

export class Server {
  constructor(child, url, dataDir) {
    this.child = child;
    this.url = url;
    this.dataDir = dataDir;
  }

  /** Resident memory in megabytes; undefined where the system does not say. */
  get residentMB() {
    try {
      const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024;
    } catch {
      return undefined;
    }
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
  const [line] = await once(child.stdout, 'data');
  const server = new Server(child, /http:\/\/[\d.:]+/.exec(String(line))[0], dataDir);
  await (await fetch(`${server.url}/healthz`)).text();
  server.startMs = performance.now() - begun;
  return server;
}

/** `memory` or `lmdb`. */
export function wherry(store) {
  const command = [path.join(root, 'dist/cli.js'), 'serve', '--port', '0'];
  if (store === 'memory') return launch([...command, '--in-memory']);
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-bench-'));
  return launch([...command, '--data-dir', dataDir], dataDir);
}

/** Node's own HTTP server, answering every request with as many bytes: the unit of all figures. */
export const bare = (bytes) => launch([path.join(root, 'bench/bare.mjs'), String(bytes)]);
