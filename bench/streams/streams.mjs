/**
 * Streams through the server: exec and port-forward of many bytes, each right after the same bytes over a
 * plain loopback connection between two processes. The share is the quotient of the two; the median of some
 * rounds counts. On a busy machine the share mostly shows how long processes waited for a core, so the
 * server's processor time is compared as well, with that of the plain connection's other side.
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { runPods } from '../running-pods.mjs';
import { cluster, processorMs } from '../servers.mjs';

const root = path.join(import.meta.dirname, '..', '..');
const pipeProgram = path.join(import.meta.dirname, 'pipe.mjs');
const sampleMs = 20;
/** Size of the commands' reads and writes: the capacity of a pipe. */
const blockBytes = 64 * 1024;

const median = (figures) => [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)];

/** Bundles the client side of SPDY from the sources. */
async function bundle(folder) {
  const outfile = path.join(folder, 'spdy.mjs');
  await build({
    stdin: {
      contents: ['spdy-connection', 'spdy-frame', 'spdy-upgrade']
        .map((part) => `export * from './src/streams/spdy/${part}.ts';`)
        .join('\n'),
      resolveDir: root,
    },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  });
  return outfile;
}

/** Measures how much a server's memory grows during some work. */
async function growth(server, work) {
  const before = server.residentMB;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, server.residentMB);
  }, sampleMs);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return most - before;
}

const portIn = (text) => Number(/port (\d+)/.exec(String(text))?.[1]);

/** The port of the server in a pod, from its log. */
async function portOf(url, pod) {
  for (;;) {
    const port = portIn(await (await fetch(`${url}/api/v1/namespaces/default/pods/${pod}/log`)).text());
    if (port) return port;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function streams(row, { bytes, rounds }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-bench-'));
  const server = await cluster('memory');
  const yardstick = spawn(process.execPath, [pipeProgram, '127.0.0.1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const client = fork(path.join(import.meta.dirname, 'client.mjs'), [await bundle(folder)]);
  try {
    const barePort = portIn((await once(yardstick.stdout, 'data'))[0]);
    if (client.connected) await once(client, 'message');
    await runPods(server.url, [{ name: 'pipe', command: [process.execPath, pipeProgram, '0.0.0.0'] }]);
    const port = await portOf(server.url, 'pipe');
    const pod = '/api/v1/namespaces/default/pods/pipe';
    const exec = (command, query) =>
      `${pod}/exec?${query}&${command.map((word) => `command=${encodeURIComponent(word)}`).join('&')}`;

    const move = async (wish) => {
      client.send({ url: server.url, bytes, ...wish });
      const [{ seconds, failure }] = await once(client, 'message');
      if (failure) throw new Error(failure);
      return bytes / 1e6 / seconds;
    };
    const compare = async (name, wish, bareWay) => {
      const speeds = [];
      const shares = [];
      let bareMs = 0;
      let serverMs = 0;
      const grown = await growth(server, async () => {
        // Several rounds, because a stream has only some thousand pieces, and code is optimised after several.
        for (let i = 0; i < rounds; i++) {
          await move({ way: bareWay, port: barePort });
          await move(wish);
        }
        for (let i = 0; i < rounds; i++) {
          const before = [processorMs(yardstick.pid), server.processorMs];
          const bare = await move({ way: bareWay, port: barePort });
          const speed = await move(wish);
          speeds.push(speed);
          shares.push(speed / bare);
          bareMs += processorMs(yardstick.pid) - before[0];
          serverMs += server.processorMs - before[1];
        }
      });
      const text = `${name}, ${bytes / 1e6} MB`;
      row(text, 'memory', median(speeds), 'MB/s', median(shares));
      row(`${text}, processor of the server`, 'memory', serverMs / rounds, 'ms', bareMs / serverMs);
      row(`${text}, resident growth`, 'memory', grown, 'MB');
    };

    const dd = (...operands) => ['dd', `bs=${blockBytes}`, 'status=none', ...operands];
    const pour = exec(dd('if=/dev/zero', 'iflag=count_bytes', `count=${bytes}`), 'stdout=true');
    await compare('exec, stdout', { way: 'stdout', path: pour }, 'download');
    const drain = exec(dd('of=/dev/null'), 'stdin=true&stdout=true');
    await compare('exec, stdin', { way: 'stdin', path: drain }, 'upload');
    const forward = { path: `${pod}/portforward`, port };
    await compare('port-forward, from the pod', { way: 'download', ...forward }, 'download');
    await compare('port-forward, to the pod', { way: 'upload', ...forward }, 'upload');
  } finally {
    client.disconnect();
    yardstick.kill();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
