/**
 * Proves that `kill -9` at any moment loses no acknowledged write, leaves no partial write, never decreases
 * versions, and that every event a watcher got is in the store afterwards.
 */
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Child, useChildren } from '../support/child.ts';
import type { Json } from '../support/http.ts';
import { Stream, type StreamEvent } from '../support/stream.ts';
import { isRelease } from '../support/tier.ts';
import { randomFrom } from '../support/workload.ts';

const rounds = isRelease ? 22 : 3;
const writers = 8;
/** A round ends after a random number of answers up to this, of all writers together. */
const answersMax = 160;
const names = ['a', 'b', 'c', 'd'];
const collection = '/api/v1/namespaces/default/configmaps';
/** Decides what the writers do; the timing is up to the machine. */
const seed = Number(process.env['WHERRY_SEED'] ?? 20_261_115);

const children = useChildren();

/** The last known state of an object, and a write that may have changed it without an answer. */
interface Known {
  /** The whole object as returned; undefined: it does not exist. */
  object: Json | undefined;
  /** The write under way: the data to store, or null to delete. */
  pending: { readonly data: Record<string, string> | null } | undefined;
}

/** The answer, or undefined when the server died before it. */
function send(
  url: string,
  agent: Agent,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: Json } | undefined> {
  return new Promise((resolve) => {
    const text = body && JSON.stringify(body);
    const headers = text
      ? { 'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }
      : {};
    const sent = request(`${url}${path}`, { method, agent, headers }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        answer += chunk;
      });
      response.on('error', () => resolve(undefined));
      // An incomplete answer counts as none.
      response.on('close', () =>
        resolve(response.complete ? { status: response.statusCode!, body: JSON.parse(answer) } : undefined),
      );
    });
    sent.on('error', () => resolve(undefined)).end(text);
  });
}

/** Writes to its own objects, one write after the other, until the server is gone. */
class Writer {
  readonly known = new Map<string, Known>();
  #count = 0;

  constructor(
    private readonly number: number,
    private readonly random: (bound: number) => number,
  ) {
    for (const name of names) this.known.set(`w${number}-${name}`, { object: undefined, pending: undefined });
  }

  /** `answered` is called after each answer. */
  async run(url: string, answered: (version: number | undefined) => void): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (;;) {
      const [name, known] = [...this.known][this.random(names.length)]!;
      const data = this.random(4) === 0 && known.object ? null : this.#data();
      known.pending = { data };
      const reply = await this.#write(url, agent, name, known.object, data);
      if (!reply) break;
      if (reply.status !== 200) throw new Error(`${name}: ${JSON.stringify(reply.body)}`);
      known.pending = undefined;
      known.object = data === null ? undefined : reply.body;
      answered(data === null ? undefined : Number(reply.body.metadata.resourceVersion));
    }
    agent.destroy();
  }

  #write(
    url: string,
    agent: Agent,
    name: string,
    object: Json | undefined,
    data: Record<string, string> | null,
  ) {
    const path = `${collection}/${name}`;
    if (data === null) return send(url, agent, 'DELETE', path);
    if (!object) return send(url, agent, 'POST', collection, { metadata: { name }, data });
    const { resourceVersion } = object.metadata;
    if (this.random(2)) return send(url, agent, 'PUT', path, { metadata: { name, resourceVersion }, data });
    return send(url, agent, 'PATCH', path, { data });
  }

  /** Always the same keys, so that a merge patch replaces all of it; a partial write would mix two counts. */
  #data(): Record<string, string> {
    this.#count += 1;
    const count = `${this.number}-${this.#count}`;
    return { count, ballast: count.repeat(1 + this.random(800)), last: count };
  }
}

/** Compares the stored objects with the acknowledged ones, and takes them as known. */
function compare(writer: Writer, found: Map<string, Json>, newest: number): void {
  for (const [name, known] of writer.known) {
    const object = found.get(name);
    const kept = object?.metadata.resourceVersion === known.object?.metadata.resourceVersion;
    if (kept) expect(object, name).toEqual(known.object);
    else {
      // Then it must be the complete write that was not answered.
      expect(known.pending, `${name} is not what was acknowledged, seed ${seed}`).toBeDefined();
      expect(object?.data ?? null, name).toEqual(known.pending!.data);
      if (object) expect(versionOf(object), name).toBeGreaterThan(known.object ? versionOf(known.object) : 0);
    }
    if (object) expect(versionOf(object)).toBeLessThanOrEqual(newest);
    known.object = object;
    known.pending = undefined;
  }
}

const versionOf = (object: Json): number => Number(object.metadata.resourceVersion);
const brief = ({ type, object }: StreamEvent): string =>
  `${type} ${object.metadata.name} ${object.metadata.resourceVersion}`;

describe('a server that is killed under load', () => {
  it(`keeps its word, ${rounds} times`, { timeout: 300_000 }, async () => {
    const folder = join(await children.folder(), 'data');
    const random = randomFrom(seed);
    const team = Array.from(
      { length: writers },
      (_, number) => new Writer(number, randomFrom(seed + 1 + number)),
    );
    const acknowledged = new Set<number>();
    let told: StreamEvent[] = [];
    let start = 0;
    for (let round = 0; round <= rounds; round++) {
      const server = new Child(['serve', '--port', '0', '--data-dir', folder]);
      const url = await server.ready();
      const list = (await send(url, new Agent(), 'GET', collection))!.body;
      const newest = Number(list.metadata.resourceVersion);
      const found = new Map<string, Json>(
        list.items.map((item: Json) => [
          item.metadata.name,
          { kind: 'ConfigMap', apiVersion: 'v1', ...item },
        ]),
      );
      for (const writer of team) compare(writer, found, newest);
      expect(newest).toBeGreaterThanOrEqual(Math.max(0, ...acknowledged));
      if (round > 0) await retold(url, start, told);
      if (round === rounds) {
        await server.kill();
        break;
      }

      const stream = await Stream.open(`${url}${collection}?watch=1&resourceVersion=${newest}`);
      let left = 1 + random(answersMax);
      const patienceMs = random(4);
      await Promise.all(
        team.map((writer) =>
          writer.run(url, (version) => {
            if (version !== undefined) {
              expect(version).toBeGreaterThan(newest);
              expect(acknowledged.has(version), `version ${version} was given twice`).toBe(false);
              acknowledged.add(version);
            }
            left -= 1;
            // Immediately, or a moment later, in the middle of the server's work.
            if (left === 0) setTimeout(() => server.signal('SIGKILL'), patienceMs);
          }),
        ),
      );
      expect((await server.exited).signal).toBe('SIGKILL');
      await stream.ended;
      told = stream.events;
      start = newest;
    }
    expect(acknowledged.size).toBeGreaterThan(rounds);
  });
});

/** History survives, too: a new watch starts with exactly the events that the watcher got before the crash. */
async function retold(url: string, start: number, told: readonly StreamEvent[]): Promise<void> {
  const again = await Stream.open(`${url}${collection}?watch=1&resourceVersion=${start}`);
  // A new change: all events before it are from before the crash.
  const marker = { metadata: { generateName: 'marker-' } };
  const { name } = (await send(url, new Agent(), 'POST', collection, marker))!.body.metadata;
  await again.until((events) => events.some(({ object }) => object.metadata.name === name));
  again.close();
  await again.ended;
  expect(again.events.slice(0, told.length).map(brief)).toEqual(told.map(brief));
  for (const [i, event] of told.entries()) expect(again.events[i]).toEqual(event);
  const versions = again.events.map(({ object }) => versionOf(object));
  for (const [i, version] of versions.entries()) expect(version).toBeGreaterThan(versions[i - 1] ?? start);
}
