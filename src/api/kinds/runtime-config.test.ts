/** Proves which versions and resources a runtime config serves, and how bad ones are refused. */
import { describe, expect, it } from 'vitest';
import { Enablement, runtimeConfigProblem } from './runtime-config.ts';

describe('a runtime config', () => {
  it('serves everything when it is empty', () => {
    const { serves } = new Enablement({});
    expect(['v1', 'apps/v1', 'batch/v1beta1'].map((version) => serves(version))).toEqual([true, true, true]);
  });

  it('counts the more specific name', () => {
    const { serves } = new Enablement({
      'apps/v1/deployments': true,
      'apps/v1': false,
      'api/beta': true,
      'api/all': false,
      v1: true,
      'v1/secrets': false,
    });
    expect(serves('v1')).toBe(true);
    expect(serves('v1', 'pods')).toBe(true);
    expect(serves('v1', 'secrets')).toBe(false);
    expect(serves('batch/v1', 'jobs')).toBe(false);
    expect(serves('batch/v1beta1', 'cronjobs')).toBe(true);
    expect(serves('apps/v1', 'deployments')).toBe(true);
    expect(serves('apps/v1', 'daemonsets')).toBe(false);
  });

  it.each([
    [{ 'api/all': false }, 'invalid key with only api/all=false'],
    [{ apiall: false }, 'runtime-config invalid key apiall'],
    [{ 'a/b/c/d': true }, 'runtime-config invalid key a/b/c/d'],
    [{ 'foo/v1': true, 'apps/v1': true, 'api/v1': true }, 'unknown api groups foo/v1,api/v1'],
    [{ 'api/all': false, v1: true }, undefined],
    [{ 'resource.k8s.io/v1alpha9': true, 'batch/v1/jobs': false }, undefined],
  ])('%j: %s', (config, problem) => {
    expect(runtimeConfigProblem(config)).toBe(problem);
  });

  it('knows versions on trial by their form, others only when they are there', () => {
    const problem = (name: string) =>
      new Enablement({ [name]: true }).problem((known) => known === 'apps/v1');
    expect(problem('apps/v1/deployments')).toBeUndefined();
    expect(problem('apps/v1beta2')).toBeUndefined();
    expect(problem('apps/v9')).toBe('group version apps/v9 that has not been registered');
    expect(problem('v2')).toBe('group version v2 that has not been registered');
  });
});
