/** Proves that informers and watches of the official JavaScript client miss no change, whatever interrupts them. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  CoreV1Api,
  KubeConfig,
  ListWatch,
  makeInformer,
  PatchStrategy,
  Watch,
} from '@kubernetes/client-node';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { housekeeping, type Json } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';
import { Calls } from './calls.ts';
import { useLibrary } from './library.ts';
import { libraryKinds } from './library-kinds.ts';

/** So little history that it can be exceeded; it is compacted once a second. */
const changesMax = 10;

const library = useLibrary({ controllers: housekeeping, history: { changesMax } });
const configMaps = new Calls(library, libraryKinds.find(({ kind }) => kind === 'ConfigMap')!);
const path = `/api/v1/namespaces/${configMaps.namespace}/configmaps`;
const open: ListWatch<Json>[] = [];
/** With `npm test` a third of them: an informer does the same for each. */
const kinds = libraryKinds.filter((_, i) => isRelease || i % 3 === 0);

beforeAll(async () => {
  for (const kind of libraryKinds) {
    const name = new Calls(library, kind).namespace;
    if (name) await library.call(CoreV1Api, 'createNamespace', { body: { metadata: { name } } });
  }
});

afterEach(async () => {
  for (const informer of open.splice(0)) await informer.stop();
});

type List = () => Promise<Json>;

/** Records the events of an informer. */
class Observer {
  readonly informer: ListWatch<Json>;
  readonly seen: string[] = [];
  readonly errors: Error[] = [];
  lists = 0;
  connects = 0;

  constructor(list: List, informerOf: (list: List) => ListWatch<Json>) {
    this.informer = informerOf(() => {
      this.lists++;
      return list();
    });
    open.push(this.informer);
    for (const verb of ['add', 'update', 'delete'] as const)
      this.informer.on(verb, (object: Json) => this.seen.push(`${verb} ${object.metadata.name}`));
    this.informer.on('connect', () => {
      this.connects++;
    });
    // This library reports being stopped as an error.
    this.informer.on('error', (error: Json) => error.name === 'AbortError' || this.errors.push(error));
  }

  /** Resolves when as many new events as wanted have arrived, and they are equal. */
  async sees(...wanted: string[]): Promise<void> {
    await expect.poll(() => this.seen.length).toBeGreaterThanOrEqual(wanted.length);
    expect(this.seen.splice(0)).toEqual(wanted);
  }
}

function observe(selector: object = {}, where = path, config = library.config): Observer {
  const { labelSelector, fieldSelector } = selector as Record<string, string>;
  return new Observer(
    () => configMaps.list(selector),
    (list) => new ListWatch<Json>(where, new Watch(config), list, false, labelSelector, fieldSelector),
  );
}

/** A change of an object. */
const create = (name: string, labels: object = {}) =>
  configMaps.create({ metadata: { name, labels: { contract: name, ...labels } } });
const label = (name: string, labels: object) =>
  configMaps.patch(name, { metadata: { labels } }, PatchStrategy.MergePatch);

describe('an informer', () => {
  it.each(kinds)('of $apiVersion $kind follows an object from beginning to end', async (kind) => {
    const calls = new Calls(library, kind);
    const labelSelector = 'contract in (before, followed)';
    await calls.create(calls.manifest('before'));
    const scope = kind.namespaced ? `/namespaces/${calls.namespace}` : '';
    const place = `/${kind.apiVersion === 'v1' ? 'api' : 'apis'}/${kind.apiVersion}${scope}/${kind.segment}`;
    const { informer, seen, errors } = new Observer(
      () => calls.list({ labelSelector }),
      (list) => makeInformer<Json>(library.config, place, list, labelSelector) as ListWatch<Json>,
    );
    await informer.start();
    expect(seen).toEqual(['add before']);
    await calls.create(calls.manifest('followed'));
    const patch = { metadata: { labels: { edited: 'yes' } } };
    const changed = await calls.patch('followed', patch, PatchStrategy.MergePatch);
    await expect.poll(() => informer.get('followed', calls.namespace)?.metadata.labels.edited).toBe('yes');
    const known = BigInt(informer.latestResourceVersion());
    expect(known).toBeGreaterThanOrEqual(BigInt(changed.metadata.resourceVersion));
    await calls.delete('followed', { propagationPolicy: 'Background' });
    await expect.poll(() => seen.at(-1)).toBe('delete followed');
    expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(['before']);
    // Controllers may have made further changes.
    const ours = [...new Set(seen)].filter((change) => change !== 'update before');
    expect(ours).toEqual(['add before', 'add followed', 'update followed', 'delete followed']);
    expect(errors).toEqual([]);
  });

  it('goes on where it was when the server ends the watch, without another list', async () => {
    const observer = observe({ labelSelector: 'group=resumed' }, `${path}?timeoutSeconds=1`);
    await observer.informer.start();
    await create('resumed-a', { group: 'resumed' });
    await observer.sees('add resumed-a');
    await expect.poll(() => observer.connects).toBeGreaterThan(1);
    await create('resumed-b', { group: 'resumed' });
    await observer.sees('add resumed-b');
    expect([observer.lists, observer.errors]).toEqual([1, []]);
  });

  it('says so when the connection is lost, and misses nothing when it is started again', async () => {
    await using line = await Line.to(library.cluster.url);
    const config = new KubeConfig();
    config.loadFromString(library.cluster.kubeconfig.replaceAll(library.cluster.url, line.url));
    const observer = observe({ labelSelector: 'group=cut' }, path, config);
    await observer.informer.start();
    await create('cut-a', { group: 'cut' });
    await create('cut-b', { group: 'cut' });
    await observer.sees('add cut-a', 'add cut-b');
    line.cut();
    await expect.poll(() => observer.errors.length).toBe(1);
    await configMaps.delete('cut-a');
    await label('cut-b', { edited: 'yes' });
    await create('cut-c', { group: 'cut' });
    await observer.informer.start();
    await observer.sees('delete cut-a', 'update cut-b', 'add cut-c');
    expect(observer.lists).toBe(1);
  });

  it('lists again when what it missed is forgotten, and tells of what went away', async () => {
    const observer = observe({ labelSelector: 'group=stale' });
    await create('stale-a', { group: 'stale' });
    await create('stale-b', { group: 'stale' });
    await observer.informer.start();
    await observer.sees('add stale-a', 'add stale-b');
    await observer.informer.stop();
    const version = observer.informer.latestResourceVersion();
    await configMaps.delete('stale-a');
    await label('stale-b', { edited: 'yes' });
    await create('stale-c', { group: 'stale' });
    await forget(version);
    await observer.informer.start();
    await observer.sees('delete stale-a', 'update stale-b', 'add stale-c');
    expect([observer.lists, observer.errors]).toEqual([2, []]);
    // It works again.
    await configMaps.delete('stale-c');
    await observer.sees('delete stale-c');
  });

  it('sees what its selectors let through, and takes for deleted what leaves them', async () => {
    const byLabel = observe({ labelSelector: 'colour=blue' });
    const byField = observe({ fieldSelector: 'metadata.name=chosen' });
    await Promise.all([byLabel.informer.start(), byField.informer.start()]);
    await create('chosen', { colour: 'red' });
    await create('passed-over', { colour: 'blue' });
    await label('chosen', { colour: 'blue' });
    await label('passed-over', { colour: 'red' });
    await label('chosen', { colour: 'blue', edited: 'yes' });
    await byLabel.sees('add passed-over', 'add chosen', 'delete passed-over', 'update chosen');
    await byField.sees('add chosen', 'update chosen', 'update chosen');
  });
});

/** Exceeds the history, and waits until a version is too old. */
async function forget(version: string): Promise<void> {
  await create(`noise-${version}`);
  for (let i = 0; i <= changesMax; i++) await label(`noise-${version}`, { i: String(i) });
  await expect
    .poll(async () => (await watch({ resourceVersion: version, timeoutSeconds: 1 })).events[0], {
      timeout: 60_000,
      interval: 200,
    })
    .toMatchObject({ type: 'ERROR', object: { code: 410 } });
}

interface Watched {
  readonly events: { type: string; object: Json }[];
  readonly error: Json;
}

/** A watch from start to end; `enough` may end it after an event. */
function watch(query: object, enough: (type: string) => boolean = () => false, at = path): Promise<Watched> {
  const events: Watched['events'] = [];
  return new Promise((resolve, reject) => {
    let stop = (): void => undefined;
    new Watch(library.config)
      .watch(
        at,
        query as Record<string, string>,
        (type, object) => {
          events.push({ type, object });
          if (enough(type)) stop();
        },
        (error) => resolve({ events, error }),
      )
      .then((controller) => {
        stop = () => controller.abort();
        if (events.some(({ type }) => enough(type))) stop();
      })
      .catch(reject);
  });
}

describe('Watch', () => {
  const brief = ({ events }: Watched) => events.map(({ type, object }) => `${type} ${object.metadata?.name}`);
  const now = async () => (await configMaps.list({ limit: 1 })).metadata.resourceVersion;

  it('begins at a version, and ends in time', async () => {
    const resourceVersion = await now();
    await create('timed');
    await configMaps.delete('timed');
    const watched = await watch({ resourceVersion, timeoutSeconds: 1 });
    expect(brief(watched)).toEqual(['ADDED timed', 'DELETED timed']);
    expect(watched.error).toBeNull();
  });

  it('sends the state first, and a bookmark behind it', async () => {
    await create('initial');
    const watched = await watch(
      {
        labelSelector: 'contract=initial',
        sendInitialEvents: true,
        allowWatchBookmarks: true,
        resourceVersionMatch: 'NotOlderThan',
      },
      (type) => type === 'BOOKMARK',
    );
    expect(brief(watched)).toEqual(['ADDED initial', 'BOOKMARK undefined']);
    expect(watched.events[1]!.object.metadata).toMatchObject({
      resourceVersion: expect.stringMatching(/^\d+$/),
      annotations: { 'k8s.io/initial-events-end': 'true' },
    });
  });

  it('ends when it is told to', async () => {
    const watched = await watch({ resourceVersion: '0' }, () => true);
    expect(watched.events).not.toHaveLength(0);
    expect(watched.error.name).toBe('AbortError');
  });

  it('fails with the code of the answer', async () => {
    const nowhere = await watch({}, undefined, '/api/v1/nothings');
    expect(nowhere.error).toMatchObject({ statusCode: 404, message: 'Not Found' });
    const unclear = await watch({ labelSelector: '!!' });
    expect(unclear.error).toMatchObject({ statusCode: 400, message: 'Bad Request' });
  });
});

/** A TCP proxy to the cluster whose connections can be cut. */
class Line implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async to(target: string): Promise<Line> {
    const { hostname, port } = new URL(target);
    const server = createServer((near) => {
      const far = connect(Number(port), hostname);
      for (const socket of [near, far]) {
        line.#sockets.add(socket);
        socket.on('error', () => undefined).on('close', () => line.#sockets.delete(socket));
      }
      near.pipe(far).pipe(near);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address() as { port: number };
    const line = new Line(server, `http://127.0.0.1:${address.port}`);
    return line;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }
}
