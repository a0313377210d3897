/** Reviews of users, tokens and access. Wire contract, section 12.5. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import { configMap, created, pod, pods } from './objects.ts';

/** Offset from the real time, for tests that advance the clock. */
let aheadMs = 0;
const client = useCluster({
  chance: { nowMs: () => Date.now() + aheadMs },
  controllers: ['namespace', 'serviceaccount', 'serviceaccount-token', 'garbagecollector'],
});

const authentication = '/apis/authentication.k8s.io/v1';
const authorization = '/apis/authorization.k8s.io/v1';
const issuer = 'https://kubernetes.default.svc';
const protobuf = { 'Content-Type': 'application/vnd.kubernetes.protobuf' };

/** A protobuf field that contains bytes. */
const field = (number: number, content: Buffer | string): Buffer => {
  const bytes = Buffer.from(content as string);
  expect(bytes.length).toBeLessThan(128);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
};
const envelope = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from('k8s\0'),
    field(1, Buffer.concat([field(1, apiVersion), field(2, kind)])),
    field(2, raw),
  ]);

describe('discovery', () => {
  it('lists the reviews, which can only be created', async () => {
    const reviews = async (path: string) =>
      (await client.get(path)).body.resources.map((one: Json) => [one.name, one.kind, one.namespaced]);
    expect(await reviews(authentication)).toEqual([
      ['selfsubjectreviews', 'SelfSubjectReview', false],
      ['tokenreviews', 'TokenReview', false],
    ]);
    expect(await reviews(authorization)).toEqual([
      ['localsubjectaccessreviews', 'LocalSubjectAccessReview', true],
      ['selfsubjectaccessreviews', 'SelfSubjectAccessReview', false],
      ['selfsubjectrulesreviews', 'SelfSubjectRulesReview', false],
      ['subjectaccessreviews', 'SubjectAccessReview', false],
    ]);
    for (const { verbs } of (await client.get(authorization)).body.resources)
      expect(verbs).toEqual(['create']);
  });

  it('is described in OpenAPI, with the names clients are generated from', async () => {
    const { definitions, paths } = (await client.get('/openapi/v2')).body;
    for (const name of ['authentication.v1.TokenReview', 'authorization.v1.SelfSubjectAccessReview'])
      expect(definitions).toHaveProperty([`io.k8s.api.${name}`]);
    expect(Object.keys(paths[`${authorization}/subjectaccessreviews`]).sort()).toEqual([
      'parameters',
      'post',
    ]);
  });

  it('leads nowhere else: no reads, no names, no other namespaces', async () => {
    expect((await client.get(`${authentication}/tokenreviews`)).status).toBe(405);
    expect((await client.delete(`${authentication}/tokenreviews`)).status).toBe(405);
    expect((await client.get(`${authentication}/tokenreviews/one`)).status).toBe(404);
    expect((await client.post(`${authorization}/nothings`, {})).status).toBe(404);
    expect((await client.get(`${authorization}/watch/subjectaccessreviews`)).status).toBe(404);
    expect((await client.post(`${authorization}/namespaces/default/subjectaccessreviews`, {})).status).toBe(
      404,
    );
  });
});

describe('a review of oneself', () => {
  it('names the user of the local door', async () => {
    const { status, body } = await client.post(`${authentication}/selfsubjectreviews`, {});
    expect(status).toBe(200);
    expect(body).toEqual({
      kind: 'SelfSubjectReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { creationTimestamp: expect.stringMatching(/^\d{4}-.*Z$/) },
      status: {
        userInfo: { username: 'system:unsecured', groups: ['system:masters', 'system:authenticated'] },
      },
    });
  });

  it('can be asked in protobuf and YAML', async () => {
    const body = envelope('authentication.k8s.io/v1', 'SelfSubjectReview', Buffer.alloc(0));
    const reply = await client.post(`${authentication}/selfsubjectreviews`, body, protobuf);
    expect(reply.body.status.userInfo.username).toBe('system:unsecured');
    const yaml = await client.post(`${authentication}/selfsubjectreviews`, 'kind: SelfSubjectReview\n', {
      'Content-Type': 'application/yaml',
      Accept: 'application/yaml',
    });
    expect(yaml.text).toContain('username: system:unsecured');
  });
});

describe('a review of access', () => {
  const attributes = { verb: 'get', resource: 'pods', namespace: 'default' };

  it('allows the caller everything', async () => {
    const { body } = await client.post(`${authorization}/selfsubjectaccessreviews`, {
      spec: { resourceAttributes: attributes },
    });
    expect(body).toEqual({
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: { resourceAttributes: attributes },
      status: { allowed: true },
    });
  });

  it('reads what a new client sends: selectors, extra values, and protobuf', async () => {
    const spec = {
      resourceAttributes: {
        ...attributes,
        fieldSelector: { requirements: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] },
      },
      user: 'jo',
      extra: { scopes: ['a', 'b'] },
    };
    const strict = await client.post(`${authorization}/subjectaccessreviews?fieldValidation=Strict`, {
      spec,
    });
    expect(strict.body.spec).toEqual(spec);
    const extra = field(5, Buffer.concat([field(1, 'scopes'), field(2, field(1, 'a'))]));
    const asked = Buffer.concat([field(1, field(2, 'list')), field(3, 'jo'), extra]);
    const body = envelope('authorization.k8s.io/v1', 'SubjectAccessReview', field(2, asked));
    const reply = await client.post(`${authorization}/subjectaccessreviews`, body, protobuf);
    expect(reply.body.spec).toEqual({
      resourceAttributes: { verb: 'list' },
      user: 'jo',
      extra: { scopes: ['a'] },
    });
    expect(reply.body.status).toEqual({ allowed: true });
  });

  it('is refused when it does not ask one thing about somebody', async () => {
    const causes = async (spec: Json, metadata: Json = {}) => {
      const reply = await client.post(`${authorization}/subjectaccessreviews`, { metadata, spec });
      expect(reply.status).toBe(422);
      return reply.body.details.causes.map((cause: Json) => `${cause.field}: ${cause.message}`);
    };
    expect(await causes({})).toEqual([
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ]);
    const both = { user: 'jo', resourceAttributes: {}, nonResourceAttributes: { path: '/' } };
    expect(await causes(both)).toEqual([
      'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: cannot be specified in combination with resourceAttributes',
    ]);
    expect(await causes({ user: 'jo', resourceAttributes: attributes }, { name: 'kept' })).toEqual([
      'metadata: Invalid value: {"name":"kept"}: must be empty',
    ]);
  });

  it('in a namespace is about that namespace alone', async () => {
    const local = `${authorization}/namespaces/default/localsubjectaccessreviews`;
    const ask = (resourceAttributes: Json) =>
      client.post(local, { spec: { user: 'jo', resourceAttributes } });
    const { body } = await ask(attributes);
    expect(body).toMatchObject({ metadata: { namespace: 'default' }, status: { allowed: true } });
    expect((await ask({ ...attributes, namespace: 'other' })).body.message).toContain(
      'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
    );
    const elsewhere = { metadata: { namespace: 'other' }, spec: { user: 'jo', resourceAttributes: {} } };
    expect((await client.post(local, elsewhere)).status).toBe(400);
  });

  it('lists everything as allowed', async () => {
    const { body } = await client.post(`${authorization}/selfsubjectrulesreviews`, {
      spec: { namespace: 'default' },
    });
    expect(body.status).toEqual({
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      incomplete: false,
    });
    const reply = await client.post(`${authorization}/selfsubjectrulesreviews`, {});
    expectFailure(reply, 400, 'BadRequest', 'no namespace on request');
  });
});

describe('a review of a token', () => {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  const review = async (token: string, audiences?: string[]): Promise<Json> => {
    const { status, body } = await client.post(`${authentication}/tokenreviews`, {
      spec: { token, audiences },
    });
    expect(status).toBe(200);
    return body.status;
  };
  const tokenOf = async (account: string, spec: Json = {}): Promise<string> =>
    (await client.post(`${accounts}/${account}/token`, { spec })).body.status.token;
  const error = (why: string) => ({ user: {}, error: `[invalid bearer token, ${why}]` });

  it('names the account of a good one', async () => {
    const { metadata } = await created(client, accounts, { metadata: { name: 'good' } });
    expect(await review(await tokenOf('good'))).toEqual({
      authenticated: true,
      user: {
        username: 'system:serviceaccount:default:good',
        uid: metadata.uid,
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)] },
      },
      audiences: [issuer],
    });
  });

  it('refuses what is no token, what is signed by others, and an empty question', async () => {
    const token = await tokenOf('default');
    const bad = { user: {}, error: 'invalid bearer token' };
    expect(await review('nonsense')).toEqual(bad);
    expect(await review('x'.repeat(100_000))).toEqual(bad);
    const [header, payload, signature] = token.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const forged = Buffer.from(JSON.stringify({ ...claims, exp: claims.exp + 1 })).toString('base64url');
    expect(await review([header, forged, signature].join('.'))).toEqual(bad);
    const unsigned = Buffer.from('{"alg":"none"}').toString('base64url');
    expect(await review(`${unsigned}.${payload}.`)).toEqual(bad);
    const reply = await client.post(`${authentication}/tokenreviews`, { spec: {} });
    expectFailure(reply, 400, 'BadRequest', 'token is required for TokenReview in authentication');
  });

  it('looks for the audience that is asked for', async () => {
    const token = await tokenOf('default', { audiences: ['a', 'b'] });
    expect((await review(token, ['b', 'c'])).audiences).toEqual(['b']);
    expect(await review(token)).toEqual(
      error(`token audiences ["a" "b"] is invalid for the target audiences ["${issuer}"]`),
    );
  });

  it('refuses one whose time is over', async () => {
    const token = await tokenOf('default', { expirationSeconds: 600 });
    expect((await review(token)).authenticated).toBe(true);
    aheadMs = 700_000;
    try {
      expect(await review(token)).toEqual(error('service account token has expired'));
    } finally {
      aheadMs = 0;
    }
  });

  it('refuses one whose account is gone, or is another of the same name', async () => {
    const before = await created(client, accounts, { metadata: { name: 'gone' } });
    const token = await tokenOf('gone');
    await client.delete(`${accounts}/gone`);
    expect(await review(token)).toEqual(error('serviceaccounts "gone" not found'));
    const after = await created(client, accounts, { metadata: { name: 'gone' } });
    expect(await review(token)).toEqual(
      error(`service account UID (${after.metadata.uid}) does not match claim (${before.metadata.uid})`),
    );
  });

  it('binds one to its pod', async () => {
    const { metadata } = await created(client, pods, pod('bound'));
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'bound' };
    const token = await tokenOf('default', { boundObjectRef });
    expect((await review(token)).user.extra).toMatchObject({
      'authentication.kubernetes.io/pod-name': ['bound'],
      'authentication.kubernetes.io/pod-uid': [metadata.uid],
    });
    await client.delete(`${pods}/bound`);
    expect(await review(token)).toEqual(error('service account token has been invalidated'));
    const after = await created(client, pods, pod('bound'));
    expect(await review(token)).toEqual(
      error(`pod UID (${after.metadata.uid}) does not match service account pod ref claim (${metadata.uid})`),
    );
  });

  it('takes a token of a secret, until the secret goes', async () => {
    const secrets = '/api/v1/namespaces/default/secrets';
    const annotations = { 'kubernetes.io/service-account.name': 'default' };
    const { data: _, ...secret } = configMap('kept', {}, { annotations });
    const watch = await client.watch(`${secrets}?watch=true&fieldSelector=metadata.name%3Dkept`);
    await created(client, secrets, { ...secret, type: 'kubernetes.io/service-account-token' });
    const { object } = await watch.until((event) => event.object.data?.token !== undefined);
    watch.close();
    const token = Buffer.from(object.data.token, 'base64').toString();
    expect(await review(token)).toMatchObject({
      authenticated: true,
      user: { username: 'system:serviceaccount:default:default' },
      audiences: [issuer],
    });
    const other = Buffer.from(`${token}x`).toString('base64');
    expect((await client.patch(`${secrets}/kept`, { data: { token: other } })).status).toBe(200);
    expect(await review(token)).toEqual(error("Token does not match server's copy"));
    await client.delete(`${secrets}/kept`);
    expect(await review(token)).toEqual(error('Token has been invalidated'));
  });
});
