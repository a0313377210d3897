/** Proves the health checks of store, view, controllers and nodes. */

import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { KindTable } from '../../api/kinds/kinds.ts';
import { admissionChain } from '../../registry/admission/plugins.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf } from '../../registry/target.ts';
import { View } from '../../registry/view/view.ts';
import { makeWriting } from '../../registry/writing.ts';
import { openMemoryStore } from '../../store/memory.ts';
import { type Store, StoreUnavailableError } from '../../store/store.ts';
import type { Cluster } from '../cluster.ts';
import { start } from '../start.ts';
import { Startup, storeCheck, viewCheck } from './health-checks.ts';

describe('a store that fails', () => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** A registry over a store whose writes can be made to fail. */
  async function failing() {
    const state = { failure: undefined as Error | undefined };
    const real = openMemoryStore({ now: () => 0 });
    const store = new Proxy(real, {
      get(target, name) {
        if (name === 'write' && state.failure) return () => Promise.reject(state.failure);
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }) as Store;
    const kinds = new KindTable();
    const view = await View.open(store, kinds);
    const chance = { nowMs: () => 0, uid: randomUUID, randomBelow: () => 0 };
    const writing = makeWriting(store, view, kinds, chance, { admission: admissionChain });
    const { registry } = writing;
    closing.push(
      () => real.close(),
      () => view.close(),
    );
    const namespaces = collectionOf(kinds.resource('v1', 'namespaces')!, '');
    let made = 0;
    const write = () => registry.seed(asTester('create'), namespaces, { metadata: { name: `n${made++}` } });
    return { state, real, registry, write };
  }

  it('is not well from the write that fails until one succeeds', async () => {
    const { state, registry, write } = await failing();
    const check = storeCheck(registry);
    await write();
    expect(await check.failure()).toBeUndefined();
    state.failure = new StoreUnavailableError('the disk is full');
    await expect(write()).rejects.toThrow('full');
    expect(await check.failure()).toBe('the disk is full');
    state.failure = undefined;
    await write();
    expect(await check.failure()).toBeUndefined();
  });

  it('takes the view with it when it closes', async () => {
    const { real, registry } = await failing();
    expect(await viewCheck(registry).failure()).toBeUndefined();
    await real.close();
    await expect((async () => storeCheck(registry).failure())()).rejects.toThrow('closed');
    await expect((async () => viewCheck(registry).failure())()).rejects.toThrow('closed');
  });
});

describe('a start', () => {
  it('is told while it lasts and when it has failed', async () => {
    const startup = new Startup();
    expect(startup.failure).toBe('still starting');
    const failed = Promise.reject(new Error('no room'));
    startup.follow(failed);
    await expect(failed).rejects.toThrow();
    expect(startup.failure).toBe('could not start: no room');
  });
});

describe('/readyz', () => {
  let cluster: Cluster | undefined;
  afterEach(() => cluster?.close());
  const text = async (path: string, init?: RequestInit): Promise<string> =>
    (await fetch(`${cluster!.url}${path}`, init)).text();

  it('fails with a node that is not ready, and livez does not', async () => {
    cluster = await start({ store: 'memory', simulatedNodes: 1 });
    await cluster.nodesReady;
    expect(await text('/readyz?verbose')).toBe(
      '[+]ping ok\n[+]store ok\n[+]view ok\n[+]controllers ok\n[+]nodes ok\nreadyz check passed\n',
    );
    const conditions = [{ type: 'Ready', status: 'False' }];
    await text('/api/v1/nodes/simulated-1/status', {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/strategic-merge-patch+json' },
      body: JSON.stringify({ status: { conditions } }),
    });
    const failed = await fetch(`${cluster.url}/readyz`);
    expect(failed.status).toBe(500);
    expect(await failed.text()).toBe(
      '[+]ping ok\n[+]store ok\n[+]view ok\n[+]controllers ok\n[-]nodes failed: reason withheld\nreadyz check failed',
    );
    expect(await text('/readyz/nodes')).toBe('internal server error: not ready: simulated-1\n');
    expect(await text('/readyz?exclude=nodes')).toBe('ok');
    expect(await text('/livez')).toBe('ok');
    expect((await fetch(`${cluster.url}/livez/nodes`)).status).toBe(404);
  });

  it('has no controllers where none run, and says which checks it does not know', async () => {
    cluster = await start({ store: 'memory', controllers: false });
    expect(await text('/readyz?verbose&exclude=ping&exclude=b&exclude=a')).toBe(
      '[+]store ok\n[+]view ok\n[+]nodes ok\nwarn: some health checks cannot be excluded: no matches for "a", "b"\nreadyz check passed\n',
    );
    expect((await fetch(`${cluster.url}/readyz/controllers`)).status).toBe(404);
    expect((await fetch(`${cluster.url}/readyz`, { method: 'HEAD' })).status).toBe(200);
  });
});
