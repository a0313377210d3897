/** Writers that work concurrently on the same objects, and record the answers. */
import { ChangeLog } from './change-log.ts';
import { type Client, type Json, mergePatch, strategicPatch } from './http.ts';

export const namespaces = ['default', 'one', 'two'];
const names = Array.from({ length: 10 }, (_, i) => `object-${i}`);
const colours = ['red', 'green', 'blue', undefined];
/** Makes Endpoints large, so that a client that does not read them soon falls behind. */
const usualBallastBytes = 30_000;
/** All writers share these; Secrets have one writer. */
const resources = ['configmaps', 'pods', 'endpoints'];

/** A generator of numbers below a bound, from a seed (mulberry32). */
export function randomFrom(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** Creates the namespaces, and starts the log at the version afterwards. */
export async function prepare(client: Client): Promise<ChangeLog> {
  for (const name of namespaces) {
    await client.post('/api/v1/namespaces', { metadata: { name } });
    // Pods need a service account, and no controller creates it.
    await client.post(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'default' } });
  }
  return new ChangeLog(Number((await client.get('/api/v1/namespaces')).body.metadata.resourceVersion));
}

export interface WorkloadOptions {
  readonly seed: number;
  readonly writers: number;
  /** Writers continue until this returns true. */
  readonly enough: () => boolean;
  /** How large Endpoints are. */
  readonly ballastBytes?: number;
}

export async function work(client: Client, log: ChangeLog, options: WorkloadOptions): Promise<void> {
  const ballast = 'x'.repeat(options.ballastBytes ?? usualBallastBytes);
  await Promise.all(
    Array.from({ length: options.writers }, async (_, number) => {
      const writer = new Writer(client, log, number, randomFrom(options.seed + number), ballast);
      while (!options.enough()) await writer.step();
    }),
  );
}

/**
 * Changes that every selector of a watch test matches, made when all watches are open: so each watch gets an
 * event after its start, and a test can wait for it.
 */
export async function finish(client: Client, log: ChangeLog): Promise<void> {
  const name = 'object-3';
  const writer = new Writer(client, log, 0, randomFrom(0));
  for (const namespace of namespaces) {
    const at = (resource: string): string => `/api/v1/namespaces/${namespace}/${resource}`;
    for (const [resource, colours] of [
      ['configmaps', ['blue', 'red']],
      ['endpoints', ['blue', null]],
      ['pods', ['blue', 'green']],
    ] as const) {
      await writer.create(resource, at(resource), name);
      for (const colour of colours) await writer.patch(resource, `${at(resource)}/${name}`, labelled(colour));
    }
    for (const phase of ['Running', 'Pending'])
      await writer.patch('pods', `${at('pods')}/${name}`, { status: { phase } }, '/status');
    for (const type of ['example.com/other', 'Opaque']) {
      await writer.delete('secrets', at('secrets'), name);
      await writer.create('secrets', at('secrets'), name, type);
    }
  }
}

const labelled = (colour: string | null, mark = 'last') => ({
  metadata: { labels: { colour }, annotations: { mark } },
});

class Writer {
  #count = 0;
  /** Objects as this writer last saw them, for replaces. */
  readonly #seen = new Map<string, Json>();

  constructor(
    private readonly client: Client,
    private readonly log: ChangeLog,
    private readonly number: number,
    private readonly random: (bound: number) => number,
    private readonly ballast = 'x'.repeat(usualBallastBytes),
  ) {}

  async step(): Promise<void> {
    // Deleting a Secret returns no version, so one writer makes all of these deletions (see ChangeLog.deleted).
    const resource = this.number === 0 ? 'secrets' : this.#pick(resources);
    const path = `/api/v1/namespaces/${this.#pick(namespaces)}/${resource}`;
    const name = this.#pick(names);
    const dice = this.random(100);
    if (dice < 40) await this.create(resource, path, name);
    else if (dice < 65) await this.#patchAny(resource, `${path}/${name}`);
    else if (dice < 85) await this.#replace(resource, path, name);
    else await this.delete(resource, path, name);
  }

  async create(resource: string, path: string, name: string, type?: string): Promise<void> {
    const reply = await this.client.post(path, this.#manifest(resource, name, type));
    this.#wrote(reply, resource, `${path}/${name}`, [409]);
  }

  async patch(resource: string, key: string, body: object, part = ''): Promise<void> {
    const type = this.random(2) ? mergePatch : strategicPatch;
    this.#wrote(await this.client.patch(key + part, body, type), resource, key, [404]);
  }

  async #patchAny(resource: string, key: string): Promise<void> {
    if (resource === 'pods' && this.random(2) === 0) {
      const phase = this.#pick(['Pending', 'Running']);
      await this.patch(resource, key, { status: { phase, message: this.#mark() } }, '/status');
    } else await this.patch(resource, key, labelled(this.#pick(colours) ?? null, this.#mark()));
  }

  /** Half of them have a version precondition, and may conflict with another writer. */
  async #replace(resource: string, path: string, name: string): Promise<void> {
    const key = `${path}/${name}`;
    const seen = this.#seen.get(key);
    if (!seen) return;
    const metadata = { ...seen.metadata, ...held(resource), annotations: { mark: this.#mark() } };
    if (this.random(2)) delete metadata.resourceVersion;
    for (const member of ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds']) delete metadata[member];
    const reply = await this.client.put(key, { ...seen, metadata });
    this.#wrote(reply, resource, key, [404, 409]);
  }

  async delete(resource: string, path: string, name: string): Promise<void> {
    const key = `${path}/${name}`;
    const reply = await this.client.delete(key);
    if (reply.body.kind === 'Status' && reply.status === 200) {
      if (resource !== 'secrets') throw new Error(`deleting ${key} told no version`);
      this.log.deleted(resource, { namespace: key.split('/')[4]!, name });
    } else this.#wrote(reply, resource, key, [404]);
    if (resource === 'pods' || resource === 'secrets') return;
    if (reply.status !== 200) return;
    // The others are held by a finalizer; removing it deletes them. With a version precondition, so that it
    // applies to exactly this state.
    const { resourceVersion } = reply.body.metadata;
    const released = await this.client.patch(key, { metadata: { finalizers: null, resourceVersion } });
    this.#wrote(released, resource, key, [404, 409]);
  }

  #wrote(reply: { status: number; body: Json }, resource: string, key: string, fine: number[]): void {
    if (reply.status === 200) {
      this.#seen.set(key, reply.body);
      this.log.wrote(resource, reply.body);
    } else if (!fine.includes(reply.status)) throw new Error(`${key}: ${JSON.stringify(reply.body)}`);
  }

  #manifest(resource: string, name: string, type = this.#pick(['Opaque', 'example.com/other'])): Json {
    const colour = this.#pick(colours);
    const metadata = {
      name,
      ...(colour ? { labels: { colour } } : {}),
      ...held(resource),
      annotations: { mark: this.#mark(), ...(resource === 'endpoints' ? { ballast: this.ballast } : {}) },
    };
    if (resource === 'pods')
      return {
        metadata,
        spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
      };
    if (resource === 'secrets') return { metadata, type };
    return { metadata };
  }

  /** A unique value, so that no write is taken for one that changes nothing. */
  #mark(): string {
    this.#count += 1;
    return `${this.number}-${this.#count}`;
  }

  #pick<T>(options: readonly T[]): T {
    return options[this.random(options.length)]!;
  }
}

/** With a finalizer, deletion and removal are two changes, and both answers have a version. */
const held = (resource: string): object =>
  resource === 'configmaps' || resource === 'endpoints' ? { finalizers: ['example.com/hold'] } : {};
