/** One of several candidates leads; when it stops or no longer renews its lease, another takes over. */

import { afterEach, expect, it } from 'vitest';
import { Tokens } from '../../access/tokens/tokens.ts';
import type { Lease } from '../../api/generated/types.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { admissionChain } from '../../registry/admission/plugins.ts';
import { QuotaAccounts } from '../../registry/admission/quota-accounts.ts';
import type { Registry } from '../../registry/registry.ts';
import { SystemNamespaces } from '../../registry/system/system-namespaces.ts';
import { View } from '../../registry/view/view.ts';
import { makeWriting, type Writing } from '../../registry/writing.ts';
import { openMemoryStore } from '../../store/memory.ts';
import type { Store } from '../../store/store.ts';
import { defaultSettings } from './controller.ts';
import { LeaderElection } from './leader-election.ts';

/** Longer than any stall of the machine: only the test of an expired lease has a short one. */
const timing = { leaseMs: 240_000, renewMaxMs: 160_000, retryMs: 20 };
const short = { leaseMs: 1_000, renewMaxMs: 600, retryMs: 20 };
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

/** A server's part of a shared store: its own view and registry. */
async function server(store: Store, nowMs = () => Date.now()): Promise<Writing> {
  const kinds = new KindTable();
  const view = await View.open(store, kinds);
  opened.push(view);
  const sources = { nowMs, uid: () => crypto.randomUUID(), randomBelow: () => 0 };
  return makeWriting(store, view, kinds, sources, { admission: admissionChain });
}

/** A candidate, and a record of what it did. */
function candidate(writing: Writing, identity: string, times = timing) {
  const { registry } = writing;
  const log: string[] = [];
  const waiting: (() => void)[] = [];
  const say = (word: string): void => {
    log.push(word);
    for (const resolve of waiting.splice(0)) resolve();
  };
  const lead = () => {
    say('leads');
    return { settled: true, close: async () => say('stops') };
  };
  const context = {
    registry,
    writing,
    quotas: new QuotaAccounts(registry),
    tokens: new Tokens(registry),
    settings: defaultSettings,
    onError: (error: Error) => say(error.message),
  };
  const election = new LeaderElection(context, identity, lead, times);
  opened.push(election);
  const said = async (word: string): Promise<void> => {
    while (!log.includes(word)) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return { election, log, said };
}

const leaseIn = (registry: Registry): Lease =>
  registry.view
    .collection('coordination.k8s.io/leases')
    .get('kube-system', 'wherry-controllers')!
    .object() as Lease;

async function sharedStore(): Promise<Store> {
  const store = openMemoryStore({ now: () => Date.now() });
  opened.push(store);
  const writing = await server(store);
  const namespaces = new SystemNamespaces(writing, () => undefined);
  opened.push(namespaces);
  await namespaces.start();
  return store;
}

it('one leads, and who steps down is followed at once', async () => {
  const store = await sharedStore();
  const writing = await server(store);
  const { registry } = writing;
  const a = candidate(writing, 'a');
  await a.said('leads');
  const b = candidate(await server(store), 'b');
  expect(leaseIn(registry).spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
  await a.election.close();
  expect(a.log).toEqual(['leads', 'stops']);
  await b.said('leads');
  expect(b.log).toEqual(['leads']);
  expect(a.election.isLeader).toBe(false);
});

it('one that has fallen silent is replaced, and stops when it notices', async () => {
  const store = await sharedStore();
  let stopped = false;
  const writing = await server(store);
  const { registry } = writing;
  const stuck: typeof registry.view.caughtUp = () =>
    stopped ? Promise.reject(new Error('cut off')) : original();
  const original = registry.view.caughtUp.bind(registry.view);
  registry.view.caughtUp = stuck;
  const a = candidate(writing, 'a', short);
  await a.said('leads');
  stopped = true;
  const b = candidate(await server(store), 'b', short);
  await a.said('stops');
  await b.said('leads');
  expect(a.log.filter((word) => word !== 'cut off')).toEqual(['leads', 'stops']);
});
