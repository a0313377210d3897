/** Proves what a minor of Kubernetes knows: gates and their words, expressions, fields behind gates, columns. */
import { describe, expect, it } from 'vitest';
import { pod } from '../kinds/core/pod.ts';
import { resourceQuota } from '../kinds/core/resource-quota.ts';
import { serviceAccount } from '../kinds/core/service-account.ts';
import { laterFunctions } from './expressions.ts';
import { Minor, minorProblem } from './minor.ts';

describe('gates', () => {
  it.each([
    ['1.29', { NoSuchGate: true }, 'unrecognized feature gate: NoSuchGate'],
    ['1.29', { AppArmor: true }, undefined],
    ['1.33', { AppArmor: true }, 'unrecognized feature gate: AppArmor'],
    [
      '1.30',
      { APIListChunking: false },
      'cannot set feature gate APIListChunking to false, feature is locked to true',
    ],
    ['1.30', { APIListChunking: true, AllAlpha: true, ContextualLogging: false }, undefined],
  ])('of %s as in %j', (minor, gates, problem) => {
    expect(minorProblem(minor, gates)).toBe(problem);
  });

  it('make fields ordinary when they are on', () => {
    const fieldOf = (gates: Record<string, boolean>) =>
      new Minor('1.29', gates).shown(pod).model.models.of('Container').fields.get('resizePolicy')!.off;
    expect([fieldOf({}), fieldOf({ InPlacePodVerticalScaling: true }), fieldOf({ AllAlpha: true })]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('add and remove subresources', () => {
    const partsOf = (minor: Minor) => minor.shown(pod).subresources.map(({ name }) => name);
    expect(partsOf(new Minor('1.32'))).not.toContain('resize');
    expect(partsOf(new Minor('1.32', { InPlacePodVerticalScaling: true }))).toContain('resize');
    expect(partsOf(new Minor('1.33'))).toContain('resize');
    expect(partsOf(new Minor('1.22'))).not.toContain('ephemeralcontainers');
    expect(partsOf(new Minor('1.30'))).toContain('ephemeralcontainers');
  });
});

describe('expressions', () => {
  it.each([
    ['ip(self)', 30, "undeclared reference to 'ip'"],
    ['ip(self).family() == 4', 31, undefined],
    ["self == 'ip(x)'", 25, undefined],
    ['self.all(x, x > 0)', 25, undefined],
    ['self.all(i, x, x > i)', 31, 'invalid argument count'],
    ['quantity(self).isGreaterThan(quantity("1"))', 28, "undeclared reference to 'quantity'"],
    ['sets.contains(self, [1])', 30, undefined],
    ['semver(self)', 33, "undeclared reference to 'semver'"],
  ])('%s in 1.%i', (text, minor, problem) => {
    const said = laterFunctions(text, minor);
    if (problem === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(problem);
  });
});

describe('columns', () => {
  const columnsOf = (minor: string, kind: typeof pod) =>
    new Minor(minor)
      .shown(kind)
      .columns!.map(({ name }) => name)
      .join(' ');

  it('are those of the minor', () => {
    expect(columnsOf('1.34', serviceAccount)).toBe('Name Secrets Age');
    expect(columnsOf('1.35', serviceAccount)).toBe('Name Age');
    expect(columnsOf('1.32', resourceQuota)).toBe('Name Age Request Limit');
  });

  it('have their cells', () => {
    const account = { metadata: { name: 'a' }, secrets: [{ name: 's' }] };
    expect(new Minor('1.30').shown(serviceAccount).cells!(account).slice(0, 2)).toEqual(['a', 1]);
  });
});
