/** Proves that plans hold every wanted endpoint once, in as few writes as possible, and move none. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoint, EndpointPortV1, EndpointSlice } from '../../api/generated/types.ts';
import { planPlaceholder, planSlices, type SliceContent, type SlicePlan } from './slice-plan.ts';

const web: EndpointPortV1[] = [{ name: 'web', protocol: 'TCP', port: 80 }];
const both: EndpointPortV1[] = [...web, { name: 'admin', protocol: 'TCP', port: 81 }];

const at = (number: number, ready = true): Endpoint => ({
  addresses: [`10.1.0.${number}`],
  conditions: { ready },
  targetRef: { kind: 'Pod', namespace: 'default', name: `p${number}` },
});
const some = (...numbers: number[]): Endpoint[] => numbers.map((number) => at(number));
const range = (first: number, last: number): Endpoint[] =>
  some(...Array.from({ length: last - first + 1 }, (_, i) => first + i));
const slice = (name: string, endpoints: Endpoint[], ports = web): EndpointSlice => ({
  metadata: { name },
  endpoints,
  ports,
});
const plan = (
  existing: EndpointSlice[],
  endpoints: Endpoint[],
  max = 4,
  isCurrent: (slice: EndpointSlice) => boolean = () => true,
) => planSlices(existing, [{ ports: web, endpoints }], max, isCurrent);

/** `created sizes / updated names with sizes / removed names`. */
const summary = ({ create, update, remove }: SlicePlan<EndpointSlice>): string =>
  [
    create.map(({ endpoints }) => endpoints.length).join(),
    update.map(({ slice, content }) => `${slice.metadata.name}:${content.endpoints.length}`).join(),
    remove.map(({ metadata }) => metadata.name).join(),
  ].join(' / ');

describe('a plan', () => {
  it('does nothing when all is as it should be, in whatever order the ports are', () => {
    const existing = [slice('a', some(1, 2), [...both].reverse())];
    const wanted = planSlices(existing, [{ ports: both, endpoints: some(2, 1) }], 4, () => true);
    expect(summary(wanted)).toBe(' /  / ');
  });

  it('makes slices that are full, and one with the rest', () => {
    expect(summary(plan([], range(1, 9)))).toBe('4,4,1 /  / ');
  });

  it('changes an endpoint where it is, and drops one that is gone', () => {
    const { update } = plan([slice('a', some(1, 2)), slice('b', some(3))], [at(1, false), at(3)]);
    expect(update).toEqual([
      {
        slice: expect.objectContaining({ metadata: { name: 'a' } }),
        content: { ports: web, endpoints: [at(1, false)] },
      },
    ]);
  });

  it('puts new endpoints into slices that are written anyway, the fullest first', () => {
    const existing = [slice('a', some(1, 2)), slice('b', some(3, 4, 5)), slice('c', some(6, 7, 8))];
    const wanted = [at(1, false), at(2), at(3, false), at(4), at(5), ...some(6, 7, 8), ...some(21, 22)];
    expect(summary(plan(existing, wanted))).toBe(' / b:4,a:3 / ');
  });

  it('puts the rest into the one other slice that it fills best', () => {
    const existing = [slice('a', some(1)), slice('b', some(2, 3)), slice('c', some(4, 5, 6))];
    expect(summary(plan(existing, range(1, 8)))).toBe(' / b:4 / ');
    expect(summary(plan(existing, range(1, 7)))).toBe(' / c:4 / ');
    // Rather a new slice than two that change.
    expect(summary(plan(existing, range(1, 10)))).toBe('4 /  / ');
  });

  it('deletes slices that end up empty, or use one of them for a new one', () => {
    const existing = [slice('a', some(1)), slice('b', some(2), both)];
    expect(summary(plan(existing, some(1)))).toBe(' /  / b');
    expect(summary(plan([slice('b', some(2), both)], some(2)))).toBe(' / b:1 / ');
    expect(summary(plan([slice('a', some(1)), slice('b', some(2))], some(3)))).toBe(' / a:1 / b');
  });

  it('writes slices whose metadata is not right', () => {
    const existing = [slice('a', some(1)), slice('b', some(2))];
    expect(summary(plan(existing, some(1, 2), 4, ({ metadata }) => metadata.name !== 'b'))).toBe(' / b:1 / ');
  });

  it('keeps one empty slice for a service without endpoints', () => {
    const ok = () => true;
    expect(summary(planPlaceholder([], ok))).toBe('0 /  / ');
    expect(summary(planPlaceholder([slice('a', [], [])], ok))).toBe(' /  / ');
    expect(summary(planPlaceholder([slice('a', some(1)), slice('b', some(2))], ok))).toBe(' / a:0 / b');
    expect(summary(planPlaceholder([slice('a', [], [])], () => false))).toBe(' / a:0 / ');
  });

  it('holds every endpoint once, whatever there was, and is done in one pass', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 30 });
    const groups = fc.array(fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 5 }), { maxLength: 5 });
    fc.assert(
      fc.property(groups, numbers, fc.integer({ min: 1, max: 5 }), (before, wanted, max) => {
        const existing = before.map((list, i) => slice(`s${i}`, some(...new Set(list))));
        const made = plan(existing, some(...wanted), max);
        const after = carriedOut(existing, made);
        const held = after.flatMap(({ endpoints = [] }) => endpoints.map(({ addresses }) => addresses![0]));
        expect([...held].sort()).toEqual(wanted.map((number) => `10.1.0.${number}`).sort());
        if (wanted.length) expect(summary(plan(after, some(...wanted), max))).toBe(' /  / ');
      }),
    );
  });
});

function carriedOut(
  existing: EndpointSlice[],
  { create, update, remove }: SlicePlan<EndpointSlice>,
): EndpointSlice[] {
  const changed = new Map<EndpointSlice, SliceContent>(update.map(({ slice, content }) => [slice, content]));
  const kept = existing.filter((one) => !remove.includes(one));
  return [
    ...kept.map((one) => ({ ...one, ...structuredClone(changed.get(one)) }) as EndpointSlice),
    ...create.map((content, i) => slice(`new${i}`, [...content.endpoints], [...content.ports])),
  ];
}
