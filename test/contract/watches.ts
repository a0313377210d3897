/** Watches: changes after the start are delivered in order, and only those; so is the history. */
import { expect } from 'vitest';
import { brief, type WatchReader } from '../support/http.ts';
import type { Attempt } from './attempt.ts';
import type { Operation } from './objects.ts';
import { at } from './samples.ts';

/** The query parameter of a watch; a path under /watch/ does not need it. */
const watchQuery = (attempt: Attempt): Record<string, string> =>
  attempt.template.includes('/watch/') ? {} : { watch: 'true' };

async function currentVersion(attempt: Attempt): Promise<string> {
  const reply = await attempt.client.get(`${attempt.kind.prefix}/${attempt.kind.segment}`);
  return reply.body.metadata.resourceVersion;
}

/** Expects the events for a create, the change and the delete of the attempt's object. */
async function expectLife(attempt: Attempt, watch: WatchReader): Promise<void> {
  const { kind, name, namespace } = attempt;
  const ours = (event: { object: { metadata: { name: string } } }) => event.object.metadata.name === name;
  const added = await watch.until(ours);
  expect(added.type).toBe('ADDED');
  expect(added.object).toMatchObject({
    kind: kind.kind,
    apiVersion: kind.apiVersion,
    metadata: { name, ...(namespace ? { namespace } : {}) },
  });
  const { pointer, value } = kind.sample.edit;
  const changed = await watch.until((event) => ours(event) && at(event.object, pointer) === value);
  expect(changed.type).toBe('MODIFIED');
  const gone = await watch.until((event) => ours(event) && event.type !== 'MODIFIED');
  expect(gone.type).toBe('DELETED');
  const versions = [added, changed, gone].map(({ object }) => Number(object.metadata.resourceVersion));
  expect(versions).toEqual([...versions].sort((a, b) => a - b));
  for (const line of watch.lines) expect(() => JSON.parse(line)).not.toThrow();
}

async function live(attempt: Attempt): Promise<void> {
  await attempt.create();
  await attempt.edit();
  await attempt.remove();
}

/** Opens a watch, and always closes it. */
async function watching(
  attempt: Attempt,
  query: Record<string, string>,
  use: (watch: WatchReader) => Promise<void>,
): Promise<void> {
  const watch = await attempt.watch({ ...watchQuery(attempt), ...query });
  try {
    expect(watch.headers['content-type']).toBe('application/json');
    await use(watch);
  } finally {
    watch.close();
  }
}

/** With a version, only later changes are delivered, and only those of the path's objects. */
export const watchChanges: Operation = async (attempt) => {
  const earlier = attempt.other('home');
  await earlier.create();
  await watching(attempt, { resourceVersion: await currentVersion(attempt) }, async (watch) => {
    const stranger = attempt.other(attempt.scope === 'object' ? 'home' : 'away');
    await stranger.create();
    await live(attempt);
    if (attempt.scope === 'all') expect(brief(await watch.next())).toBe(`ADDED ${stranger.name}`);
    expect(watch.lines.some((line) => line.includes(`"${earlier.name}"`))).toBe(false);
    await expectLife(attempt, watch);
    if (attempt.scope !== 'all')
      expect(watch.lines.some((line) => line.includes(`"${stranger.name}"`))).toBe(false);
    await stranger.remove();
  });
  await earlier.remove();
};

/** Without a version, the stream starts with the beginning of history. */
export const watchHistory: Operation = async (attempt) => {
  await live(attempt);
  await watching(attempt, {}, (watch) => expectLife(attempt, watch));
};

const watchSelected =
  (query: (name: string) => Record<string, string>): Operation =>
  async (attempt) => {
    const resourceVersion = await currentVersion(attempt);
    await watching(attempt, { resourceVersion, ...query(attempt.name) }, async (watch) => {
      const neighbour = attempt.other('home');
      await neighbour.create();
      await live(attempt);
      await expectLife(attempt, watch);
      for (const line of watch.lines) expect(line).toContain(`"${attempt.name}"`);
      await neighbour.remove();
    });
  };

export const watchByLabel = watchSelected((name) => ({ labelSelector: `contract=${name}` }));
export const watchByField = watchSelected((name) => ({ fieldSelector: `metadata.name=${name}` }));
