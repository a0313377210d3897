/** Proves how the templates of a set are kept: each once, the newest with the highest number, under unique names. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ControllerRevision, DaemonSet } from '../../api/generated/types.ts';
import { selectorFromObject } from '../../api/kind/label-selector.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Harness } from '../shared/harness.fixture.ts';
import { hashOf, RevisionHistory, type RevisionList } from './revision-history.ts';

const selector = selectorFromObject({ matchLabels: { app: 'web' } });
let harness: Harness;
let history: RevisionHistory;

beforeEach(async () => {
  harness = await Harness.open();
  history = new RevisionHistory({ ...harness.context, request: asTester });
  await harness.seed('apps/v1', 'daemonsets', 'default', {
    metadata: { name: 'web', annotations: { note: 'hello' } },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'c', image: 'i:1', env: [{ name: 'B' }, { name: 'A' }] }] },
      },
    },
  });
});
afterEach(() => harness.close());

const entry = (): Entry => harness.registry.view.collection('apps/daemonsets').get('default', 'web')!;
const take = (status: DaemonSet['status'] = {}): Promise<RevisionList> =>
  history.take(entry(), { ...(entry().object() as DaemonSet), status }, selector);
const all = (): ControllerRevision[] =>
  harness.all('apps/controllerrevisions').map((one) => one.object() as ControllerRevision);
const numbers = ({ revisions }: RevisionList): number[] => revisions.map(({ number }) => number);

async function setImage(image: string): Promise<void> {
  await modify(
    harness.writing,
    asTester('update'),
    { kind: entry().kind, namespace: 'default', name: 'web', part: 'whole' },
    (current) => {
      const set = current.object() as DaemonSet;
      set.spec!.template!.spec!.containers![0]!.image = image;
      return set;
    },
  );
}

describe('a template', () => {
  it('is kept as a patch that brings it back, with keys in order', async () => {
    const { update, collisionCount } = await take();
    const [revision] = all() as [ControllerRevision];
    expect(update).toMatchObject({ name: `web-${update.hash}`, number: 1 });
    expect(collisionCount).toBeUndefined();
    expect(revision).toMatchObject({
      revision: 1,
      metadata: {
        name: update.name,
        labels: { app: 'web', 'controller-revision-hash': update.hash },
        annotations: { note: 'hello' },
        ownerReferences: [{ kind: 'DaemonSet', name: 'web', controller: true }],
      },
    });
    expect(JSON.stringify(revision.data)).toBe(
      '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"env":[{"name":"B"},{"name":"A"}],"image":"i:1","name":"c","resources":{}}]}}}}',
    );
    expect(update.template.spec?.containers?.[0]?.image).toBe('i:1');
    expect(update.template).not.toHaveProperty('$patch');
  });

  it('is kept once, and is the newest again when it comes back', async () => {
    const first = await take();
    expect((await take()).update.name).toBe(first.update.name);
    await setImage('i:2');
    const second = await take();
    expect(numbers(second)).toEqual([1, 2]);
    await setImage('i:1');
    const third = await take();
    expect([third.update.name, third.update.number]).toEqual([first.update.name, 3]);
    expect(numbers(third)).toEqual([2, 3]);
    expect(all().length).toBe(2);
    expect((await take()).update.number).toBe(3);
  });

  it('gets another name when another has taken its own', async () => {
    const { update } = await take();
    await history.trim(await take(), 0, () => false);
    expect(all()).toEqual([]);
    await harness.seed('apps/v1', 'controllerrevisions', 'default', {
      metadata: { name: update.name },
      data: { something: 'else' },
      revision: 9,
    });
    const again = await take();
    expect(again.collisionCount).toBe(1);
    expect(again.update).toMatchObject({ number: 1, hash: hashOf(update.text, 1) });
    expect(again.update.name).not.toBe(update.name);
    // A collision count is found again, also when the status could not be written.
    expect((await take()).update.name).toBe(again.update.name);
    expect((await take({ collisionCount: 1 })).collisionCount).toBe(1);
  });

  it('that nobody owns is adopted', async () => {
    const { update } = await take();
    await modify(
      harness.writing,
      asTester('update'),
      { kind: update.item.entry.kind, namespace: 'default', name: update.name, part: 'whole' },
      (now) => {
        const object = now.object();
        object.metadata.ownerReferences = undefined;
        return object;
      },
    );
    expect((await take()).update.name).toBe(update.name);
    expect(all()[0]?.metadata.ownerReferences?.[0]?.name).toBe('web');
  });
});

it('the oldest are forgotten, but never those in use', async () => {
  for (let i = 1; i <= 5; i++) {
    await setImage(`i:${i}`);
    await take();
  }
  const kept = await take();
  const inUse = new Set([kept.revisions[1]!.name, kept.update.name]);
  await history.trim(kept, 1, ({ name }) => inUse.has(name));
  expect(numbers(await take())).toEqual([2, 4, 5]);
});

it('hashes are short words that differ with the count of collisions', () => {
  const hashes = [undefined, 0, 1, 2].map((count) => hashOf('{"spec":{}}', count));
  for (const hash of hashes) expect(hash).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  expect(new Set(hashes).size).toBe(4);
});
