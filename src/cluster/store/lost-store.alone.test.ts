/** Proves that a cluster which loses its store says so, answers nothing that may be wrong, and can be closed. */
import { get } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../store/store.ts';
import type { Cluster } from '../cluster.ts';
import type { StartOptions } from '../options/start-options.ts';
import { start } from '../start.ts';

const opened: Store[] = [];
vi.mock('../../store/memory.ts', async (original) => {
  const real = await original<typeof import('../../store/memory.ts')>();
  return {
    ...real,
    openMemoryStore: (...options: Parameters<typeof real.openMemoryStore>) => {
      const store = real.openMemoryStore(...options);
      opened.push(store);
      return store;
    },
  };
});

let cluster: Cluster | undefined;
afterEach(() => cluster?.close());

/** A cluster, and what to call when its store is to go. */
async function begin(options: StartOptions): Promise<() => Promise<void>> {
  cluster = await start({ store: 'memory', controllers: ['housekeeping'], ...options });
  return () => opened.at(-1)!.close();
}

const message = 'the server no longer knows what its store holds: the store is closed';

describe('a cluster that has lost its store', () => {
  it('tells its host, answers 503 whatever is asked, and closes', async () => {
    const fatal: Error[] = [];
    const errors: Error[] = [];
    const lose = await begin({
      onFatal: (error) => fatal.push(error),
      onError: (error) => errors.push(error),
    });
    const root = `${cluster!.url}/api/v1/namespaces`;
    const watched = new Promise<string>((resolve, reject) => {
      get(`${root}?watch=1&resourceVersion=0`, (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (part: string) => (text += part))
          .on('end', () => resolve(text))
          .on('error', reject)
          .once('data', () => void lose());
      }).on('error', reject);
    });
    // The watch ends, so that its client comes back and learns more.
    expect(JSON.parse((await watched).trim().split('\n').at(-1)!)).toMatchObject({
      type: 'ERROR',
      object: { code: 410, reason: 'Expired' },
    });
    expect(fatal.map((error) => error.message)).toEqual([message]);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '?resourceVersion=0'],
      ['GET', '/default'],
      ['GET', '/default?resourceVersion=0'],
      ['GET', '?watch=1&resourceVersion=0'],
      ['POST', ''],
      ['DELETE', '/kube-public'],
    ] as const) {
      const body = method === 'POST' ? JSON.stringify({ metadata: { name: 'new' } }) : undefined;
      const response = await fetch(`${root}${path}`, { method, ...(body ? { body } : {}) });
      expect({ asked: `${method} ${path}`, ...((await response.json()) as object) }).toMatchObject({
        asked: `${method} ${path}`,
        kind: 'Status',
        code: 503,
        reason: 'ServiceUnavailable',
        message,
      });
    }
    const health = await fetch(`${cluster!.url}/livez/view`);
    expect({ status: health.status, text: await health.text() }).toEqual({
      status: 500,
      text: `internal server error: ${message}\n`,
    });
    await cluster!.close();
    expect(errors).toEqual([]);
  });

  it('tells onError when nobody listens for the end', async () => {
    let told!: (error: Error) => void;
    const error = new Promise<Error>((resolve) => {
      told = resolve;
    });
    const lose = await begin({ onError: told });
    await lose();
    expect((await error).message).toBe(message);
  });
});
