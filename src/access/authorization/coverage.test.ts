/** Proves which rules hold others, and that rules which stand for billions of permissions are refused, not compared. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import type { PolicyRule } from '../../api/generated/types.ts';
import { describePieces, TooManyPieces, uncovered, uncoveredBy } from './coverage.ts';
import { RuleSet } from './rule-set.ts';

const rule = (
  verbs: string[],
  apiGroups: string[],
  resources: string[],
  resourceNames?: string[],
): PolicyRule => ({
  verbs,
  apiGroups,
  resources,
  ...(resourceNames ? { resourceNames } : {}),
});

/** The result of work in parts, and the steps that it took: all of them, and the most in one part. */
function done<T>(work: Generator<number, T>): { value: T; steps: number; most: number } {
  let [steps, most] = [0, 0];
  for (;;) {
    const next = work.next();
    if (next.done) return { value: next.value, steps, most };
    steps += next.value;
    most = Math.max(most, next.value);
  }
}

const missing = (own: PolicyRule[], wanted: PolicyRule[]): string =>
  done(describePieces(uncovered(own, wanted))).value;

describe('a rule is covered', () => {
  it('by several together, and by stars', () => {
    const own = [
      rule(['get'], [''], ['pods']),
      rule(['list'], ['*'], ['pods']),
      rule(['*'], ['apps'], ['*/scale']),
    ];
    expect(missing(own, [rule(['get', 'list'], [''], ['pods'])])).toBe('');
    expect(missing(own, [rule(['patch'], ['apps'], ['deployments/scale'])])).toBe('');
    expect(missing(own, [rule(['*'], [''], ['pods'])])).toBe(
      '{APIGroups:[""], Resources:["pods"], Verbs:["*"]}',
    );
  });

  it('with names by one without, and not the other way round', () => {
    const named = rule(['get'], [''], ['secrets'], ['a']);
    const unnamed = rule(['get'], [''], ['secrets']);
    expect(missing([unnamed], [named])).toBe('');
    expect(missing([named], [unnamed])).toBe('{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}');
    expect(missing([named], [rule(['get'], [''], ['secrets'], ['a', 'b'])])).toBe(
      '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}',
    );
  });

  it('for paths by equal ones and by beginnings', () => {
    const own = [{ verbs: ['get'], nonResourceURLs: ['/x/*'] }];
    expect(missing(own, [{ verbs: ['get'], nonResourceURLs: ['/x/y', '/x/z/*'] }])).toBe('');
    expect(missing(own, [{ verbs: ['get'], nonResourceURLs: ['/x', '*'] }])).toBe(
      '{NonResourceURLs:["*"], Verbs:["get"]}\n{NonResourceURLs:["/x"], Verbs:["get"]}',
    );
  });
});

describe('an owner', () => {
  const list = (...values: string[]) => fc.uniqueArray(fc.constantFrom(...values), { maxLength: 3 });
  const any = fc.oneof(
    fc.record({
      verbs: list('get', 'list', '*'),
      apiGroups: list('', 'apps', '*'),
      resources: list('pods', 'pods/log', 'pods/', '*/log', 'services', '*'),
      resourceNames: fc.oneof(fc.constant([]), list('a', 'b', 'c')),
    }),
    fc.record({ verbs: list('get', 'list', '*'), nonResourceURLs: list('/a', '/a/b', '/a/*', '*') }),
  ) as fc.Arbitrary<PolicyRule>;
  const rules = (maxLength: number) => fc.array(any, { maxLength });

  /** Each right by itself against each rule. */
  function plainly(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): string[] {
    const has = (own: string[] = [], value: string) => own.includes('*') || own.includes(value);
    const found = new Set<string>();
    for (const {
      verbs = [],
      apiGroups = [],
      resources = [],
      resourceNames = [],
      nonResourceURLs = [],
    } of wanted)
      for (const verb of verbs) {
        for (const group of apiGroups)
          for (const resource of resources)
            for (const name of resourceNames.length ? resourceNames : [undefined]) {
              const part = /[/].*/.exec(resource)?.[0];
              const isHeld = owned.some(
                (own) =>
                  has(own.verbs, verb) &&
                  has(own.apiGroups, group) &&
                  (has(own.resources, resource) || (part && own.resources?.includes(`*${part}`))) &&
                  (!own.resourceNames?.length || (name !== undefined && own.resourceNames.includes(name))),
              );
              if (!isHeld) found.add([verb, group, resource, name].join());
            }
        for (const url of nonResourceURLs) {
          const holds = (own: string) => (own.endsWith('*') ? url.startsWith(own.slice(0, -1)) : own === url);
          if (!owned.some((own) => has(own.verbs, verb) && own.nonResourceURLs?.some(holds)))
            found.add([verb, url].join());
        }
      }
    return [...found].sort();
  }

  it('with several roles covers what a look at each of their rules says', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(rules(6), fc.boolean()), { maxLength: 3 }), rules(4), (roles, wanted) => {
        const sets = new Map(roles.map(([own, hasPaths]) => [RuleSet.of(own), hasPaths]));
        const counted = roles.flatMap(([own, hasPaths]) =>
          own.filter(({ nonResourceURLs }) => hasPaths || !nonResourceURLs?.length),
        );
        const found = done(uncoveredBy(sets, wanted)).value.map((piece) =>
          piece.nonResourceURLs
            ? [piece.verbs![0], piece.nonResourceURLs[0]].join()
            : [piece.verbs![0], piece.apiGroups![0], piece.resources![0], piece.resourceNames?.[0]].join(),
        );
        expect([...new Set(found)].sort()).toEqual(plainly(counted, wanted));
      }),
      { numRuns: rounds(2000) },
    );
  });

  it('with many roles of many rules is compared with many, whatever their rules have in common', () => {
    const count = 4_000;
    const rulesOf = (make: (at: number) => PolicyRule) => Array.from({ length: count }, (_, at) => make(at));
    const alike: ((own: string) => (at: number) => PolicyRule)[] = [
      (own) => (at) => rule(['get'], [''], [`r${own}${at}`]),
      (own) => (at) => rule(['get'], [''], ['configmaps'], [`n${own}${at}`]),
      (own) => (at) => rule([`v${own}${at}`], [''], ['configmaps']),
      (own) => (at) => rule(['get'], [`g${own}${at}`], ['configmaps']),
      (own) => (at) => rule(['get'], [''], [`r${own}${at % 60}`], [`n${Math.floor(at / 60)}`]),
    ];
    for (const make of alike) {
      // The owner lacks every second right.
      const roles = ['', 'a', 'b', 'c', 'd'].map((role) =>
        RuleSet.of(rulesOf((at) => make(at % 2 ? '' : `x${role}`)(at))),
      );
      const owned = new Map(roles.map((role) => [role, false]));
      const { value, steps, most } = done(uncoveredBy(owned, rulesOf(make(''))));
      expect(value).toHaveLength(count / 2);
      // One by one, these are three hundred million steps.
      expect(steps).toBeLessThan(20_000_000);
      expect(most).toBeLessThan(20_000);
    }
  });
});

it('rules that no index tells apart are refused, not compared for hours', () => {
  const rulesOf = (verb: string) =>
    Array.from({ length: 2_000 }, (_, at) =>
      rule(['get', `${verb}${at % 45}`], [''], ['pods', `r${Math.floor(at / 45)}`]),
    );
  const work = uncoveredBy(new Map([[RuleSet.of(rulesOf('v')), false]]), rulesOf('w'), 1_000_000);
  let most = 0;
  const all = (): void => {
    for (let next = work.next(); !next.done; next = work.next()) most = Math.max(most, next.value);
  };
  expect(all).toThrow(TooManyPieces);
  expect(most).toBeLessThan(20_000);
});

it('a refusal of 50,000 rights has 1,000 lines, the first of all, and is written in parts', () => {
  const found = Array.from({ length: 50_000 }, (_, at) => rule(['get'], [''], [`r${49_999 - at}`]));
  const { value, most } = done(describePieces(found));
  const lines = Array.from(
    { length: 50_000 },
    (_, at) => `{APIGroups:[""], Resources:["r${at}"], Verbs:["get"]}`,
  );
  expect(value.split('\n')).toEqual(lines.sort().slice(0, 1_000));
  expect(most).toBeLessThan(50_000);
});

it('a rule that stands for a billion permissions is refused at once', () => {
  const many = Array.from({ length: 1000 }, (_, at) => `x${at}`);
  expect(() => uncovered([], [rule(many, many, many)])).toThrow(TooManyPieces);
});
