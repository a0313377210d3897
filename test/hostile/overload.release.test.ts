/**
 * Proves that an overloaded server stays within its memory and keeps answering: a list of 100,000 objects to
 * 50 clients at once, and 5,000 connections, half of which do not read their answers.
 */
import { readFileSync } from 'node:fs';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeBackup } from '../../src/store/backup-file.ts';
import { restoreStore } from '../../src/store/restore.ts';
import type { Stored } from '../../src/store/store.ts';
import { Child, useChildren } from '../support/child.ts';
import { Client } from '../support/http.ts';

const objects = 100_000;
const listers = 50;
const watchers = 2_500;
const sluggards = 2_500;
/** Of the clients that do not read, this many request more than the socket buffers hold. */
const heavySluggards = 25;
/** Minimum of file descriptors, for the server and the clients here. */
const filesMin = watchers + sluggards + 500;
/** Maximum memory growth of the server in MB. Buffered in memory, 50 lists alone would take 1,200. */
const growthMaxMb = 500;

const children = useChildren();
const configMaps = '/api/v1/namespaces/default/configmaps';
const secrets = '/api/v1/namespaces/default/secrets';
const filesAllowed = Number(/Max open files\s+(\d+)/.exec(readText('/proc/self/limits'))?.[1] ?? 0);

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Current and peak memory of a process, in MB. */
function memoryMb({ pid }: Child): { now: number; most: number } {
  const status = readText(`/proc/${pid}/status`);
  const of = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1024;
  return { now: of('VmRSS'), most: of('VmHWM') };
}

/** Many small objects, as store records. */
async function* manyObjects(): AsyncGenerator<readonly Stored[]> {
  for (let from = 0; from < objects; from += 5_000)
    yield Array.from({ length: 5_000 }, (_, i) => {
      const number = String(from + i).padStart(12, '0');
      const text = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c${number}","namespace":"default","selfLink":"${configMaps}/c${number}","uid":"00000000-0000-4000-8000-${number}","creationTimestamp":"2026-01-01T00:00:00Z"}}`;
      return {
        key: `core/configmaps\0default\0c${number}`,
        value: Buffer.from(text),
        revision: from + i + 1,
      };
    });
}

function open(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = get(url, { agent: false }, (response) => {
      response.on('error', () => undefined);
      resolve(response);
    });
    sent.on('error', reject);
  });
}

/** Reads an answer to its end, and counts its bytes. */
async function count(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  return bytes;
}

/** Sends small reads and writes until told to stop; returns how many were answered. */
function askOnTheSide(client: Client): { stop(): Promise<number> } {
  let stopped = false;
  const asked = (async () => {
    let answered = 0;
    while (!stopped) {
      const read = await client.get(`${configMaps}/c${'0'.repeat(12)}`);
      const written = await client.post(secrets, { metadata: { generateName: 'aside-' } });
      expect([read.status, written.status]).toEqual([200, 200]);
      answered += 2;
    }
    return answered;
  })();
  return {
    stop: () => {
      stopped = true;
      return asked;
    },
  };
}

describe.skipIf(filesAllowed < filesMin)(
  `a server under more load than it can take (ulimit -n ${filesMin})`,
  () => {
    let server: Child;
    let client: Client;
    let base: number;

    beforeAll(async () => {
      const folder = join(await children.folder(), 'data');
      await restoreStore(folder, 'of this test', writeBackup(objects, manyObjects()));
      server = new Child(
        ['serve', '--port', '0', '--data-dir', folder, '--log-level', 'error'],
        undefined,
        `ulimit -n ${filesMin}`,
      );
      client = new Client(await server.ready());
      base = memoryMb(server).now;
    }, 120_000);

    it('lists many objects to many clients at once, and answers others', { timeout: 300_000 }, async () => {
      const aside = askOnTheSide(client);
      const lists = await Promise.all(
        Array.from({ length: listers }, async () => {
          const response = await open(`${client.url}${configMaps}`);
          expect(response.statusCode).toBe(200);
          return { bytes: await count(response), announced: Number(response.headers['content-length']) };
        }),
      );
      expect(await aside.stop()).toBeGreaterThan(0);
      for (const { bytes, announced } of lists) expect(bytes).toBe(announced);
      expect(lists[0]!.bytes).toBeGreaterThan(objects * 200);
      expect(memoryMb(server).most - base).toBeLessThan(growthMaxMb);
    });

    it('bears thousands of connections, half of which do not read', { timeout: 300_000 }, async () => {
      const { resourceVersion } = (await client.get(`${configMaps}?limit=1`)).body.metadata;
      const watch = `?watch=1&resourceVersion=${resourceVersion}`;
      const streams = await inTurns(watchers, () => open(`${client.url}${configMaps}${watch}`));
      const slow = await inTurns(sluggards, async (i) => {
        // Some request large changes that will come, some request everything that exists.
        const path =
          i < heavySluggards
            ? `${secrets}${watch}`
            : i < 2 * heavySluggards
              ? configMaps
              : `${configMaps}${watch}`;
        return (await open(`${client.url}${path}`)).pause();
      });
      const told = streams.map(
        (response) =>
          new Promise<string>((resolve) => {
            let text = '';
            response.setEncoding('utf8').on('data', (chunk: string) => {
              text += chunk;
              if (text.includes('"name":"last"')) resolve(text);
            });
          }),
      );
      const aside = askOnTheSide(client);
      for (let i = 0; i < 100; i++) {
        const reply = await client.post(secrets, {
          metadata: { generateName: 'large-' },
          stringData: { ballast: 'x'.repeat(200_000) },
        });
        expect(reply.status).toBe(200);
      }
      for (const name of ['first', 'second', 'last'])
        expect((await client.post(configMaps, { metadata: { name } })).status).toBe(200);
      for (const text of await Promise.all(told))
        expect(text.match(/"name":"(first|second|last)"/g)).toHaveLength(3);
      expect(await aside.stop()).toBeGreaterThan(0);
      expect(memoryMb(server).most - base).toBeLessThan(growthMaxMb);
      for (const response of [...streams, ...slow]) response.destroy();
      // They leave no trace: the server ends normally.
      expect((await client.get('/livez')).text).toBe('ok');
      server.signal('SIGTERM');
      expect(await server.exited, server.stderr).toEqual({ code: 0, signal: null });
    });
  },
);

/** Opens connections a hundred at a time: the accept queue is not tested here. */
async function inTurns<T>(total: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let from = 0; from < total; from += 100)
    made.push(
      ...(await Promise.all(Array.from({ length: Math.min(100, total - from) }, (_, i) => make(from + i)))),
    );
  return made;
}
