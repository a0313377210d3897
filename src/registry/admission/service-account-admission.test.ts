/** Proves that a pod waits up to a second for the default account of its namespace, which may come late. */
import { expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { pod as podKind } from '../../api/kinds/core/pod.ts';
import type { Registry } from '../registry.ts';
import { serviceAccountAdmission } from './service-account-admission.ts';

/** Creates a pod where the account appears after some pauses; returns the pod and how long it has waited. */
async function created(pausesUntilThere: number): Promise<{ pod: Pod; waitedMs: number }> {
  let waitedMs = 0;
  let pauses = 0;
  const account = { metadata: { name: 'default' }, automountServiceAccountToken: false };
  // The namespace is not seen yet, either, so the plugin cannot make the account itself.
  const collection = (name: string) => ({
    get: () =>
      name === 'core/serviceaccounts' && pauses >= pausesUntilThere ? { peek: () => account } : undefined,
  });
  const timers = {
    set: (resolve: () => void, ms: number) => {
      pauses++;
      waitedMs += ms;
      resolve();
    },
  };
  const pod: Pod = { metadata: { name: 'a', namespace: 'new' }, spec: {} };
  const target = { kind: podKind, namespace: 'new', name: 'a' };
  const registry = { view: { collection }, timers } as unknown as Registry;
  try {
    await serviceAccountAdmission(false).mutate!(registry, {
      operation: 'create',
      target,
      object: pod,
    } as never);
  } catch (error) {
    throw Object.assign(error as Error, { waitedMs });
  }
  return { pod, waitedMs };
}

it('is accepted when the account comes within a second', async () => {
  expect((await created(0)).waitedMs).toBe(0);
  const { pod, waitedMs } = await created(9);
  expect(pod.spec?.serviceAccountName).toBe('default');
  expect(waitedMs).toBe(900);
});

it('is refused when it does not', async () => {
  const refused = await created(1_000).catch((error) => error);
  expect(refused.message).toContain('serviceaccount "default" not found');
  expect(refused.waitedMs).toBeGreaterThanOrEqual(900);
  expect(refused.waitedMs).toBeLessThanOrEqual(1_000);
});
