/** Proves which rules hold others, and that rules which stand for billions of permissions are refused, not compared. */
import { describe, expect, it } from 'vitest';
import type { PolicyRule } from '../../api/generated/types.ts';
import { describePieces, TooManyPieces, uncovered } from './coverage.ts';

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
const missing = (own: PolicyRule[], wanted: PolicyRule[]): string => describePieces(uncovered(own, wanted));

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

it('a rule that stands for a billion permissions is refused at once', () => {
  const many = Array.from({ length: 1000 }, (_, at) => `x${at}`);
  expect(() => uncovered([], [rule(many, many, many)])).toThrow(TooManyPieces);
});
