/** Proves which flow a request belongs to, by the default policy and by schemas that are added, changed and removed. */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FlowSchema, FlowSchemaSpec } from '../../api/generated/types.ts';
import type { Action } from '../../api/kind/access.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { defaultLevels, defaultSchemas } from '../../api/rules/access/flow-defaults.ts';
import type { ApiObject, JsonObject } from '../../api/text/object.ts';
import { admissionChain } from '../../registry/admission/plugins.ts';
import type { Registry } from '../../registry/registry.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { View } from '../../registry/view/view.ts';
import { makeWriting, type Writing } from '../../registry/writing.ts';
import { openMemoryStore } from '../../store/memory.ts';
import type { Store } from '../../store/store.ts';
import { FlowControl } from './flow-control.ts';
import { FlowPolicy } from './flow-policy.ts';

const version = 'flowcontrol.apiserver.k8s.io/v1';
const kinds = new KindTable();
const schemas = kinds.resource(version, 'flowschemas')!;
const levels = kinds.resource(version, 'prioritylevelconfigurations')!;

let store: Store;
let registry: Registry;
let writing: Writing;
let policy: FlowPolicy;
let control: FlowControl;
const errors: Error[] = [];

beforeEach(async () => {
  store = openMemoryStore();
  const sources = { nowMs: Date.now, uid: randomUUID, randomBelow: () => 0 };
  writing = makeWriting(store, await View.open(store, kinds), kinds, sources, {
    admission: admissionChain,
  });
  ({ registry } = writing);
  policy = new FlowPolicy(writing, (error) => void errors.push(error));
  await policy.start();
  control = new FlowControl(registry, { seats: 600, waitMaxMs: 1000, nowMs: Date.now });
});

afterEach(async () => {
  await policy.close();
  registry.view.close();
  await store.close();
  expect(errors).toEqual([]);
});

const named = (name: string, ...groups: string[]) => ({ name, groups: [...groups, 'system:authenticated'] });
const alice = named('alice');

function action(verb: string, where: string): Action {
  if (where.startsWith('/')) return { verb, path: where, resource: undefined };
  const [group = '', namespace = '', resource = '', subresource] = where.split(':');
  return {
    verb,
    path: '',
    resource: {
      group,
      version: 'v1',
      resource,
      subresource,
      namespace: namespace || undefined,
      name: undefined,
    },
  };
}

const nameOf = (uid: string): string =>
  [...defaultSchemas.keys(), 'mine'].find(
    (name) => registry.view.collection(schemas).get('', name)?.uid === uid,
  ) ?? '';

const classified = (user: ReturnType<typeof named>, verb: string, where: string): string => {
  const { schemaUid, level } = control.flowOf(user, action(verb, where));
  return `${nameOf(schemaUid)} ${level.name}`;
};

describe('the default policy', () => {
  it('is that of Kubernetes', () => {
    const recorded = JSON.parse(
      readFileSync(new URL('../../../test/recorded/bootstrap-flowcontrol.json', import.meta.url), 'utf8'),
    ) as Record<string, { metadata: { name: string }; spec: object }[]>;
    const specs = (of: ReadonlyMap<string, object>) => [...of].map(([name, spec]) => [name, spec]);
    const wanted = (list: { metadata: { name: string }; spec: object }[]) =>
      list.map(({ metadata, spec }) => [metadata.name, spec]);
    const [levelsKey] = Object.keys(recorded).filter((key) => key.startsWith('priority'));
    expect(specs(defaultSchemas)).toEqual(wanted(recorded.flowschemas!));
    expect(specs(defaultLevels)).toEqual(wanted(recorded[levelsKey!]!));
  });

  it.each([
    [named('root', 'system:masters'), 'get', ':ns:pods', 'exempt exempt'],
    [alice, 'get', '/healthz', 'probes exempt'],
    [alice, 'get', '/version', 'global-default global-default'],
    [alice, 'list', ':ns:pods', 'global-default global-default'],
    [named('system:node:n', 'system:nodes'), 'patch', '::nodes:status', 'system-node-high node-high'],
    [named('system:node:n', 'system:nodes'), 'list', ':ns:pods', 'system-nodes system'],
    [
      named('system:kube-scheduler'),
      'update',
      'coordination.k8s.io:kube-system:leases',
      'system-leader-election leader-election',
    ],
    [named('system:kube-scheduler'), 'list', ':ns:pods', 'kube-scheduler workload-high'],
    [
      named('system:serviceaccount:kube-system:job-controller', 'system:serviceaccounts'),
      'list',
      ':ns:pods',
      'kube-system-service-accounts workload-high',
    ],
    [
      named('system:serviceaccount:team:robot', 'system:serviceaccounts'),
      'list',
      ':ns:pods',
      'service-accounts workload-low',
    ],
  ])('%j: %s %s', (user, verb, where, expected) => expect(classified(user, verb, where)).toBe(expected));

  it('has a place for users of no group', () => {
    expect(control.flowOf({ name: 'x', groups: [] }, action('get', '/')).level.name).toBe('catch-all');
  });

  it('shares the seats of the server', () => {
    control.flowOf(alice, action('get', '/'));
    const seats = Object.fromEntries([...control.levels].map(({ name, nominal }) => [name, nominal]));
    expect(seats).toEqual({
      'catch-all': 13,
      exempt: 0,
      'global-default': 49,
      'leader-election': 25,
      'node-high': 98,
      system: 74,
      'workload-high': 98,
      'workload-low': 245,
    });
  });

  it('is put right at the next start, unless somebody has taken it over', async () => {
    const edit = (name: string, annotations: Record<string, string>) =>
      modify(writing, asTester('update'), targetOf({ kind: levels, namespace: '', name }), (current) => {
        const object = current.object();
        object.metadata.annotations = annotations;
        const { limited } = object.spec as { limited: JsonObject };
        limited.nominalConcurrencyShares = 7;
        return object;
      });
    await edit('system', { 'apf.kubernetes.io/autoupdate-spec': 'true' });
    await edit('node-high', { 'apf.kubernetes.io/autoupdate-spec': 'false' });
    const again = new FlowPolicy(writing, (error) => void errors.push(error));
    await again.start();
    await again.close();
    const shares = (name: string): unknown =>
      (registry.view.collection(levels).get('', name)!.object().spec as { limited: JsonObject }).limited
        .nominalConcurrencyShares;
    expect([shares('system'), shares('node-high')]).toEqual([30, 7]);
  });
});

describe('schemas', () => {
  const spec: FlowSchemaSpec = {
    priorityLevelConfiguration: { name: 'mine' },
    distinguisherMethod: { type: 'ByNamespace' },
    rules: [
      {
        subjects: [{ kind: 'User', user: { name: 'alice' } }],
        resourceRules: [
          { verbs: ['list'], apiGroups: [''], resources: ['pods/log', 'pods'], namespaces: ['a', 'b'] },
        ],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/metrics/*'] }],
      },
    ],
  };
  const makeSchema = () =>
    create(writing, asTester('create'), collectionOf(schemas, ''), {
      metadata: { name: 'mine' },
      spec: structuredClone(spec),
    } as ApiObject);
  const makeLevel = () =>
    create(writing, asTester('create'), collectionOf(levels, ''), {
      metadata: { name: 'mine' },
      spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
    } as ApiObject);

  /** The condition, once it says so. */
  async function condition(status: string): Promise<object> {
    for (;;) {
      const schema = registry.view.collection(schemas).get('', 'mine')!.object() as FlowSchema;
      const found = schema.status?.conditions?.[0];
      if (found?.status === status) return found;
      await new Promise(setImmediate);
    }
  }

  it('count from the moment their level is there, and their status says so', async () => {
    await makeSchema();
    expect(classified(alice, 'list', ':a:pods')).toBe('global-default global-default');
    expect(await condition('True')).toMatchObject({
      type: 'Dangling',
      reason: 'NotFound',
      message:
        'This FlowSchema references the PriorityLevelConfiguration object named "mine" but there is no such object',
    });
    await makeLevel();
    expect(classified(alice, 'list', ':a:pods')).toBe('mine mine');
    expect(await condition('False')).toMatchObject({ reason: 'Found' });
    await remove(writing, asTester('delete'), targetOf({ kind: levels, namespace: '', name: 'mine' }), {});
    expect(classified(alice, 'list', ':a:pods')).toBe('global-default global-default');
    await condition('True');
  });

  it('match by verb, resource, namespace and path', async () => {
    await makeLevel();
    await makeSchema();
    const isMine = (verb: string, where: string): boolean => classified(alice, verb, where) === 'mine mine';
    expect(isMine('list', ':a:pods:log')).toBe(true);
    expect(isMine('get', ':a:pods')).toBe(false);
    expect(isMine('list', ':c:pods')).toBe(false);
    expect(isMine('list', '::pods')).toBe(false);
    expect(isMine('list', 'apps:a:pods')).toBe(false);
    expect(isMine('list', ':a:pods:exec')).toBe(false);
    expect(isMine('get', '/metrics/x')).toBe(true);
    expect(isMine('get', '/metrics')).toBe(false);
    expect(classified(named('bob'), 'list', ':a:pods')).toBe('global-default global-default');
  });

  it('tell flows apart by namespace, by user, or not', async () => {
    await makeLevel();
    await makeSchema();
    const flow = (user: ReturnType<typeof named>, where: string): string =>
      control.flowOf(user, action('list', where)).id;
    expect(flow(alice, ':a:pods')).not.toBe(flow(alice, ':b:pods'));
    expect(flow(named('bob'), ':a:pods')).not.toBe(flow(named('carol'), ':a:pods'));
    expect(flow(named('bob'), ':a:pods')).toBe(flow(named('bob'), ':b:pods'));
    const root = named('root', 'system:masters');
    expect(flow(root, ':a:pods')).toBe(flow(named('other', 'system:masters'), ':b:pods'));
  });
});
