/** Answers about custom objects that the recorded ones do not show: their scale, their metadata, warnings. */
import { beforeAll, expect, test } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { define, definitionOf, definitionsPath, objectOf, objectsPath } from './definition.ts';

const client = useCluster({ like: 'kubernetes' });
const path = objectsPath('crews');
const scaleOf = (spec: Json): Json => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'a' },
  spec,
});

beforeAll(async () => {
  const definition = definitionOf('crews', 'Crew', [{ name: 'v1', spec: { n: { type: 'integer' } } }]);
  const [version] = definition.spec.versions;
  version.schema.openAPIV3Schema.properties.status['x-kubernetes-preserve-unknown-fields'] = true;
  version.subresources.scale = {
    specReplicasPath: '.spec.n',
    statusReplicasPath: '.status.n',
    labelSelectorPath: '.status.s',
  };
  await define(client, definition);
  await client.post(path, objectOf('Crew', 'a'));
});

test('a scale without a number means none, once the object has one', async () => {
  const unset = { status: 400, body: { message: 'the spec replicas field ".spec.n" cannot be empty' } };
  expect(await client.patch(`${path}/a/scale`, { metadata: { labels: { a: 'b' } } })).toMatchObject(unset);
  const put = await client.put(`${path}/a/scale`, scaleOf({}));
  expect(put).toMatchObject({ status: 200, body: { spec: {}, status: { replicas: 0 } } });
  expect((await client.get(`${path}/a`)).body.spec).toEqual({ n: 0 });
  expect((await client.patch(`${path}/a/scale`, { spec: { replicas: 3 } })).body.spec).toEqual({
    replicas: 3,
  });
  expect((await client.patch(`${path}/a/scale`, { spec: { replicas: null } })).body.spec).toEqual({});
  expect((await client.get(`${path}/a`)).body.spec).toEqual({ n: 0 });
});

test('a scale is not created or deleted', async () => {
  expect(await client.post(`${path}/a/scale`, scaleOf({ replicas: 1 }))).toMatchObject({
    status: 405,
    body: { message: 'create is not supported on resources of kind "crews.test.example.com"' },
  });
  expect(await client.delete(`${path}/a/scale`)).toMatchObject({
    status: 405,
    body: { message: 'delete is not supported on resources of kind "crews.test.example.com"' },
  });
});

test.each<[status: Json, errors: string[]]>([
  [{ n: -1 }, ['.status.n: Invalid value: -1: should be a non-negative integer']],
  [{ n: 2 ** 31 }, ['.status.n: Invalid value: 2147483648: should be less than or equal to 2147483647']],
  [
    { n: 1.5, s: 5 },
    [
      '.status.n: Invalid value: 0: .status.n accessor error: 1.5 is of the type float64, expected int64',
      '.status.s: Invalid value: "": .status.s accessor error: 5 is of the type int64, expected string',
    ],
  ],
  [
    { n: { a: [1] }, s: false },
    [
      '.status.n: Invalid value: 0: .status.n accessor error: map[a:[1]] is of the type map[string]interface {}, expected int64',
      '.status.s: Invalid value: "": .status.s accessor error: false is of the type bool, expected string',
    ],
  ],
])('the numbers in status %j', async (status, errors) => {
  const reply = await client.patch(`${path}/a/status`, { status });
  expect(reply.status).toBe(422);
  const causes = reply.body.details.causes.map(({ field, message }: Json) => `${field}: ${message}`);
  expect(causes).toEqual(errors);
});

test('finalizers are warned about once, when they are new', async () => {
  const named = objectOf('Crew', 'held');
  named.metadata.finalizers = ['z', 'a.b', 'kubernetes', 'orphan', 'x.y/z'];
  const prefer = (name: string, including: string): string =>
    `metadata.finalizers: "${name}": prefer a domain-qualified finalizer name${including} to avoid accidental conflicts with other finalizer writers`;
  const created = await client.post(path, named);
  expect(created.warnings.map((text) => JSON.parse(text))).toEqual([
    prefer('a.b', ' including a path (/)'),
    prefer('z', ''),
  ]);
  const added = await client.patch(`${path}/held`, { metadata: { finalizers: ['z', 'a.b', 'new', 'new'] } });
  expect(added.warnings.map((text) => JSON.parse(text))).toEqual([prefer('new', '')]);
});

test('metadata that is no object', async () => {
  const body = { apiVersion: 'test.example.com/v1', kind: 'Crew', metadata: 'x' };
  expect((await client.post(path, body)).body.message).toBe(
    'Crew in version "v1" cannot be handled as a Crew: json: cannot unmarshal string into Go value of type v1.ObjectMeta',
  );
});

test('a definition without stored versions has the storage version', async () => {
  const status = `${definitionsPath}/crews.test.example.com/status`;
  const reply = await client.patch(status, { status: { storedVersions: [] } });
  expect(reply).toMatchObject({ status: 200, body: { status: { storedVersions: ['v1'] } } });
});

test('an apply owns fields beside unknown ones by their types, and unknown ones by their values', async () => {
  const definition = definitionOf('rigs', 'Rig');
  const tags = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } };
  definition.spec.versions[0].schema.openAPIV3Schema.properties.spec = {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: { tags, inner: { type: 'object', properties: { a: { type: 'string', default: 'x' } } } },
  };
  await define(client, definition);
  const apply = (manager: string, spec: Json) =>
    client.patch(
      `${objectsPath('rigs')}/a?fieldManager=${manager}`,
      objectOf('Rig', 'a', spec),
      'application/apply-patch+yaml',
    );
  const first = await apply('one', { tags: ['x'], inner: { gone: 1 }, free: { b: [1] } });
  expect(first.body.spec).toEqual({ tags: ['x'], inner: { a: 'x' }, free: { b: [1] } });
  expect(first.body.metadata.managedFields[0].fieldsV1).toEqual({
    'f:spec': {
      'f:free': { '.': {}, 'f:b': {} },
      'f:inner': { 'f:gone': {} },
      'f:tags': { 'v:"x"': {} },
    },
  });
  const second = await apply('two', { tags: ['y'], free: { c: 1 } });
  expect(second.body.spec).toMatchObject({ tags: ['x', 'y'], free: { b: [1], c: 1 } });
  const third = await apply('one', { tags: [] });
  expect(third.body.spec).toEqual({ tags: ['y'], free: { c: 1 } });
  const wrong = await apply('one', { inner: { a: 5 } });
  expect(wrong.body.message).toContain('.spec.inner.a: expected string, got');
});

test('a mutating policy merges into lists of custom objects by their types', async () => {
  const text = { type: 'string' };
  const ports = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: { type: 'object', required: ['name'], properties: { name: text, port: { type: 'integer' } } },
  };
  const tags = { type: 'array', 'x-kubernetes-list-type': 'set', items: text };
  const order = { type: 'array', items: text };
  await define(client, definitionOf('docks', 'Dock', [{ name: 'v1', spec: { ports, tags, order } }]));
  const admission = '/apis/admissionregistration.k8s.io/v1';
  const policy = (expression: string): Json => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'docks' },
    spec: {
      reinvocationPolicy: 'Never',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['test.example.com'],
            apiVersions: ['*'],
            resources: ['docks'],
            operations: ['CREATE'],
          },
        ],
      },
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    },
  });
  const merging =
    'Object{spec: Object.spec{ports: [Object.spec.ports{name: "b", port: 9}, Object.spec.ports{name: "c"}], tags: ["x", "y"]}}';
  await client.post(`${admission}/mutatingadmissionpolicies`, policy(merging));
  await client.post(`${admission}/mutatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name: 'docks' },
    spec: { policyName: 'docks' },
  });
  const sent = {
    ports: [
      { name: 'a', port: 1 },
      { name: 'b', port: 2 },
    ],
    tags: ['x'],
    order: ['o'],
  };
  const created = await client.post(objectsPath('docks'), objectOf('Dock', 'a', sent));
  expect(created.body.spec).toEqual({
    ports: [{ name: 'a', port: 1 }, { name: 'b', port: 9 }, { name: 'c' }],
    tags: ['x', 'y'],
    order: ['o'],
  });
  const changed = await client.patch(`${admission}/mutatingadmissionpolicies/docks`, {
    spec: policy('Object{spec: Object.spec{order: ["p"]}}').spec,
  });
  expect(changed.status).toBe(200);
  const refused = await client.post(objectsPath('docks'), objectOf('Dock', 'b', sent));
  expect(refused.status).toBe(403);
  expect(refused.body.message).toContain('may not mutate atomic arrays, maps or structs: .spec.order');
});

test('the number of replicas is owned by the last user who scaled it, under its own name', async () => {
  const entriesOf = ({ body }: { body: Json }): Json =>
    Object.fromEntries(
      body.metadata.managedFields.map(({ manager, subresource, fieldsV1 }: Json) => [
        [manager, subresource].filter(Boolean).join('/'),
        fieldsV1['f:spec'],
      ]),
    );
  const apply = (manager: string, at: string, body: Json) =>
    client.patch(`${path}/${at}?fieldManager=${manager}`, body, 'application/apply-patch+yaml');
  await apply('alice', 'owned', objectOf('Crew', 'owned', { n: 1, size: 2 }));
  const scale = { ...scaleOf({ replicas: 1 }), metadata: { name: 'owned' } };
  await apply('bob', 'owned/scale', scale);
  expect(entriesOf(await client.get(`${path}/owned`))).toEqual({
    alice: { 'f:n': {}, 'f:size': {} },
    'bob/scale': { 'f:n': {} },
  });
  await client.put(`${path}/owned/scale?fieldManager=carol`, { ...scale, spec: { replicas: 4 } });
  expect(entriesOf(await client.get(`${path}/owned`))).toEqual({
    alice: { 'f:size': {} },
    'carol/scale': { 'f:n': {} },
  });
  const refused = await apply('bob', 'owned/scale', scale);
  expect(refused.body.message).toBe(
    'Apply failed with 1 conflict: conflict with "carol" with subresource "scale" using autoscaling/v1: .spec.replicas',
  );
});

test('a strict patch with unknown fields is told with the object as it would be', async () => {
  await client.post(path, objectOf('Crew', 'strict', { size: 1 }));
  const { status, body } = await client.patch(`${path}/strict?fieldValidation=Strict`, {
    spec: { unknown: { deep: 1 } },
  });
  expect(status).toBe(422);
  expect(body.message).toMatch(
    /^ "" is invalid: patch: Invalid value: "\{.*\\"managedFields\\":.*\\"spec\\":\{\\"size\\":1,\\"unknown\\":\{\\"deep\\":1\}\}\}": strict decoding error: unknown field "spec.unknown"$/,
  );
});

test('owners of items own the list when a changed definition makes it one value', async () => {
  const listed = (listType: string): Json =>
    definitionOf('rosters', 'Roster', [
      {
        name: 'v1',
        spec: { names: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': listType } },
      },
    ]);
  await define(client, listed('set'));
  const place = `${objectsPath('rosters')}/a`;
  const applied = objectOf('Roster', 'a', { names: ['x', 'y'], size: 1 });
  await client.patch(`${place}?fieldManager=first`, applied, 'application/apply-patch+yaml');
  await client.patch(`${definitionsPath}/rosters.test.example.com`, { spec: listed('atomic').spec });
  const ownersOf = ({ metadata }: Json): Json =>
    Object.fromEntries(
      metadata.managedFields.map((entry: Json) => [entry.manager, entry.fieldsV1['f:spec']]),
    );
  const changed = await client.patch(`${place}?fieldManager=second`, { spec: { size: 2 } });
  expect(ownersOf(changed.body)).toEqual({ first: { 'f:names': {} }, second: { 'f:size': {} } });
  const taken = await client.patch(`${place}?fieldManager=second`, { spec: { names: ['z'] } });
  expect(ownersOf(taken.body)).toEqual({ second: { 'f:names': {}, 'f:size': {} } });
});
