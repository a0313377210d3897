/** Proves that a directive of a strategic merge patch may hold anything, at any place: it is followed or refused, never 500. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Json, strategicPatch } from '../support/http.ts';
import { useTarget } from '../support/target.ts';
import { isRelease } from '../support/tier.ts';

const template = '/api/v1/namespaces/default/podtemplates/kept';
const target = useTarget();

beforeAll(async () => {
  await target.post('/api/v1/namespaces/default/podtemplates', {
    metadata: { name: 'kept', finalizers: ['example.com/a', 'example.com/b'], labels: { a: 'b' } },
    template: {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }] },
    },
  });
});

const lists = ['finalizers', 'containers', 'ports', 'tolerations', 'labels', 'nope', '', '__proto__', 'spec'];
const directives = [
  '$patch',
  '$retainKeys',
  '$setElementOrder',
  '$deleteFromPrimitiveList',
  ...lists.flatMap((list) => [`$setElementOrder/${list}`, `$deleteFromPrimitiveList/${list}`]),
];

const values: readonly unknown[] = [
  null,
  true,
  0,
  -1.5,
  '',
  'delete',
  'replace',
  'merge',
  'x',
  {},
  { name: 'c' },
  { $patch: 'delete' },
  [],
  [null],
  [true],
  [7],
  ['example.com/a'],
  ['name', 'image'],
  ['a', 7],
  [{}],
  [{ name: 'c' }],
  [{ name: {} }],
  [{ containerPort: 80 }],
  [[]],
  [[{ name: 'c' }]],
  [{ $patch: 7, name: 'c' }],
  [{ $patch: 'delete' }],
];

/** The same directive wherever a patch may have one, alone and beside the lists it is about. */
const places: readonly [string, (directive: Json) => Json][] = [
  ['at the top', (directive) => directive],
  ['beside finalizers', (directive) => ({ metadata: { ...directive, finalizers: ['example.com/c'] } })],
  ['among labels', (directive) => ({ metadata: { labels: { ...directive, c: 'd' } } })],
  [
    'beside containers',
    (directive) => ({ template: { spec: { ...directive, containers: [{ name: 'd', image: 'i' }] } } }),
  ],
  ['beside no containers', (directive) => ({ template: { spec: directive } })],
  ['in a container', (directive) => ({ template: { spec: { containers: [{ name: 'c', ...directive }] } } })],
  ['in one without a key', (directive) => ({ template: { spec: { containers: [directive] } } })],
  ['in a port', (directive) => ({ template: { spec: { containers: [{ name: 'c', ports: [directive] }] } } })],
];

/** In `npm test` each value of each directive has its turn at two of the places, before a release at all. */
const turns = isRelease ? 1 : places.length / 2;

describe('a directive of a strategic merge patch', () => {
  it.each(places)('may hold anything %s', async (where, place) => {
    const before = await target.version();
    const crashed: string[] = [];
    const turn = places.findIndex(([name]) => name === where);
    for (const [i, directive] of directives.entries())
      for (const [j, value] of values.entries()) {
        if ((i + j + turn) % turns !== 0) continue;
        const body = JSON.stringify(place({ [directive]: value }));
        const { status, text } = await target.patch(`${template}?dryRun=All`, body, strategicPatch);
        if (![200, 400, 422].includes(status)) crashed.push(`${status} ${body}: ${text}`);
      }
    expect(crashed).toEqual([]);
    await target.unharmed(before);
  });

  it('that is malformed is told what it is', async () => {
    for (const [patch, says] of [
      [{ $patch: 7 }, /unknown patch type/],
      [{ metadata: { $retainKeys: {} } }, /retainKeys/],
      [{ metadata: { '$setElementOrder/finalizers': 'x' } }, /expected a \[\]interface \{\}/],
      [{ template: { spec: { '$setElementOrder/containers': [{}] } } }, /merge key: name/],
      [{ template: { spec: { containers: [{ $patch: 'delete' }] } } }, /merge key: name/],
      [{ metadata: { '$deleteFromPrimitiveList/finalizers': ['a', 7] } }, /not identical/],
    ] as const)
      await target.refuses(() => target.patch(template, patch, strategicPatch), 400, says);
  });
});
