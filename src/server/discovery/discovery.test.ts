/** Proves that discovery tells what Kubernetes 1.36 tells: the order of groups, and the versions that hashes are made from. */
import { describe, expect, it } from 'vitest';
import { KindTable } from '../../api/kinds/kinds.ts';
import { Discovery } from './discovery.ts';

const discovery = new Discovery(new KindTable());

const hashOf = (apiVersion: string, resource: string): string | undefined =>
  discovery.resourceList(apiVersion)!.resources.find(({ name }) => name === resource)!.storageVersionHash;

describe('groups', () => {
  it('begin with the one that says who serves the others', () => {
    const names = discovery.groupList().groups.map(({ name }) => name);
    expect(names.slice(0, 3)).toEqual(['apiregistration.k8s.io', 'apps', 'events.k8s.io']);
  });
});

describe('hashes of storage versions', () => {
  it.each([
    // Kubernetes stores these in another version than the one that is asked for.
    ['apiextensions.k8s.io/v1', 'customresourcedefinitions', 'jfWCUB31mvA='],
    ['admissionregistration.k8s.io/v1', 'mutatingadmissionpolicies', 'LYmCf+UMVdg='],
    ['admissionregistration.k8s.io/v1', 'mutatingadmissionpolicybindings', '90V5FRZZ3Zg='],
    ['networking.k8s.io/v1', 'ingresses', '39NQlfNR+bo='],
    ['extensions/v1beta1', 'ingresses', '39NQlfNR+bo='],
    // And these in their own.
    ['v1', 'pods', 'xPOwRZ+Yhw8='],
    ['apps/v1', 'deployments', '8aSe+NMegvE='],
  ])('of %s %s are those of Kubernetes', (apiVersion, resource, hash) => {
    expect(hashOf(apiVersion, resource)).toBe(hash);
  });
});
