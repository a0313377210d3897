/** The four address fields of a service are made consistent, checked against each other, and kept on update. */
import { describe, expect, test } from 'vitest';
import {
  port,
  prepared,
  problems,
  texts,
  updated,
  updateProblems,
} from '../../kinds/core/service.fixture.ts';
import { type Family, settleFamilies } from './service-addresses.ts';

const ports = [port];

describe('validation', () => {
  test.each([
    [
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.2'] },
      'spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`',
    ],
    [
      { clusterIPs: ['10.0.0.2'] },
      'spec.clusterIPs: Invalid value: ["10.0.0.2"]: must be empty when `clusterIP` is not specified',
    ],
    [
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', '::1', '10.0.0.2'] },
      'spec.clusterIPs: Invalid value: ["10.0.0.1","::1","10.0.0.2"]: may only hold up to 2 values',
    ],
    [
      { clusterIP: 'None', clusterIPs: ['None', '10.0.0.1'] },
      `spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: 'None' must be the first and only value`,
    ],
    [
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', '10.0.0.2'] },
      'spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family',
    ],
    [
      { clusterIP: 'foo' },
      'spec.clusterIPs[0]: Invalid value: "foo": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [{ clusterIP: '10.0.0.01' }, 'spec.clusterIPs[0]: Invalid value: "10.0.0.01": must not have leading 0s'],
    [
      { ipFamilies: ['IPv5'] },
      'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
    ],
    [{ ipFamilies: ['IPv4', 'IPv4'] }, 'spec.ipFamilies[1]: Duplicate value: "IPv4"'],
    [
      { ipFamilyPolicy: 'Foo' },
      'spec.ipFamilyPolicy: Unsupported value: "Foo": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
    ],
    [
      { clusterIP: '10.0.0.1', ipFamilies: ['IPv6'] },
      'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
    ],
    [
      { type: 'NodePort', clusterIP: 'None' },
      `spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`,
    ],
    [
      { type: 'LoadBalancer', clusterIP: 'None' },
      `spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for LoadBalancer services`,
    ],
  ])('%j', (spec, error) => {
    expect(problems({ ports, ...spec })).toEqual([error]);
  });

  test('a name has no addresses', () => {
    const name = { type: 'ExternalName', externalName: 'a.b' };
    expect(
      problems({ ...name, clusterIP: '10.0.0.9', ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }),
    ).toEqual([
      'spec.clusterIPs: Forbidden: may not be set for ExternalName services',
      'spec.ipFamilies: Forbidden: may not be set for ExternalName services',
      'spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services',
    ]);
  });
});

describe('update', () => {
  const before = {
    type: 'ClusterIP',
    clusterIP: '10.0.0.5',
    clusterIPs: ['10.0.0.5'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    ports,
  };
  const addresses = (from: object, spec: object): unknown[] => {
    const { clusterIP, clusterIPs } = updated(from, spec).spec!;
    return [clusterIP, clusterIPs];
  };
  const same = { ipFamilies: ['IPv4'] };

  test('addresses that are left out come back', () => {
    expect(addresses(before, { ports })).toEqual(['10.0.0.5', ['10.0.0.5']]);
    expect(addresses(before, { ports, clusterIP: '10.0.0.5' })).toEqual(['10.0.0.5', ['10.0.0.5']]);
    expect(updateProblems(before, { ports, ...same })).toEqual([]);
    expect(addresses({ ...before, clusterIP: 'None', clusterIPs: ['None'] }, { ports })).toEqual([
      'None',
      ['None'],
    ]);
  });

  test('the first address never changes', () => {
    const changed = 'spec.clusterIPs[0]: Invalid value: ["10.0.0.6"]: may not change once set';
    expect(updateProblems(before, { ports, clusterIP: '10.0.0.6', ...same })).toEqual([changed]);
    expect(
      updateProblems(before, { ports, clusterIP: '10.0.0.6', clusterIPs: ['10.0.0.5'], ...same }),
    ).toEqual([changed]);
    expect(
      updateProblems(before, { ports, clusterIP: '10.0.0.6', clusterIPs: ['10.0.0.6'], ...same }),
    ).toEqual([changed]);
    expect(updateProblems(before, { ports, clusterIP: 'None', ...same })).toEqual([
      'spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
    ]);
    const headless = { ...before, clusterIP: 'None', clusterIPs: ['None'] };
    expect(updateProblems(headless, { ports, clusterIP: '10.0.0.6', ...same })).toEqual([changed]);
  });

  test('the first family never changes, except of a headless service', () => {
    expect(updateProblems(before, { ports, ipFamilies: ['IPv6'] })).toEqual([
      'spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set',
    ]);
    const headless = { ...before, clusterIP: 'None', clusterIPs: ['None'] };
    expect(updateProblems(headless, { ports, ipFamilies: ['IPv6'] })).toEqual([]);
  });

  test('a service that becomes or was a name is free', () => {
    const name = { type: 'ExternalName', externalName: 'a.b' };
    expect(updateProblems(before, { ...name, clusterIP: '10.0.0.6' })).toEqual([]);
    expect(updateProblems(name, { ports, clusterIP: '10.0.0.6' })).toEqual([]);
    expect(addresses(name, { ports, clusterIP: '10.0.0.6' })).toEqual(['10.0.0.6', ['10.0.0.6']]);
  });
});

describe('families', () => {
  const settle = (
    spec: object,
    configured: readonly Family[] = ['IPv4'],
    before?: object,
  ): [string[] | undefined, string | undefined] | string[] => {
    const service = prepared(spec);
    const old = before && { metadata: {}, spec: before };
    const errors = texts(settleFamilies(service, old, configured));
    return errors.length ? errors : [service.spec!.ipFamilies, service.spec!.ipFamilyPolicy];
  };

  test('filled in from the cluster', () => {
    expect(settle({ ports })).toEqual([['IPv4'], 'SingleStack']);
    expect(settle({ ports, clusterIP: '10.0.0.1' })).toEqual([['IPv4'], 'SingleStack']);
    expect(settle({ ports, ipFamilyPolicy: 'PreferDualStack' })).toEqual([['IPv4'], 'PreferDualStack']);
    const service = (policy?: string) => ({
      metadata: {},
      spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'], ipFamilyPolicy: policy },
    });
    const left = service();
    expect(settleFamilies(left, service('PreferDualStack'), ['IPv4'])).toEqual([]);
    expect(left.spec.ipFamilyPolicy).toBe('PreferDualStack');
    expect(settle({ ports, ipFamilyPolicy: 'PreferDualStack' }, ['IPv4', 'IPv6'])).toEqual([
      ['IPv4', 'IPv6'],
      'PreferDualStack',
    ]);
  });

  test('of a headless service depend on its selector', () => {
    expect(settle({ clusterIP: 'None', selector: { a: 'b' } })).toEqual([['IPv4'], 'SingleStack']);
    expect(settle({ clusterIP: 'None' })).toEqual([['IPv4', 'IPv6'], 'RequireDualStack']);
    expect(settle({ clusterIP: 'None', ipFamilyPolicy: 'SingleStack' })).toEqual([['IPv4'], 'SingleStack']);
    expect(settle({ clusterIP: 'None', ipFamilies: ['IPv6'] })).toEqual([
      ['IPv6', 'IPv4'],
      'RequireDualStack',
    ]);
  });

  test('that the cluster does not have', () => {
    expect(settle({ ports, ipFamilyPolicy: 'RequireDualStack' })).toEqual([
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ]);
    expect(settle({ ports, ipFamilies: ['IPv6'] })).toEqual([
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ]);
    expect(settle({ ports, clusterIP: '2001:db8::1' })).toEqual([
      'spec.clusterIPs[0]: Invalid value: ["2001:db8::1"]: IPv6 is not configured on this cluster',
    ]);
  });

  test('two of them need a policy', () => {
    expect(settle({ ports, ipFamilies: ['IPv4', 'IPv6'] }, ['IPv4', 'IPv6'])).toEqual([
      `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`,
    ]);
  });

  test('on update the policy stays, and asking for a single stack drops the second', () => {
    const dual = { clusterIP: 'None', clusterIPs: ['None'], ipFamilies: ['IPv4', 'IPv6'] };
    expect(settle(dual, ['IPv4'], { ...dual, ipFamilyPolicy: 'RequireDualStack' })).toEqual([
      ['IPv4', 'IPv6'],
      'RequireDualStack',
    ]);
    expect(
      settle({ ...dual, ipFamilyPolicy: 'SingleStack' }, ['IPv4'], {
        ...dual,
        ipFamilyPolicy: 'RequireDualStack',
      }),
    ).toEqual([['IPv4'], 'SingleStack']);
  });
});
