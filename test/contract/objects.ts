/** Operations on objects and lists: each does what the contract says, and a later read confirms it. */
import { expect } from 'vitest';
import { type Json, jsonPatch, mergePatch, strategicPatch } from '../support/http.ts';
import { type Attempt, deleteOptions } from './attempt.ts';
import { at, editAsMergePatch } from './samples.ts';

export type Operation = (attempt: Attempt) => Promise<void>;

/** Expects an answer to be the attempt's object. */
function expectObject(attempt: Attempt, object: Json): void {
  const { kind, name, namespace } = attempt;
  expect(object).toMatchObject({
    kind: kind.kind,
    apiVersion: kind.apiVersion,
    metadata: { name, ...(namespace ? { namespace } : {}) },
  });
  expect(object.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(object.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
  expect(object.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
}

const expectEdited = (attempt: Attempt, object: Json): void =>
  expect(at(object, attempt.kind.sample.edit.pointer)).toEqual(attempt.kind.sample.edit.value);

// Lists

const keyOf = (item: Json): string => `${item.metadata.namespace ?? ''}/${item.metadata.name}`;
const keyOfAttempt = ({ namespace, name }: Attempt): string => `${namespace}/${name}`;

async function listed(attempt: Attempt, query: Record<string, string> = {}): Promise<string[]> {
  const list = await attempt.send('GET', undefined, query);
  expect(list.kind).toBe(`${attempt.kind.kind}List`);
  expect(list.apiVersion).toBe(attempt.kind.apiVersion);
  expect(list.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
  for (const item of list.items) expect(item).not.toHaveProperty('kind');
  return list.items.map(keyOf);
}

export const list: Operation = async (attempt) => {
  const neighbour = attempt.other('home');
  const stranger = attempt.other('away');
  for (const one of [attempt, neighbour, stranger]) await one.create();
  const keys = await listed(attempt);
  expect(keys).toContain(keyOfAttempt(attempt));
  expect(keys).toContain(keyOfAttempt(neighbour));
  if (attempt.scope === 'all') expect(keys).toContain(keyOfAttempt(stranger));
  else expect(keys).not.toContain(keyOfAttempt(stranger));
  for (const one of [attempt, neighbour, stranger]) await one.remove();
};

const selected =
  (query: (name: string) => Record<string, string>): Operation =>
  async (attempt) => {
    const neighbour = attempt.other('home');
    await attempt.create();
    await neighbour.create();
    expect(await listed(attempt, query(attempt.name))).toEqual([keyOfAttempt(attempt)]);
    await attempt.remove();
    await neighbour.remove();
  };

export const listByLabel = selected((name) => ({ labelSelector: `contract=${name}` }));
export const listByField = selected((name) => ({ fieldSelector: `metadata.name=${name}` }));

// Objects

export const create: Operation = async (attempt) => {
  const created = await attempt.send('POST', attempt.manifest);
  expectObject(attempt, created);
  const { pointer } = attempt.kind.sample.edit;
  expect(at(created, pointer)).toEqual(at(attempt.manifest, pointer));
  expect((await attempt.read()).metadata.uid).toBe(created.metadata.uid);
  await attempt.remove();
};

/** A create that names no namespace, in path or body, goes to `default`. */
export const createByDefault: Operation = async (attempt) => {
  const there = attempt.in('default');
  const { namespace: _, ...metadata } = there.manifest.metadata;
  expectObject(there, await there.send('POST', { ...there.manifest, metadata }));
  await there.remove();
};

export const read: Operation = async (attempt) => {
  const created = await attempt.create();
  const object = await attempt.send('GET');
  expectObject(attempt, object);
  expect(object.metadata.uid).toBe(created.metadata.uid);
  const { pointer } = attempt.kind.sample.edit;
  expect(at(object, pointer)).toEqual(at(attempt.manifest, pointer));
  await attempt.remove();
};

export const replace: Operation = async (attempt) => {
  const created = await attempt.create();
  const replaced = await attempt.send('PUT', await attempt.editedObject());
  for (const object of [replaced, await attempt.read()]) {
    expectObject(attempt, object);
    expectEdited(attempt, object);
    expect(object.metadata.uid).toBe(created.metadata.uid);
  }
  expect(Number(replaced.metadata.resourceVersion)).toBeGreaterThan(Number(created.metadata.resourceVersion));
  await attempt.remove();
};

const patchedBy =
  (type: string, body: (attempt: Attempt, object: Json) => Json): Operation =>
  async (attempt) => {
    const created = await attempt.create();
    const patched = await attempt.send('PATCH', body(attempt, created), {}, type);
    for (const object of [patched, await attempt.read()]) {
      expectObject(attempt, object);
      expectEdited(attempt, object);
      expect(object.metadata.labels.contract).toBe(attempt.name);
    }
    await attempt.remove();
  };

export const patchJson = patchedBy(jsonPatch, ({ kind }) => [
  { op: 'add', path: kind.sample.edit.pointer, value: kind.sample.edit.value },
]);
export const patchMerge = patchedBy(mergePatch, ({ kind }, object) => editAsMergePatch(object, kind.sample));
export const patchStrategic = patchedBy(strategicPatch, ({ kind }, object) =>
  editAsMergePatch(object, kind.sample),
);

/** The extensions group answers a delete with a Status; for the core group the type is not specified. */
export const remove: Operation = async (attempt) => {
  await attempt.create();
  const answer = await attempt.send('DELETE', deleteOptions);
  if (answer.kind === 'Status')
    expect(answer).toMatchObject({ apiVersion: 'v1', metadata: {}, status: 'Success' });
  else expectObject(attempt, answer);
  if (attempt.kind.prefix !== '/api/v1') expect(answer.kind).toBe('Status');
  await attempt.finishDelete();
  expect((await attempt.client.get(attempt.path)).status).toBe(404);
};

/**
 * Only the status of the body is stored. A watch confirms it, because a controller may have corrected the
 * status before a read.
 */
export const replaceStatus: Operation = async (attempt) => {
  const { metadata } = await attempt.create();
  const { status, edit } = attempt.kind.sample;
  const body = { ...(await attempt.editedObject()), status: status!.value };
  const answer = await attempt.send('PUT', body);
  expectObject(attempt, answer);
  expect(at(answer.status, status!.pointer)).toEqual(at(status!.value, status!.pointer));
  if (!edit.pointer.startsWith('/metadata/'))
    expect(at(answer, edit.pointer)).toEqual(at(attempt.manifest, edit.pointer));
  const watch = await attempt.client.watch(
    `${attempt.collectionPath}?watch=true&resourceVersion=${metadata.resourceVersion}`,
  );
  const stored = await watch.until(
    ({ object }) => object.metadata.resourceVersion === answer.metadata.resourceVersion,
  );
  watch.close();
  expect(stored.object).toEqual(answer);
  await attempt.remove();
};

export const replaceFinalize: Operation = async (attempt) => {
  expect((await attempt.create()).spec.finalizers).toEqual(['kubernetes']);
  const answer = await attempt.send('PUT', {
    ...attempt.manifest,
    spec: { finalizers: ['example.com/hold'] },
  });
  for (const object of [answer, await attempt.read()]) {
    expectObject(attempt, object);
    expect(object.spec.finalizers).toEqual(['example.com/hold']);
  }
  await attempt.remove();
};
