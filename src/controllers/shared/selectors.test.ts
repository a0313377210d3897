/** Proves that all objects whose selector matches a pod are found, with every form of selector, and no others. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { JobV1 } from '../../api/generated/types.ts';
import { type LabelSelectorObject, selectorFromObject } from '../../api/kind/label-selector.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Harness } from './harness.fixture.ts';
import { mapSelector, Selectors } from './selectors.ts';

let harness: Harness;
let selectors: Selectors<JobV1>;
beforeEach(async () => {
  harness = await Harness.open();
  selectors = new Selectors((job) =>
    job.spec?.selector ? selectorFromObject(job.spec.selector as LabelSelectorObject) : undefined,
  );
});
afterEach(() => harness.close());

const job = (name: string, selector?: LabelSelectorObject, namespace = 'default'): Promise<Entry> =>
  harness.seed('batch/v1', 'jobs', namespace, { metadata: { name }, spec: { selector } });

it('finds by labels, by other rules, and within a namespace', async () => {
  const expression = (operator: string, values?: string[]) => ({
    matchExpressions: [{ key: 'app', operator, values }],
  });
  for (const entry of [
    await job('map', { matchLabels: { app: 'web' } }),
    await job('both', { matchLabels: { app: 'web', tier: 'front' } }),
    await job('set', expression('In', ['web', 'db'])),
    await job('not', expression('NotIn', ['web'])),
    await job('none'),
    await job('elsewhere', { matchLabels: { app: 'web' } }, 'other'),
  ])
    selectors.observe(entry, undefined);
  expect(selectors.selecting('default', { app: 'web' }).sort()).toEqual(['map', 'set']);
  expect(selectors.selecting('default', { app: 'web', tier: 'front' }).sort()).toEqual([
    'both',
    'map',
    'set',
  ]);
  expect(selectors.selecting('default', { app: 'db' }).sort()).toEqual(['not', 'set']);
  expect(selectors.selecting('default', undefined)).toEqual(['not']);
  expect(selectors.selecting('other', { app: 'web' })).toEqual(['elsewhere']);
  expect(selectors.selecting('nowhere', { app: 'web' })).toEqual([]);
});

it('follows changes', async () => {
  const first = await job('a', { matchLabels: { app: 'web' } });
  const second = await job('a', { matchLabels: { app: 'db' } }, 'copy');
  const moved = {
    ...second,
    namespace: 'default',
    name: 'a',
    peek: () => second.peek(),
  } as unknown as Entry;
  selectors.observe(first, undefined);
  selectors.observe(moved, first);
  expect(selectors.selecting('default', { app: 'web' })).toEqual([]);
  expect(selectors.selecting('default', { app: 'db' })).toEqual(['a']);
  selectors.observe(undefined, moved);
  expect(selectors.selecting('default', { app: 'db' })).toEqual([]);
});

it('an empty map selects nothing', () => {
  expect([mapSelector({}), mapSelector(undefined)]).toEqual([undefined, undefined]);
});
