/** Scale of a replication controller: at its path in the extensions group, and at today's path. */
import { expect } from 'vitest';
import { type Json, jsonPatch, mergePatch, strategicPatch } from '../support/http.ts';
import type { Attempt } from './attempt.ts';
import type { Operation } from './objects.ts';

/** The apiVersion of Scale for the path's group. */
const apiVersionOf = (attempt: Attempt): string =>
  attempt.template.startsWith('/apis/extensions') ? 'extensions/v1beta1' : 'autoscaling/v1';

function expectScale(attempt: Attempt, scale: Json, replicas: number): void {
  const old = apiVersionOf(attempt) === 'extensions/v1beta1';
  expect(scale).toMatchObject({
    kind: 'Scale',
    apiVersion: apiVersionOf(attempt),
    metadata: { name: attempt.name, namespace: attempt.namespace },
    spec: { replicas },
    status: { selector: old ? { app: attempt.name } : `app=${attempt.name}` },
  });
  expect(scale.status.replicas).toBeTypeOf('number');
}

export const readScale: Operation = async (attempt) => {
  await attempt.create();
  expectScale(attempt, await attempt.send('GET'), 1);
  await attempt.remove();
};

const changed =
  (method: string, body: (attempt: Attempt) => Json, type?: string): Operation =>
  async (attempt) => {
    await attempt.create();
    expectScale(attempt, await attempt.send(method, body(attempt), {}, type), 3);
    const controller = await attempt.read();
    expect(controller.kind).toBe('ReplicationController');
    expect(controller.spec.replicas).toBe(3);
    await attempt.remove();
  };

export const replaceScale = changed('PUT', (attempt) => ({
  kind: 'Scale',
  apiVersion: apiVersionOf(attempt),
  metadata: { name: attempt.name, namespace: attempt.namespace },
  spec: { replicas: 3 },
}));

const replicas = { spec: { replicas: 3 } };
export const patchScaleJson = changed(
  'PATCH',
  () => [{ op: 'replace', path: '/spec/replicas', value: 3 }],
  jsonPatch,
);
export const patchScaleMerge = changed('PATCH', () => replicas, mergePatch);
export const patchScaleStrategic = changed('PATCH', () => replicas, strategicPatch);
