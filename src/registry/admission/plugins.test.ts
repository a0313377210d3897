/** Proves that plugins are chosen by Kubernetes' names, and that names which stand for nothing are refused. */
import { describe, expect, it } from 'vitest';
import { allowAll } from '../../api/kind/access.ts';
import { persistentVolumeClaim } from '../../api/kinds/core/persistent-volume-claim.ts';
import type { Admission } from '../admission-chain.ts';
import { fullFinalizing } from '../finalizing.ts';
import type { Registry } from '../registry.ts';
import { asTester } from '../request.fixture.ts';
import type { AdmissionParts } from '../writing.ts';
import { admissionChain } from './plugins.ts';

const empty = { select: () => ({ entries: [] }), get: () => undefined };
const registry = { kinds: {}, view: { collection: () => empty } } as unknown as Registry;
const parts: AdmissionParts = { registry, authorizer: allowAll, finalizing: fullFinalizing };

describe('the chain', () => {
  const claims = { ...persistentVolumeClaim, namespaced: false };
  /** Whether the claim gets the finalizer of StorageObjectInUseProtection. */
  async function isProtected(disabled: readonly string[]): Promise<boolean> {
    const object = { metadata: {} as { finalizers?: string[] } };
    const admission = {
      request: asTester('create'),
      target: { kind: claims, namespace: '', name: 'c', part: 'main' },
      operation: 'create',
      object,
      old: undefined,
      afterwards: [],
    } as unknown as Admission;
    await admissionChain(parts, { disabled }).mutate(registry, admission);
    return object.metadata.finalizers !== undefined;
  }

  it('runs all plugins, apart from those that are disabled', async () => {
    expect(await isProtected([])).toBe(true);
    expect(await isProtected(['PodNodeSelector', 'LimitRanger'])).toBe(true);
    expect(await isProtected(['StorageObjectInUseProtection'])).toBe(false);
  });

  it('asks guards after the plugins', async () => {
    const seen: string[] = [];
    const chain = admissionChain(parts).guardedBy((_registry, { object }) => {
      seen.push(...(object!.metadata.finalizers ?? []));
    });
    const target = { kind: claims, namespace: '', name: 'c', part: 'main' };
    const admission = { request: asTester('create'), target, operation: 'create', object: { metadata: {} } };
    await chain.mutate(registry, admission as unknown as Admission);
    expect(seen).toEqual(['kubernetes.io/pvc-protection']);
  });

  it.each([
    [{ enabled: ['Nothing'] }, /there is no admission plugin "Nothing"; there are NamespaceLifecycle, /],
    [{ disabled: ['nodeRestriction'] }, /there is no admission plugin "nodeRestriction"/],
    [{ enabled: ['AlwaysPullImages'] }, /the admission plugin AlwaysPullImages is not part of this server/],
    [{ enabled: ['Priority'], disabled: ['Priority'] }, /Priority is both enabled and disabled/],
  ])('is refused for %j', (options, message) => {
    expect(() => admissionChain(parts, options)).toThrow(message);
  });
});
