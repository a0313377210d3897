/** Proves that findings of one cause are one problem, in a sentence, the newest change first. */
import { expect, it } from 'vitest';
import { type Found, problemsOf as grouped } from './problem.ts';

const problemsOf = (found: readonly Found[]) => grouped(found).map(({ problem }) => problem);

const found = (
  name: string,
  cause: string,
  second: number,
  more: Partial<Found> = {},
  kind = 'Pod',
): Found => ({
  object: { apiVersion: 'v1', kind, namespace: 'shop', name, uid: `uid-${name}` },
  finding: { cause, text: cause, severity: 'error', since: `2026-01-01T00:00:0${second}Z` },
  ...more,
});

it('groups by cause and kind, and puts the newest change first', () => {
  const problems = problemsOf([
    found('a', 'no image', 1),
    found('b', 'crash', 2),
    found('c', 'no image', 3),
    found('d', 'no image', 1, {}, 'ResourceQuota'),
    found('e', 'no image', 1, {}, 'ResourceQuota'),
  ]);
  expect(problems.map(({ message, count }) => [message, count])).toEqual([
    ['2 pods: no image', 2],
    ['Pod shop/b: crash', 1],
    ['2 resource quotas: no image', 2],
  ]);
  expect(problems[0]).toMatchObject({ changed: '2026-01-01T00:00:03Z', severity: 'error' });
  expect(problems[0]!.objects.map(({ name }) => name)).toEqual(['a', 'c']);
});

it('tells of a workload with its pods, if these are why', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'uid-web' };
  const gaveUp = found('web', 'given up', 5, {}, 'Deployment');
  const follows = { ...gaveUp, finding: { ...gaveUp.finding, followsFromPods: true } };
  const [problem, ...rest] = problemsOf([found('a', 'crash', 1, { owner }), follows]);
  expect(rest).toEqual([]);
  expect(problem).toMatchObject({ message: 'Pod shop/a: crash', affects: [{ ...owner, note: 'given up' }] });
  expect(problemsOf([follows]).map(({ message }) => message)).toEqual(['Deployment shop/web: given up']);
});

it('names a bounded number of objects, and counts all', () => {
  const [problem] = problemsOf(Array.from({ length: 150 }, (_, i) => found(`p${i}`, 'x', 1)));
  expect(problem).toMatchObject({ message: '150 pods: x', count: 150 });
  expect(problem!.objects).toHaveLength(100);
});
