/**
 * Proves that a cluster survives the readers of its output, and that nothing of it is left when it ends,
 * however it ends.
 */
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { problem } from '../../src/node/network/netns.fixture.ts';
import { commandsWith } from '../../src/node/runtime/process/process-pod.fixture.ts';
import { Child, useChildren } from '../support/child.ts';
import { Client } from '../support/http.ts';

const children = useChildren();
const claimFolder = '/run/wherry';
const patienceMs = 60_000;

/** Network claims of a process, by the prefix of its links and namespaces. */
function claimsOf(pid: number): string[] {
  const names = readdirSync(claimFolder).filter((name) => name.endsWith('.json'));
  return names.flatMap((name) => {
    try {
      const claim = JSON.parse(readFileSync(join(claimFolder, name), 'utf8'));
      return claim.pid === pid ? [name.slice(0, 8)] : [];
    } catch {
      return [];
    }
  });
}

/** Links, namespaces and routes with one of these prefixes, and claims of them. */
function leftOf(ids: readonly string[]): string[] {
  const lines = [['-o', 'link'], ['netns'], ['route', 'show', 'table', 'all']].flatMap((args) =>
    execFileSync('ip', args, { encoding: 'utf8' }).split('\n'),
  );
  return [...lines, ...readdirSync(claimFolder)].filter((line) => ids.some((id) => line.includes(id)));
}

/** Cgroups of an agent, in every hierarchy. */
const groupsOf = (agent: string): string[] =>
  execFileSync('find', ['/sys/fs/cgroup', '-maxdepth', '6', '-type', 'd', '-path', `*/wherry/${agent}*`], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter(Boolean);

const temporaryFolders = (): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('wherry-node-'));

interface Running {
  readonly child: Child;
  readonly client: Client;
  readonly ids: readonly string[];
}

async function running(...args: string[]): Promise<Running> {
  const child = new Child(['up', '--port', '0', '--pod-network', 'netns', ...args], await children.folder());
  const client = new Client(await child.ready());
  await expect.poll(async () => (await client.get('/readyz')).status, { timeout: patienceMs }).toBe(200);
  const ids = claimsOf(child.pid);
  expect(leftOf(ids)).not.toEqual([]);
  return { child, client, ids };
}

describe.skipIf(problem !== undefined)('a cluster', () => {
  it('goes on when nobody reads its output, and ends as always', async () => {
    // Like `wherry up | head -1`: the reader exits before the second line is written.
    const child = new Child(['up', '--port', '0', '--in-memory'], await children.folder());
    const client = new Client(await child.ready());
    child.closeOutput();
    await expect.poll(async () => (await client.get('/readyz')).status, { timeout: patienceMs }).toBe(200);
    const ids = claimsOf(child.pid);
    child.signal('SIGTERM');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(leftOf(ids)).toEqual([]);
  });

  it('that is ended while its node is being made leaves nothing behind', async () => {
    const child = new Child(['up', '--port', '0', '--in-memory'], await children.folder());
    const seen = new Set<string>();
    await child.ready();
    for (const id of claimsOf(child.pid)) seen.add(id);
    child.signal('SIGTERM');
    let over = false;
    void child.exited.then(() => {
      over = true;
    });
    while (!over) {
      for (const id of claimsOf(child.pid)) seen.add(id);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stderr).toBe('');
    expect(leftOf([...seen])).toEqual([]);
  });

  it('that is killed leaves no network behind, and no folder after the next start, which leaves nothing when its terminal is closed', async () => {
    const before = temporaryFolders();
    const { child, ids } = await running('--in-memory');
    const made = temporaryFolders().filter((name) => !before.includes(name));
    await child.kill();
    await expect.poll(() => leftOf(ids), { timeout: patienceMs }).toEqual([]);
    const next = await running('--in-memory');
    expect(temporaryFolders().filter((name) => made.includes(name))).toEqual([]);
    next.child.signal('SIGHUP');
    expect(await next.child.exited).toEqual({ code: 0, signal: null });
    expect(leftOf(next.ids)).toEqual([]);
  });

  it('that is killed leaves no process behind, whatever that has done to hide, and no control group, and starts again in its folder, with a network of the same name', async () => {
    const folder = await children.folder();
    const { child, client, ids } = await running('--data-dir', folder);
    const seconds = `3600.${randomInt(1e9)}`;
    const script = `env -i setsid sh -c 'cd /; sleep ${seconds} >/dev/null 2>&1 &'; exec sleep 600`;
    const containers = [{ name: 'main', image: 'host', command: ['sh', '-c', script] }];
    await client.post('/api/v1/namespaces/default/pods', {
      metadata: { name: 'daemon' },
      spec: { containers, hostNetwork: true },
    });
    await expect.poll(() => commandsWith(seconds), { timeout: patienceMs }).toHaveLength(1);
    const agent = readFileSync(join(folder, 'node', 'agent-id'), 'utf8');
    await child.kill();
    await expect.poll(() => commandsWith(seconds), { timeout: patienceMs }).toEqual([]);
    await expect.poll(() => groupsOf(agent), { timeout: patienceMs }).toEqual([]);
    await expect.poll(() => leftOf(ids), { timeout: patienceMs }).toEqual([]);
    const second = await running('--data-dir', folder);
    expect(second.ids).toEqual(ids);
    expect((await second.client.get('/api/v1/nodes')).body.items).toHaveLength(1);
    second.child.signal('SIGTERM');
    expect(await second.child.exited).toEqual({ code: 0, signal: null });
    expect(leftOf(second.ids)).toEqual([]);
  });
});
