/** Policies on writes of a registry: matching, parameters, authorization, audit, mutation, costs. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { StatusError } from '../../api/errors/errors.ts';
import type { Authorizer, Decision } from '../../api/kind/access.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import { type ApiObject, cloneJson, type JsonObject } from '../../api/text/object.ts';
import { admissionChain } from '../../registry/admission/plugins.ts';
import { Request } from '../../registry/request.ts';
import { ensureSystemNamespaces } from '../../registry/system/system-namespaces.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { update } from '../../registry/verbs/update.ts';
import { View } from '../../registry/view/view.ts';
import { makeWriting, type Writing } from '../../registry/writing.ts';
import { openMemoryStore } from '../../store/memory.ts';
import { MutatingPolicies } from './mutating-policies.ts';
import { ValidatingPolicies } from './validating-policies.ts';

const kinds = new KindTable();
let writing: Writing;
/** What the authorizer answers. */
let decide: Authorizer['decide'];
let annotations: Record<string, string>;
let warnings: string[];

beforeEach(async () => {
  const store = openMemoryStore();
  const sources = { nowMs: Date.now, uid: randomUUID, randomBelow: () => 0 };
  decide = () => ({ allowed: true, reason: '' });
  writing = makeWriting(store, await View.open(store, kinds), kinds, sources, {
    admission: (made) =>
      admissionChain(
        made,
        {},
        {
          extensions: {
            mutating: [new MutatingPolicies(made.registry, made.authorizer)],
            validating: [new ValidatingPolicies(made.registry, made.authorizer)],
          },
        },
      ),
    authorizer: { decide: (question) => decide(question) },
  });
  await ensureSystemNamespaces(writing);
  annotations = {};
  warnings = [];
});

const request = (): Request =>
  new Request({
    user: { name: 'tester', groups: ['testers'] },
    verb: 'create',
    userAgent: '',
    warnings,
    annotated: { annotations },
  });

async function make(
  apiVersion: string,
  resource: string,
  object: JsonObject,
  namespace = '',
): Promise<ApiObject> {
  const kind = kinds.resource(apiVersion, resource)!;
  const place = collectionOf(kind, kind.namespaced ? namespace || 'default' : '');
  const body = { kind: kind.kind, apiVersion, ...(cloneJson(object) as JsonObject) } as unknown as ApiObject;
  return (await create(writing, request(), place, body)).object();
}

const group = 'admissionregistration.k8s.io/v1';
const configMap = (name: string, data: JsonObject = {}, labels: JsonObject = {}): JsonObject => ({
  metadata: { name, labels },
  data,
});
const make1 = (
  name: string,
  data?: JsonObject,
  labels?: JsonObject,
  namespace?: string,
): Promise<ApiObject> => make('v1', 'configmaps', configMap(name, data, labels), namespace);
/** The text of the refusal; '' when the write is allowed. */
const refusal = (write: Promise<unknown>): Promise<string> =>
  write.then(
    () => '',
    (error: unknown) => {
      if (!(error instanceof StatusError)) throw error;
      return error.message.replace(/^.* denied request: /, '');
    },
  );

const forConfigMaps = {
  resourceRules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
};

async function policy(spec: JsonObject, binding: JsonObject = {}, name = 'p'): Promise<void> {
  await make(group, 'validatingadmissionpolicies', {
    metadata: { name },
    spec: { matchConstraints: forConfigMaps, ...spec },
  });
  const bound = { policyName: name, validationActions: ['Deny'], ...binding };
  await make(group, 'validatingadmissionpolicybindings', { metadata: { name: `${name}-b` }, spec: bound });
}
const validations = (...expressions: string[]): JsonObject => ({
  validations: expressions.map((expression) => ({ expression })),
});

async function mutation(name: string, mutations: JsonObject[], spec: JsonObject = {}): Promise<void> {
  const whole = {
    matchConstraints: {
      resourceRules: [{ ...forConfigMaps.resourceRules[0], operations: ['CREATE', 'UPDATE'] }],
    },
    reinvocationPolicy: 'Never',
    mutations,
    ...spec,
  };
  await make(group, 'mutatingadmissionpolicies', { metadata: { name }, spec: whole });
  await make(group, 'mutatingadmissionpolicybindings', { metadata: { name }, spec: { policyName: name } });
}
const merge = (expression: string): JsonObject => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
});
const jsonPatch = (expression: string): JsonObject => ({ patchType: 'JSONPatch', jsonPatch: { expression } });

describe('validating policies', () => {
  it('are in force with the answer, and out of it with the next', async () => {
    await policy(validations('false'));
    expect(await refusal(make1('a'))).toBe('failed expression: false');
    await remove(
      writing,
      request(),
      targetOf({
        kind: kinds.resource(group, 'validatingadmissionpolicybindings')!,
        namespace: '',
        name: 'p-b',
      }),
      {},
    );
    expect(await refusal(make1('a'))).toBe('');
  });

  it('are not about policies themselves', async () => {
    const everything = {
      resourceRules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
    };
    await policy({ ...validations('false'), matchConstraints: everything });
    expect(
      await refusal(
        make(group, 'validatingadmissionpolicybindings', {
          metadata: { name: 'x' },
          spec: { policyName: 'y', validationActions: ['Audit'] },
        }),
      ),
    ).toBe('');
    expect(await refusal(make1('a'))).toBe('failed expression: false');
  });

  it('keep to names, exceptions and selectors', async () => {
    const [rule] = forConfigMaps.resourceRules;
    await policy({
      ...validations('false'),
      matchConstraints: {
        resourceRules: [{ ...rule, resourceNames: ['a', 'b', 'c'] }],
        excludeResourceRules: [{ ...rule, resourceNames: ['b'] }],
        objectSelector: { matchExpressions: [{ key: 'skip', operator: 'DoesNotExist' }] },
      },
    });
    expect(await refusal(make1('a'))).not.toBe('');
    expect(await refusal(make1('b'))).toBe('');
    expect(await refusal(make1('c', {}, { skip: 'x' }))).toBe('');
    expect(await refusal(make1('d'))).toBe('');
  });

  it('see writes of another version as the one that they name', async () => {
    const rule = {
      operations: ['CREATE'],
      apiGroups: ['autoscaling'],
      apiVersions: ['v1'],
      resources: ['horizontalpodautoscalers'],
    };
    await policy({
      ...validations(
        'object.apiVersion == "autoscaling/v1" && request.requestKind.version == "v2" && object.spec.targetCPUUtilizationPercentage == 7',
      ),
      matchConstraints: { resourceRules: [rule] },
    });
    const scaled = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' };
    const metric = {
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 7 } },
    };
    expect(
      await refusal(
        make('autoscaling/v2', 'horizontalpodautoscalers', {
          metadata: { name: 'h' },
          spec: { scaleTargetRef: scaled, maxReplicas: 2, metrics: [metric] },
        }),
      ),
    ).toBe('');
  });

  it('run once for each parameter', async () => {
    for (const max of ['1', '3']) await make1(`limit-${max}`, { max }, { limit: 'yes' });
    const paramRef = { selector: { matchLabels: { limit: 'yes' } }, parameterNotFoundAction: 'Deny' };
    await policy(
      {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        validations: [
          {
            expression: 'object.data.size() <= int(params.data.max)',
            messageExpression: '"over " + params.data.max',
          },
        ],
      },
      { paramRef },
    );
    expect(await refusal(make1('a', { x: '1' }))).toBe('');
    expect(await refusal(make1('b', { x: '1', y: '2' }))).toBe('over 1');
    expect(await refusal(make1('c', {}, {}, 'kube-system'))).toBe(
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
    );
  });

  it('ask the authorizer, and wait for its answer', async () => {
    const asked: unknown[] = [];
    decide = async ({ user, info }): Promise<Decision> => {
      asked.push([user.name, info.verb, info.resource?.resource ?? info.path, info.resource?.name]);
      return { allowed: user.name === 'tester', reason: 'because' };
    };
    await policy(
      validations(
        'authorizer.requestResource.check("approve").allowed()',
        'authorizer.group("apps").resource("deployments").namespace("x").name("y").check("get").reason() == "because"',
        '!authorizer.serviceAccount("a", "b").path("/healthz").check("get").allowed()',
      ),
    );
    expect(await refusal(make1('a'))).toBe('');
    expect(asked).toEqual([
      ['tester', 'approve', 'configmaps', 'a'],
      ['tester', 'get', 'deployments', 'y'],
      ['system:serviceaccount:a:b', 'get', '/healthz', undefined],
    ]);
  });

  it('warn, and annotate the audit log', async () => {
    const auditAnnotations = [
      { key: 'n', valueExpression: '"has " + string(object.data.size())' },
      { key: 'none', valueExpression: 'null' },
    ];
    await policy(
      { validations: [{ expression: 'false', message: 'careful' }], auditAnnotations },
      { validationActions: ['Warn', 'Audit'] },
    );
    expect(await refusal(make1('a', { x: '1' }))).toBe('');
    expect(warnings).toEqual([
      "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-b': careful",
    ]);
    expect(annotations).toEqual({
      'p/n': 'has 1',
      'validation.policy.admission.k8s.io/validation_failure': JSON.stringify([
        {
          message: 'careful',
          policy: 'p',
          binding: 'p-b',
          expressionIndex: 0,
          validationActions: ['Warn', 'Audit'],
        },
      ]),
    });
  });

  it('see the old object, the namespace and the operation', async () => {
    await policy({
      variables: [{ name: 'old', expression: 'oldObject == null ? "none" : oldObject.data.a' }],
      validations: [
        {
          expression:
            'request.operation == "CREATE" && oldObject == null || variables.old == "1" && object.data.a == "2"',
        },
        {
          expression:
            'namespaceObject.metadata.name == "default" && namespaceObject.metadata.creationTimestamp <= timestamp("2200-01-01T00:00:00Z")',
        },
      ],
    });
    const made = await make1('a', { a: '1' });
    const change = (a: string): Promise<unknown> =>
      update(
        writing,
        request(),
        targetOf({ kind: kinds.resource('v1', 'configmaps')!, namespace: 'default', name: 'a' }),
        // A copy: the first write leaves its owners in the metadata.
        () => ({ ...made, metadata: { name: 'a' }, data: { a } }),
      );
    expect(await refusal(change('3'))).toMatch(/^failed expression/);
    expect(await refusal(change('2'))).toBe('');
  });

  it('stop expressions that run away', async () => {
    await policy(validations(`${'lists.range(1000).all(x, '.repeat(3)}true${')'.repeat(3)}`));
    expect(await refusal(make1('a'))).toMatch(
      /resulted in error: operation cancelled: actual cost limit exceeded$/,
    );
  });

  it('count a condition that fails as a failure, unless another is false', async () => {
    const matchConditions = [
      { name: 'one', expression: 'object.data.missing == "x"' },
      { name: 'two', expression: 'object.metadata.name != "exempt"' },
    ];
    await policy({ ...validations('true'), matchConditions });
    expect(await refusal(make1('a', { x: '1' }))).toBe(
      'expression \'object.data.missing == "x"\' resulted in error: no such key: missing',
    );
    expect(await refusal(make1('exempt', { x: '1' }))).toBe('');
  });
});

describe('mutating policies', () => {
  it('merge objects and apply patches, each on what the one before made', async () => {
    await mutation('m', [
      merge('Object{metadata: Object.metadata{labels: {"by": "policy"}}, data: {"a": "1"}}'),
      jsonPatch(
        '[JSONPatch{op: "test", path: "/data/a", value: "1"}, JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("x_y"), value: object.metadata.labels.by}]',
      ),
    ]);
    expect(await make1('c', { z: 'z' })).toMatchObject({
      metadata: { labels: { by: 'policy' } },
      data: { a: '1', x_y: 'policy', z: 'z' },
    });
  });

  it('merge lists by the keys of their items', async () => {
    const rules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }];
    await mutation(
      'm',
      [merge('Object{spec: Object.spec{containers: [Object.spec.containers{name: "one", image: "other"}]}}')],
      { matchConstraints: { resourceRules: rules } },
    );
    const pod = await make('v1', 'pods', {
      metadata: { name: 'p' },
      spec: {
        containers: [
          { name: 'one', image: 'i' },
          { name: 'two', image: 'i' },
        ],
      },
    });
    expect(
      (pod.spec as { containers: { name: string; image: string }[] }).containers.map(
        ({ name, image }) => `${name}=${image}`,
      ),
    ).toEqual(['one=other', 'two=i']);
  });

  it('run again when the object was changed after them, if they want to', async () => {
    const count = (key: string): JsonObject[] => [
      jsonPatch(
        `[JSONPatch{op: "add", path: "/data/${key}", value: object.data[?"${key}"].orValue("") + "x"}]`,
      ),
    ];
    await mutation('a', count('again'), { reinvocationPolicy: 'IfNeeded' });
    await mutation('b', count('once'));
    expect(await make1('c', { z: '' })).toMatchObject({ data: { again: 'xx', once: 'x' } });
  });

  it('refuse the write when they fail, or pass when failures are ignored', async () => {
    await mutation('m', [merge('Object{spec: Object.metadata{}}')]);
    expect(await refusal(make1('a'))).toMatch(
      /^type mismatch: unexpected type name "Object.metadata", expected "Object.spec"/,
    );
    await remove(
      writing,
      request(),
      targetOf({ kind: kinds.resource(group, 'mutatingadmissionpolicies')!, namespace: '', name: 'm' }),
      {},
    );
    await mutation('n', [jsonPatch('[JSONPatch{op: "remove", path: "/data/none"}]')], {
      failurePolicy: 'Ignore',
    });
    expect(await refusal(make1('b', { z: '' }))).toBe('');
  });

  it('run again after their own changes, too', async () => {
    await mutation(
      'a',
      [jsonPatch('[JSONPatch{op: "add", path: "/data/n", value: object.data[?"n"].orValue("") + "x"}]')],
      { reinvocationPolicy: 'IfNeeded' },
    );
    expect(await make1('c', { z: '' })).toMatchObject({ data: { n: 'xx' } });
  });

  it('leave an object alone when a test of the patch fails, and go on with the next mutation', async () => {
    await mutation('m', [
      jsonPatch(
        '[JSONPatch{op: "add", path: "/data/a", value: "1"}, JSONPatch{op: "test", path: "/data/z", value: "other"}]',
      ),
      merge('Object{data: {"b": "2"}}'),
    ]);
    expect(((await make1('c', { z: 'z' })) as ApiObject & { data?: unknown }).data).toEqual({
      b: '2',
      z: 'z',
    });
  });

  it('tell every problem: configuration first, then mutations in order', async () => {
    const params = { paramKind: { apiVersion: 'none.example.com/v1', kind: 'None' } };
    await mutation('a', [
      jsonPatch('[JSONPatch{op: "remove", path: "/data/none"}]'),
      merge('Object{data: {"b": object.data.missing}}'),
      merge('Object{nope: "x"}'),
      merge('Object{metadata: Object.metadata{ownerReferences: [Object.metadata.other{uid: "x"}]}}'),
    ]);
    await mutation('b', [merge('Object{data: {"b": "2"}}')], params);
    const write = make1('c', { z: 'z' });
    await expect(write).rejects.toMatchObject({
      status: {
        code: 403,
        reason: 'Forbidden',
        message: `policy "b" denied request: failed to configure policy: failed to find resource referenced by paramKind: 'none.example.com/v1, Kind=None'`,
        details: {
          kind: 'configmaps',
          name: 'c',
          causes: [
            { message: expect.stringMatching(/^policy "b"/) },
            {
              message:
                "policy 'a' with binding 'a' denied request: JSON Patch: error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value",
            },
            {
              message:
                "policy 'a' with binding 'a' denied request: expression 'Object{data: {\"b\": object.data.missing}}' resulted in error: no such key: missing",
            },
            {
              message:
                "policy 'a' with binding 'a' denied request: error applying patch: failed to convert patch object to typed object: .nope: field not declared in schema",
            },
            {
              message:
                'policy \'a\' with binding \'a\' denied request: type mismatch: unexpected type name "Object.metadata.other", expected "Object.metadata.ownerReferences", which matches field name path from root Object type',
            },
          ],
        },
      },
    });
  });

  it('refuse fields that a kind does not have', async () => {
    await mutation('m', [jsonPatch('[JSONPatch{op: "add", path: "/nope", value: 1}]')], {
      failurePolicy: 'Ignore',
    });
    await expect(make1('c')).rejects.toMatchObject({
      status: { code: 500, message: 'Internal error occurred: strict decoding error: unknown field "nope"' },
    });
  });

  it('have no namespace object for a namespace', async () => {
    const rules = [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces'] }];
    await policy({ ...validations('namespaceObject == null'), matchConstraints: { resourceRules: rules } });
    expect(await refusal(make('v1', 'namespaces', { metadata: { name: 'new' } }))).toBe('');
  });
});
