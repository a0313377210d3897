/** Operations that are not on stored objects: discovery, bindings and component statuses. */
import { expect } from 'vitest';
import type { Json } from '../support/http.ts';
import type { Attempt } from './attempt.ts';
import { clusterKinds, extensionsKinds, namespacedKinds } from './kinds.ts';
import type { Operation } from './objects.ts';

/** Every kind of the group is listed, with its scope. */
export const discover: Operation = async (attempt) => {
  const document = await attempt.send('GET');
  const core = attempt.template === '/api/v1';
  expect(document.kind).toBe('APIResourceList');
  expect(document.groupVersion).toBe(core ? 'v1' : 'extensions/v1beta1');
  for (const { kind, segment, namespaced } of core ? [...namespacedKinds, ...clusterKinds] : extensionsKinds)
    expect(document.resources).toContainEqual(expect.objectContaining({ name: segment, kind, namespaced }));
};

/** Binds the pod to a node. The body names the pod, and its namespace where the path does not. */
export const bind: Operation = async (attempt) => {
  await attempt.create();
  const { name, namespace } = attempt;
  const answer = await attempt.send('POST', {
    kind: 'Binding',
    apiVersion: 'v1',
    metadata: { name, namespace },
    target: { kind: 'Node', name: 'contract-node' },
  });
  expect(answer).toEqual({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 200 });
  expect((await attempt.read()).spec.nodeName).toBe('contract-node');
  await attempt.remove();
};

// Component statuses

async function listed(attempt: Attempt, query: Record<string, string> = {}): Promise<Json[]> {
  const list = await attempt.send('GET', undefined, query);
  expect(list).toMatchObject({ kind: 'ComponentStatusList', apiVersion: 'v1' });
  return list.items;
}

const namesOf = (items: Json[]): string[] => items.map((item) => item.metadata.name);

export const listComponents: Operation = async (attempt) => {
  const items = await listed(attempt);
  expect(items.length).toBeGreaterThan(0);
  for (const item of items)
    expect(item.conditions).toContainEqual(expect.objectContaining({ type: 'Healthy', status: 'True' }));
};

/** Components have no labels, so no label can select them. */
export const listComponentsByLabel: Operation = async (attempt) => {
  expect(await listed(attempt, { labelSelector: 'a=b' })).toEqual([]);
  expect((await listed(attempt, { labelSelector: '!a' })).length).toBeGreaterThan(0);
};

export const listComponentsByField: Operation = async (attempt) => {
  const [first] = namesOf(await listed(attempt));
  expect(namesOf(await listed(attempt, { fieldSelector: `metadata.name=${first}` }))).toEqual([first]);
};

/** Component statuses never change, so the answer is the list. */
export const watchComponents: Operation = async (attempt) => {
  expect((await listed(attempt, { watch: 'true', resourceVersion: '0' })).length).toBeGreaterThan(0);
};

export const readComponent: Operation = async (attempt) => {
  const list = await attempt.client.get('/api/v1/componentstatuses');
  const [name] = namesOf(list.body.items);
  const path = attempt.template.replace('{namespace}', 'default').replace('{name}', name!);
  const reply = await attempt.client.get(`${path}${attempt.pretty ? '?pretty=true' : ''}`);
  expect(attempt.answered(reply)).toMatchObject({
    kind: 'ComponentStatus',
    apiVersion: 'v1',
    metadata: { name },
  });
};
