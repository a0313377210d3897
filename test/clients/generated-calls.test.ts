/**
 * Proves that every generated call of the official JavaScript client works for the served kinds, and that
 * none is left out: each call is in one of the tables here or in `connect-calls.test.ts`.
 */
import {
  ApisApi,
  AppsApi,
  AppsV1Api,
  AuthenticationApi,
  AuthenticationV1Api,
  AuthorizationApi,
  AuthorizationV1Api,
  AutoscalingApi,
  BatchApi,
  CoordinationApi,
  CoreApi,
  CoreV1Api,
  DiscoveryApi,
  EventsApi,
  NetworkingApi,
  NodeApi,
  PatchStrategy,
  PolicyApi,
  RbacAuthorizationApi,
  ResourceApi,
  SchedulingApi,
  StorageApi,
  V1MicroTime,
  VersionApi,
} from '@kubernetes/client-node';
import { beforeAll, describe, expect, it } from 'vitest';
import { at, editAsMergePatch, edited } from '../contract/samples.ts';
import { housekeeping, type Json } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';
import { Calls, callsOf } from './calls.ts';
import { type ApiClass, callNames, failureOf, useLibrary } from './library.ts';
import { libraryKinds } from './library-kinds.ts';
import { otherCalls } from './other-calls.ts';

/** No controller writes to the tests' objects. */
const library = useLibrary({ controllers: housekeeping.filter((name) => name !== 'resourcequota') });
const core = (name: string, request?: object, options?: object) =>
  library.call(CoreV1Api, name, request, options);
const names = ({ items }: Json): string[] => items.map(({ metadata }: Json) => metadata.name);

beforeAll(async () => {
  await Promise.all(
    libraryKinds.map(async (kind) => {
      const name = new Calls(library, kind).namespace;
      if (name) await core('createNamespace', { body: { metadata: { name } } });
    }),
  );
});

/** `npm test` makes objects of all kinds, and takes what else is done with them in turn. */
const partsInTurn = ['replaced', 'patched', 'status', 'deleted'] as const;

describe.each(libraryKinds)('$apiVersion $kind', (kind) => {
  const turn = libraryKinds.indexOf(kind) % partsInTurn.length;
  const hasTurn = (part: (typeof partsInTurn)[number]): boolean => isRelease || partsInTurn[turn] === part;
  const calls = new Calls(library, kind);
  const { sample } = kind;
  const ours = { labelSelector: 'contract in (one, two)' };

  it('is created, read and listed', async () => {
    const one = await calls.create(calls.manifest('one'));
    expect(one).toMatchObject({
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name: 'one', ...(kind.namespaced ? { namespace: calls.namespace } : {}) },
    });
    expect(one.metadata.creationTimestamp).toBeInstanceOf(Date);
    expect(await calls.read('one')).toEqual(one);
    await calls.create(calls.manifest('two'));
    await calls.create(calls.manifest('three'), { dryRun: 'All' });
    const list = await calls.list({ labelSelector: 'contract in (one, two, three)' });
    expect([list.kind, list.apiVersion]).toEqual([`${kind.kind}List`, kind.apiVersion]);
    expect(names(list)).toEqual(['one', 'two']);
    expect(list.items[0].metadata).toEqual(one.metadata);
    expect(names(await calls.list({ fieldSelector: 'metadata.name=two' }))).toEqual(['two']);
    const page = await calls.list({ ...ours, limit: 1 });
    const rest = await calls.list({ ...ours, limit: 1, _continue: page.metadata._continue });
    expect([names(page), names(rest), rest.metadata._continue]).toEqual([['one'], ['two'], undefined]);
    if (!kind.namespaced) return;
    expect(names(await calls.listAll({ fieldSelector: `metadata.namespace=${calls.namespace}` }))).toEqual(
      expect.arrayContaining(['one', 'two']),
    );
  });

  if (hasTurn('replaced'))
    it('is replaced, unless another was faster', async () => {
      const made = await calls.create(calls.manifest('replaced'));
      const { pointer, value } = sample.edit;
      expect(at(made, pointer)).not.toEqual(value);
      const replaced = await calls.replace('replaced', edited(made, sample));
      expect(at(replaced, pointer)).toEqual(value);
      expect(replaced.metadata.uid).toBe(made.metadata.uid);
      const late = await failureOf(calls.replace('replaced', made));
      expect([late.code, late.status.reason]).toEqual([409, 'Conflict']);
      expect(await calls.read('replaced')).toEqual(replaced);
    });

  if (hasTurn('patched'))
    it('is patched in three ways', async () => {
      const { pointer, value } = sample.edit;
      await calls.create(calls.manifest('patched'));
      const patched = await calls.patch('patched', [{ op: 'add', path: pointer, value }]);
      expect(at(patched, pointer)).toEqual(value);
      // Finalizers are merged as a set by a strategic patch, and replaced as a list by a merge patch.
      const ours = async (strategy: string, finalizers: string[] | null) =>
        (await calls.patch('patched', { metadata: { finalizers } }, strategy)).metadata.finalizers
          ?.filter((name: string) => name.startsWith('example.com/'))
          .sort();
      const [a, b, c] = ['example.com/a', 'example.com/b', 'example.com/c'] as const;
      expect(await ours(PatchStrategy.StrategicMergePatch, [a])).toEqual([a]);
      expect(await ours(PatchStrategy.StrategicMergePatch, [b])).toEqual([a, b]);
      expect(await ours(PatchStrategy.MergePatch, [c])).toEqual([c]);
      expect(await ours(PatchStrategy.MergePatch, null)).toBeUndefined();
      const made = await calls.create(calls.manifest('merged'));
      const merged = await calls.patch('merged', editAsMergePatch(made, sample), PatchStrategy.MergePatch);
      expect(at(merged, pointer)).toEqual(value);
      const refused = await failureOf(calls.patch('merged', [{ op: 'test', path: pointer, value: 'other' }]));
      expect(refused).toMatchObject({ code: 422, status: { reason: 'Invalid' } });
    });

  const { status } = sample;
  if (status && hasTurn('status'))
    it('has a status of its own', async () => {
      const { value, pointer } = status;
      const read = (object: Json) => at(object.status, pointer);
      const made = await calls.create(calls.manifest('told'));
      expect(read(made)).not.toEqual(at(value, pointer));
      const changed = edited({ ...made, status: value }, sample);
      const replaced = await calls.replace('told', changed, 'Status');
      expect(read(replaced)).toEqual(at(value, pointer));
      expect(replaced.spec).toEqual(made.spec);
      expect(await calls.read('told', 'Status')).toEqual(replaced);
      expect(await calls.read('told')).toEqual(replaced);
      const patch = [{ op: 'replace', path: `/status${pointer}`, value: otherThan(at(value, pointer)) }];
      const patched = await calls.patch('told', patch, undefined, 'Status');
      expect(read(patched)).toEqual(otherThan(at(value, pointer)));
    });

  if (hasTurn('deleted'))
    it('is deleted, alone and in numbers', async () => {
      const gone = (select: object) => expect.poll(async () => names(await calls.list(select))).toEqual([]);
      const { metadata } = await calls.create(calls.manifest('alone'));
      const answer = await calls.delete('alone', { propagationPolicy: 'Background' });
      if (kind.deleteAnswer === 'object') expect(answer.kind).toBe(kind.kind);
      else
        expect(answer).toMatchObject({
          kind: 'Status',
          status: 'Success',
          details: { name: 'alone', kind: kind.segment, uid: metadata.uid },
        });
      await gone({ labelSelector: 'contract=alone' });
      const missing = await failureOf(calls.read('alone'));
      expect(missing).toMatchObject({
        code: 404,
        status: { reason: 'NotFound', details: { name: 'alone', kind: kind.segment } },
      });
      if (kind.kind === 'Namespace') return;
      for (const name of ['some-a', 'some-b', 'other']) await calls.create(calls.manifest(name));
      const some = { labelSelector: 'contract in (some-a, some-b)' };
      await calls.deleteCollection({ ...some, propagationPolicy: 'Background' });
      await gone(some);
      expect(names(await calls.list({ labelSelector: 'contract=other' }))).toEqual(['other']);
      // System priority classes cannot be deleted; for other kinds everything is deleted.
      const all = kind.kind === 'PriorityClass' ? { labelSelector: 'contract' } : {};
      await calls.deleteCollection({ propagationPolicy: 'Background', ...all });
      await gone({ labelSelector: 'contract' });
    });
});

/** A different value of the same type. */
const otherThan = (value: Json): Json =>
  typeof value === 'number'
    ? value + 1
    : value.replace(/contract|\d$/i, (part: string) => other[part] ?? part);
const other: Readonly<Record<string, string>> = { contract: 'changed', Contract: 'Changed', 7: '8', 8: '9' };

const others = otherCalls(library);

describe.each(others)('%o', (_, table) => {
  it.each(Object.keys(table))('%s', async (name) => {
    expect.hasAssertions();
    await table[name]!();
  });
});

/** Discovery: what each API class lists. */
const versions: [ApiClass, string, string[]][] = [
  [CoreV1Api, 'v1', ['pods', 'pods/eviction', 'replicationcontrollers/scale']],
  [AppsV1Api, 'apps/v1', ['deployments', 'deployments/scale', 'deployments/status']],
  ...libraryKinds
    .filter(({ api }) => api !== CoreV1Api)
    .map(({ api, apiVersion, segment }): [ApiClass, string, string[]] => [api, apiVersion, [segment]]),
  [AuthenticationV1Api, 'authentication.k8s.io/v1', ['tokenreviews']],
  [AuthorizationV1Api, 'authorization.k8s.io/v1', ['subjectaccessreviews']],
];

const groups: [ApiClass, string][] = [
  [AppsApi, 'apps'],
  [BatchApi, 'batch'],
  [AutoscalingApi, 'autoscaling'],
  [NetworkingApi, 'networking.k8s.io'],
  [EventsApi, 'events.k8s.io'],
  [CoordinationApi, 'coordination.k8s.io'],
  [AuthenticationApi, 'authentication.k8s.io'],
  [AuthorizationApi, 'authorization.k8s.io'],
  [PolicyApi, 'policy'],
  [RbacAuthorizationApi, 'rbac.authorization.k8s.io'],
  [SchedulingApi, 'scheduling.k8s.io'],
  [DiscoveryApi, 'discovery.k8s.io'],
  [NodeApi, 'node.k8s.io'],
  [ResourceApi, 'resource.k8s.io'],
  [StorageApi, 'storage.k8s.io'],
];

describe('discovery', () => {
  it.each(versions)('%o has what %s has', async (api, apiVersion, resources) => {
    const list = await library.call(api, 'getAPIResources');
    expect(list.groupVersion).toBe(apiVersion);
    expect(list.resources.map(({ name }: Json) => name)).toEqual(expect.arrayContaining(resources));
  });

  it('knows the groups one by one, and all together', async () => {
    const all = await library.call(ApisApi, 'getAPIVersions');
    for (const [api, name] of groups) {
      const group = await library.call(api, 'getAPIGroup');
      const listed = all.groups.find((one: Json) => one.name === name);
      expect(group).toMatchObject({ name, versions: listed.versions });
      expect(group.preferredVersion).toEqual(listed.preferredVersion);
    }
    expect((await library.call(CoreApi, 'getAPIVersions')).versions).toEqual(['v1']);
  });

  it('says which version this is', async () => {
    const { major, minor, gitVersion } = await library.call(VersionApi, 'getCode');
    expect(gitVersion).toMatch(new RegExp(`^v${major}\\.${parseInt(minor, 10)}\\b`));
  });
});

/** Calls that need a running pod, see `connect-calls.test.ts`. */
const connected = /^connect|PodLog$/;

describe('of the calls of', () => {
  const classes = [...new Set(versions.map(([api]) => api))];

  it.each(classes)('%o none is left out', (api) => {
    const driven = new Set([
      'getAPIResources',
      ...libraryKinds.filter((kind) => kind.api === api).flatMap(callsOf),
      ...others.filter(([one]) => one === api).flatMap(([, table]) => Object.keys(table)),
    ]);
    const left = callNames(api).filter((name) => !driven.delete(name) && !connected.test(name));
    expect([...driven]).toEqual([]);
    expect(left).toEqual([]);
  });
});

it('times keep their microseconds', async () => {
  const lease = { metadata: { name: 'precise' }, spec: { renewTime: new V1MicroTime(1_700_000_000_123) } };
  const { api } = libraryKinds.find(({ kind }) => kind === 'Lease')!;
  const made = await library.call(api, 'createNamespacedLease', { namespace: 'default', body: lease });
  expect(made.spec.renewTime).toBe('2023-11-14T22:13:20.123000Z');
});
