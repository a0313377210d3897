/**
 * Proves that a watch delivers exactly the changes after its start during concurrent writes: in order, none missing and
 * none twice. Watches start at any version, at the present and at the beginning of history, have selectors, and stop
 * reading for a while. Also proves that a watch of compacted history gets 410 instead of a gap.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Cluster, type StartOptions, start } from '../../src/cluster/index.ts';
import type { ChangeLog, History, ModelEvent, Scope } from '../support/change-log.ts';
import { versionOf, versionsToTell } from '../support/change-log.ts';
import { Client, type Json } from '../support/http.ts';
import { Stream } from '../support/stream.ts';
import { isRelease } from '../support/tier.ts';
import { finish, namespaces, prepare, randomFrom, work } from '../support/workload.ts';

const changesWanted = isRelease ? 1_000 : 300;
/** So many, and so large, that a client that does not read is behind by more than what sockets hold. */
const changesToFallBehind = 700;
const ballastBytes = 90_000;
const writers = 8;
/** Decides what the writers do; the timing is up to the machine. */
const seed = Number(process.env['WHERRY_SEED'] ?? 20_261_115);

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function open(store: 'memory' | 'lmdb', options: StartOptions = {}): Promise<Cluster> {
  const dataDir = store === 'lmdb' ? await mkdtemp(join(tmpdir(), 'wherry-watch-')) : undefined;
  if (dataDir) cleanups.push(() => rm(dataDir, { recursive: true }));
  const cluster = await start({ store, ...(dataDir ? { dataDir } : {}), controllers: false, ...options });
  cleanups.push(() => cluster.close());
  return cluster;
}

interface Choice extends Scope {
  readonly query: string;
}

const choices: readonly Choice[] = [
  { resource: 'configmaps', query: '', selects: () => true },
  { resource: 'endpoints', query: '', selects: () => true },
  { resource: 'pods', query: '', selects: () => true },
  { resource: 'secrets', query: '', selects: () => true },
  {
    resource: 'configmaps',
    query: 'labelSelector=colour%3Dred',
    selects: (object) => colourOf(object) === 'red',
  },
  {
    resource: 'endpoints',
    query: 'labelSelector=!colour',
    selects: (object) => colourOf(object) === undefined,
  },
  {
    resource: 'pods',
    query: 'labelSelector=colour+notin+(red,blue)',
    selects: (object) => !['red', 'blue'].includes(colourOf(object)!),
  },
  {
    resource: 'pods',
    query: 'fieldSelector=status.phase%3DRunning',
    selects: (object) => object.status?.phase === 'Running',
  },
  {
    resource: 'pods',
    query: 'labelSelector=colour&fieldSelector=status.phase!%3DRunning',
    selects: (object) => colourOf(object) !== undefined && object.status?.phase !== 'Running',
  },
  {
    resource: 'secrets',
    query: 'fieldSelector=type%3DOpaque',
    selects: (object) => object.type === 'Opaque',
  },
  {
    resource: 'configmaps',
    query: 'fieldSelector=metadata.name%3Dobject-3',
    selects: (object) => object.metadata.name === 'object-3',
  },
];

const colourOf = (object: Json): string | undefined => object.metadata.labels?.colour;

type Begin = 'version' | 'now' | 'history' | 'list';

interface Watched {
  readonly scope: Choice;
  readonly begin: Begin;
  /** For `version`: the version it started after. */
  readonly from: number;
  readonly stream: Stream;
}

async function watch(url: string, scope: Choice, begin: Begin, from: number): Promise<Watched> {
  const namespace = scope.namespace === undefined ? '' : `/namespaces/${scope.namespace}`;
  const where = {
    version: `resourceVersion=${from}`,
    now: 'resourceVersion=0',
    history: '',
    list: 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
  }[begin];
  const path = `/api/v1${namespace}/${scope.resource}?watch=1&${[where, scope.query].join('&')}`;
  return { scope, begin, from, stream: await Stream.open(`${url}${path}`) };
}

/** A short form of an event for comparison; whole objects would make unreadable messages. */
const brief = ({ type, object }: ModelEvent): string =>
  `${type} ${object.metadata?.namespace}/${object.metadata?.name} ${object.metadata?.resourceVersion}`;

const texts = new WeakMap<object, string>();

function textOf(object: Json): string {
  let text = texts.get(object);
  if (text === undefined) texts.set(object, (text = JSON.stringify(object)));
  return text;
}

/** Objects are compared whole: the event of a version must have the object that its writer got as answer. */
function expectSame(told: readonly ModelEvent[], wanted: readonly ModelEvent[], what: string): void {
  expect(told.map(brief), what).toEqual(wanted.map(brief));
  for (const [i, { object }] of told.entries())
    if (JSON.stringify(object) !== textOf(wanted[i]!.object)) expect(object, what).toEqual(wanted[i]!.object);
}

const added = (objects: readonly Json[]): ModelEvent[] =>
  objects.map((object) => ({ type: 'ADDED', object }));

/** All events of a watch that starts with the state at a version. */
const fromState = (history: History, scope: Scope, version: number): ModelEvent[] => [
  ...added(history.stateAt(version, scope)),
  ...history.eventsAfter(version, scope),
];

/** Leaves out the cluster's own objects, from before the first write. */
const isOurs = ({ type, object }: ModelEvent): boolean =>
  type === 'BOOKMARK' || object.metadata.name.startsWith('object-');

const isError = ({ type }: { type: string }): boolean => type === 'ERROR';

/** Compares a watch with history. `cut`: it may end with 410 after any event. */
function check(watched: Watched, history: History, cut: boolean): 'whole' | 'cut' {
  const { scope, begin, from, stream } = watched;
  const what = `${scope.resource} ${scope.namespace ?? ''} ${scope.query} ${begin} ${from} seed ${seed}`;
  const expired = stream.events.at(-1)?.type === 'ERROR';
  const told = stream.events.filter((event) => !isError(event) && isOurs(event));
  if (expired) {
    expect(cut, what).toBe(true);
    expect(stream.events.at(-1)!.object, what).toMatchObject({
      kind: 'Status',
      code: 410,
      reason: 'Expired',
    });
    expect(stream.events.filter(isError), what).toHaveLength(1);
  }
  const compare = (wanted: ModelEvent[]): void =>
    expectSame(told, expired ? wanted.slice(0, told.length) : wanted, what);
  if (begin === 'version') compare(history.eventsAfter(from, scope));
  else if (begin === 'list') {
    const at = told.findIndex(({ type }) => type === 'BOOKMARK');
    if (at >= 0) {
      const [bookmark] = told.splice(at, 1);
      expect(bookmark!.object.metadata.annotations, what).toEqual({ 'k8s.io/initial-events-end': 'true' });
      expect(at, what).toBe(history.stateAt(versionOf(bookmark!.object), scope).length);
      compare(fromState(history, scope, versionOf(bookmark!.object)));
    } else expect(expired, what).toBe(true);
  } else compare(fromState(history, scope, beginning(told, history, scope, expired, what)));
  return expired ? 'cut' : 'whole';
}

/** The version whose state a watch started with: it is not in the stream, but only one fits the events. */
function beginning(
  told: ModelEvent[],
  history: History,
  scope: Scope,
  expired: boolean,
  what: string,
): number {
  for (const version of versionsToTell(history, scope)) {
    const wanted = fromState(history, scope, version);
    if (!expired && wanted.length !== told.length) continue;
    if (told.every((event, i) => wanted[i] && brief(event) === brief(wanted[i]))) return version;
  }
  throw new Error(`no version fits: ${what}: ${told.slice(0, 50).map(brief).join(', ')}`);
}

/** Waits until a watch has delivered the last change in its scope. */
async function caughtUp({ scope, from, stream }: Watched, history: History): Promise<void> {
  const last = history.eventsAfter(from, scope).at(-1);
  if (!last) return;
  const version = last.object.metadata.resourceVersion;
  await stream.until(
    (events) =>
      isError(events.at(-1) ?? { type: '' }) ||
      events.some(({ object }) => object.metadata.resourceVersion === version),
  );
}

const newest = async (client: Client): Promise<number> =>
  Number((await client.get('/api/v1/namespaces?limit=1')).body.metadata.resourceVersion);

/** Opens a watch now and then during the writes. */
async function openWatches(
  url: string,
  log: ChangeLog,
  count: number,
  random: (bound: number) => number,
): Promise<Watched[]> {
  const opened: Watched[] = [];
  for (let i = 0; i < count; i++) {
    await log.grown(Math.floor((changesWanted * 0.8 * i) / count));
    const scope = { ...choices[i % choices.length]!, namespace: [undefined, ...namespaces][random(4)] };
    const begin = (['version', 'version', 'now', 'history', 'list'] as const)[random(5)]!;
    opened.push(await watch(url, scope, begin, log.base + random(log.last - log.base + 1)));
  }
  return opened;
}

describe.each(['memory', 'lmdb'] as const)('watching while others write, on %s', (store) => {
  it.runIf(isRelease || store === 'lmdb')(
    'tells every watcher exactly what happened after its start',
    { timeout: 300_000 },
    async () => {
      const cluster = await open(store);
      const client = new Client(cluster.url);
      const log = await prepare(client);
      // Some are open from the first change on; one of them stops reading for most of the time.
      const early = await Promise.all(choices.map((scope) => watch(cluster.url, scope, 'version', log.base)));
      const slow = await watch(cluster.url, choices[1]!, 'version', log.base);
      slow.stream.pause();
      const [late] = await Promise.all([
        openWatches(cluster.url, log, 30, randomFrom(seed)),
        work(client, log, { seed, writers, enough: () => log.size >= changesWanted }),
      ]);
      await finish(client, log);
      slow.stream.resume();
      const history = log.history(await newest(client));
      const all = [...early, ...late, slow];
      for (const watched of all) await caughtUp(watched, history);
      // Closing ends the streams, so any duplicate has arrived by then.
      await cluster.close();
      for (const watched of all) {
        expect(await watched.stream.ended).toBe(true);
        expect(check(watched, history, false)).toBe('whole');
      }
      expect(history.changes.length).toBeGreaterThanOrEqual(changesWanted);
    },
  );

  it.runIf(isRelease || store === 'lmdb')(
    'says so when history is gone, and never leaves a gap',
    { timeout: 300_000 },
    async () => {
      const cluster = await open(store, { history: { changesMax: 200 } });
      const client = new Client(cluster.url);
      const log = await prepare(client);
      const slow = await watch(cluster.url, choices[1]!, 'version', log.base);
      slow.stream.pause();
      const outcomes: Watched[] = [];
      let compacted = log.base;
      let compactions = 0;
      let done = false;
      const enough = (): boolean => log.size >= changesToFallBehind && compactions >= 3;
      const worked = work(client, log, { seed, writers, enough, ballastBytes }).finally(() => {
        done = true;
      });
      const watcher = (async () => {
        const random = randomFrom(seed);
        // Continuously opens watches at versions around the oldest one kept.
        while (!done) {
          const scope = {
            ...choices[random(choices.length)]!,
            namespace: [undefined, ...namespaces][random(4)],
          };
          const begin = (['version', 'version', 'version', 'now', 'history', 'list'] as const)[random(6)]!;
          outcomes.push(await watch(cluster.url, scope, begin, log.base + random(log.last - log.base + 1)));
          const edge = await oldestKept(client, log.last);
          if (edge > compacted) compactions += 1;
          compacted = Math.max(compacted, edge);
          if (!done) await Promise.race([log.grown(log.size + 20), worked]);
        }
      })();
      await Promise.all([worked, watcher]);
      await finish(client, log);
      slow.stream.resume();
      const history = log.history(await newest(client));
      for (const watched of [...outcomes, slow]) await caughtUp(watched, history);
      await cluster.close();
      const found = await Promise.all(
        [...outcomes, slow].map(async (watched) => {
          expect(await watched.stream.ended).toBe(true);
          return check(watched, history, true);
        }),
      );
      expect(found).toContain('cut');
      expect(found).toContain('whole');
      // This one stopped reading early, and most of its history was compacted meanwhile.
      expect(found.at(-1)).toBe('cut');
      // One that is too old from the start gets 410 at once.
      expect(outcomes.some(({ stream }) => stream.events.length === 1 && isError(stream.events[0]!))).toBe(
        true,
      );
    },
  );
});

describe('a watch from a version to come', () => {
  it('is silent until the store has passed it', async () => {
    const cluster = await open('memory');
    const client = new Client(cluster.url);
    const now = await newest(client);
    const path = '/api/v1/namespaces/default/configmaps';
    const stream = await Stream.open(`${cluster.url}${path}?watch=1&resourceVersion=${now + 3}`);
    for (let i = 1; i <= 5; i++) await client.post(path, { metadata: { name: `object-${i}` } });
    await stream.until((events) => events.length >= 2);
    await cluster.close();
    await stream.ended;
    expect(stream.events.map(brief)).toEqual([
      `ADDED default/object-4 ${now + 4}`,
      `ADDED default/object-5 ${now + 5}`,
    ]);
  });
});

/** The oldest version whose state can still be read. */
async function oldestKept(client: Client, newest: number): Promise<number> {
  let low = 1;
  let high = newest;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { status } = await client.get(`/api/v1/nodes?resourceVersion=${middle}&resourceVersionMatch=Exact`);
    if (status === 410) low = middle + 1;
    else high = middle;
  }
  return low;
}
