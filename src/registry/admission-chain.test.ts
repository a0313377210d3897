/** Proves that admission plugins are given the request and the target of every verb. */

import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Eviction, Pod, ReplicationController } from '../api/generated/types.ts';
import { KindTable } from '../api/kinds/kinds.ts';
import { openMemoryStore } from '../store/memory.ts';
import type { Store } from '../store/store.ts';
import { namespaceLifecycle } from './admission/namespace-lifecycle.ts';
import { admissionChain } from './admission/plugins.ts';
import type { Admission } from './admission-chain.ts';
import type { Registry } from './registry.ts';
import { asTester } from './request.fixture.ts';
import { ensureSystemNamespaces } from './system/system-namespaces.ts';
import { collectionOf, type Target, targetOf } from './target.ts';
import { bind } from './verbs/binding.ts';
import { create } from './verbs/create.ts';
import { remove, removeCollection } from './verbs/delete.ts';
import { evict } from './verbs/eviction.ts';
import { modify } from './verbs/modify.ts';
import { patch, readPatch } from './verbs/patch.ts';
import { rescale, usualScale } from './verbs/scale.ts';
import { update } from './verbs/update.ts';
import { Filter } from './view/filter.ts';
import { View } from './view/view.ts';
import { makeWriting, type Writing } from './writing.ts';

const kinds = new KindTable();
const pods = kinds.resource('v1', 'pods')!;
const controllers = kinds.resource('v1', 'replicationcontrollers')!;
const configMaps = kinds.resource('v1', 'configmaps')!;

let store: Store;
let registry: Registry;
let writing: Writing;
/** What the first plugin of the chain was shown: step, operation, kind, name, part, verb and user. */
let seen: string[];

function note(step: string, { operation, target, request }: Admission): void {
  const { kind, namespace, name, part } = target;
  seen.push(
    `${step} ${operation} ${kind.resource} ${namespace}/${name} ${part} by ${request.verb} of ${request.user.name}${request.dryRun ? ', dry' : ''}`,
  );
}

beforeEach(async () => {
  store = openMemoryStore();
  const sources = { nowMs: Date.now, uid: randomUUID, randomBelow: () => 0 };
  writing = makeWriting(store, await View.open(store, kinds), kinds, sources, {
    admission: admissionChain,
  });
  ({ registry } = writing);
  await ensureSystemNamespaces(writing);
  seen = [];
  const { mutate, validate } = namespaceLifecycle;
  vi.spyOn(namespaceLifecycle, 'mutate').mockImplementation((...shown) => {
    note('mutate', shown[1]);
    return mutate!(...shown);
  });
  vi.spyOn(namespaceLifecycle, 'validate').mockImplementation((...shown) => {
    note('validate', shown[1]);
    return validate!(...shown);
  });
});

afterEach(async () => {
  vi.restoreAllMocks();
  registry.view.close();
  await store.close();
});

const at = (name: string): Target => targetOf({ kind: configMaps, namespace: 'default', name });

async function made(name: string): Promise<void> {
  await create(writing, asTester('create'), collectionOf(configMaps, 'default'), { metadata: { name } });
  seen = [];
}

async function madePod(name: string): Promise<Target> {
  const pod: Pod = { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await create(writing, asTester('create'), collectionOf(pods, 'default'), pod);
  seen = [];
  return targetOf({ kind: pods, namespace: 'default', name });
}

describe('admission sees', () => {
  it('a create', async () => {
    await create(writing, asTester('create'), collectionOf(configMaps, 'default'), {
      metadata: { name: 'a' },
    });
    expect(seen).toEqual([
      'mutate create configmaps default/a main by create of tester',
      'validate create configmaps default/a main by create of tester',
    ]);
  });

  it('a generated name once it is there', async () => {
    await create(writing, asTester('create'), collectionOf(configMaps, 'default'), {
      metadata: { generateName: 'a-' },
    });
    expect(seen).toEqual([
      'mutate create configmaps default/ main by create of tester',
      'validate create configmaps default/a-bbbbb main by create of tester',
    ]);
  });

  it('a replacement, and a patch of the status', async () => {
    const target = await madePod('a');
    await update(writing, asTester('update'), target, () => registry.find(target).object());
    const part = { ...target, part: 'status' } as const;
    await patch(writing, asTester('patch'), part, readPatch('merge', { status: { reason: 'x' } }, []));
    expect(seen).toEqual([
      'mutate update pods default/a main by update of tester',
      'validate update pods default/a main by update of tester',
      'mutate update pods default/a status by patch of tester',
      'validate update pods default/a status by patch of tester',
    ]);
  });

  it('a replacement that creates', async () => {
    const endpoints = targetOf({
      kind: kinds.resource('v1', 'endpoints')!,
      namespace: 'default',
      name: 'new',
    });
    const { created } = await update(writing, asTester('update'), endpoints, () => ({
      metadata: { name: 'new' },
    }));
    expect(created).toBe(true);
    expect(seen).toEqual([
      'mutate create endpoints default/new main by update of tester',
      'validate create endpoints default/new main by update of tester',
    ]);
  });

  it('a scale', async () => {
    const object: ReplicationController = {
      metadata: { name: 'rc' },
      spec: {
        replicas: 1,
        selector: { a: 'b' },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    };
    await create(writing, asTester('create'), collectionOf(controllers, 'default'), object);
    seen = [];
    const target = targetOf({ kind: controllers, namespace: 'default', name: 'rc' }, 'scale');
    const scaled = await rescale(writing, asTester('update'), target, usualScale, (scale) => ({
      ...scale,
      spec: { replicas: 3 },
    }));
    expect(scaled.spec.replicas).toBe(3);
    expect(seen).toEqual([
      'mutate update replicationcontrollers default/rc scale by update of tester',
      'validate update replicationcontrollers default/rc scale by update of tester',
    ]);
    expect(registry.find(target).object().metadata.generation).toBe(2);
  });

  it('a binding, which is the work of the server', async () => {
    const target = await madePod('a');
    await bind(
      writing,
      asTester('create'),
      { ...target, part: 'binding' },
      {
        metadata: { name: 'a' },
        target: { kind: 'Node', name: 'n' },
      },
    );
    expect(seen).toEqual(['validate update pods default/a whole by create of tester']);
  });

  it('an eviction, as its note in the pod and its deletion', async () => {
    const target = await madePod('a');
    const eviction: Eviction = { metadata: { name: 'a' }, deleteOptions: { dryRun: ['All'] } };
    await evict(writing, asTester('create'), { ...target, part: 'eviction' }, eviction);
    expect(seen).toEqual([
      'mutate update pods default/a status by create of tester, dry',
      'validate update pods default/a status by create of tester, dry',
      'validate delete pods default/a main by create of tester, dry',
    ]);
    expect(registry.find(target).object().metadata.deletionTimestamp).toBeUndefined();
  });

  it('a deletion, of one and of a collection', async () => {
    await made('a');
    await made('b');
    await remove(writing, asTester('delete'), at('a'), {});
    const all = new Filter('default', undefined, undefined, undefined);
    const collection = collectionOf(configMaps, 'default');
    await removeCollection(writing, asTester('deletecollection'), collection, all, {}, undefined);
    expect(seen).toEqual([
      'validate delete configmaps default/a main by delete of tester',
      'validate delete configmaps default/b main by deletecollection of tester',
    ]);
  });

  it('that a request is a dry run, which changes nothing', async () => {
    await made('a');
    const dry = asTester('update', { dryRun: true });
    await modify(writing, dry, at('a'), (current) => ({ ...current.object(), data: { x: 'y' } }));
    await remove(writing, asTester('delete', { dryRun: true }), at('a'), {});
    expect(seen).toEqual([
      'mutate update configmaps default/a main by update of tester, dry',
      'validate update configmaps default/a main by update of tester, dry',
      'validate delete configmaps default/a main by delete of tester, dry',
    ]);
    expect(registry.find(at('a')).object()).not.toHaveProperty('data');
  });
});

it('the object that is stored comes with who writes it, what, and what is there', async () => {
  await made('a');
  const current = registry.find(at('a'));
  const encode = vi.spyOn(registry, 'encode');
  const request = asTester('update', { fieldManager: 'gitops' });
  await modify(writing, request, at('a'), (entry) => ({ ...entry.object(), data: { x: 'y' } }));
  expect(encode.mock.calls).toMatchObject([
    [{ fieldManager: 'gitops', verb: 'update' }, { name: 'a', part: 'main' }, { data: { x: 'y' } }, current],
  ]);
});
