/** Proves that a cluster closes every part it has started, at any stage of the start. */

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startNode } from './node/node.ts';
import { StartError } from './shared/start-error.ts';
import { start } from './start.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Whether something listens at a port of this machine. */
const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = dial({ host: '127.0.0.1', port });
    const settle = (open: boolean): void => {
      socket.destroy();
      resolve(open);
    };
    socket.on('connect', () => settle(true)).on('error', () => settle(false));
  });

/** A port that another server listens on. */
async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as { port: number }).port;
}

describe('closing a cluster', () => {
  it('closes the ports of its ingress', async () => {
    const cluster = await start({ ingress: { port: 0, tlsPort: 0, host: '127.0.0.1' } });
    cleanups.push(() => cluster.close());
    const described = await cluster.nodesReady;
    const ports = [...described!.matchAll(/https?:\/\/[\d.]+:(\d+)/g)].map(([, port]) => Number(port));
    expect(ports).toHaveLength(2);
    expect(await Promise.all(ports.map(isOpen))).toEqual([true, true]);
    await cluster.close();
    expect(await Promise.all(ports.map(isOpen))).toEqual([false, false]);
  });

  it('waits for a node that is still being started', async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'wherry-start-'));
    cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
    const cluster = await start({ dataDir, node: { name: 'half', podNetwork: 'host' } });
    const ready = cluster.nodesReady.then(
      () => 'started',
      () => 'given up',
    );
    await cluster.close();
    // Nothing of the start continues after close() has resolved.
    expect(
      await Promise.race([ready, new Promise((resolve) => setImmediate(resolve, 'still starting'))]),
    ).not.toBe('still starting');
  });
});

describe('a start that fails late', () => {
  it('names the port of the ingress that is taken, and gives back the data folder', async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'wherry-start-'));
    cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
    const port = await takenPort();
    const failed = start({ dataDir, ingress: { port, host: '127.0.0.1' } });
    await expect(failed).rejects.toThrow(StartError);
    await expect(failed).rejects.toThrow(`port ${port} on 127.0.0.1 is taken by another process`);
    expect(await readdir(dataDir)).not.toContain('owner');
    const again = await start({ dataDir });
    await again.close();
  });
});

describe('a node that cannot start', () => {
  it.each([
    ['images that cannot be read', { images: '/nowhere/images.yaml' }],
    ['no server to ask for certificates', { kubeletPort: 0 }],
  ])('with %s leaves no folder behind', async (_why, options) => {
    const parent = await mkdtemp(path.join(tmpdir(), 'wherry-start-'));
    cleanups.push(() => rm(parent, { recursive: true, force: true }));
    vi.stubEnv('TMPDIR', parent);
    cleanups.push(() => vi.unstubAllEnvs());
    // Port 9 is reserved, so no server listens there.
    await expect(startNode('http://127.0.0.1:9', { podNetwork: 'host', ...options })).rejects.toThrow();
    expect(await readdir(parent)).toEqual([]);
  });
});
