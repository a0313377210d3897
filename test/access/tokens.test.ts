/** Tokens, impersonation and the audit log over both doors: what recorded answers do not show. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Client, type Json } from '../support/http.ts';

const issuer = 'https://kubernetes.default.svc';
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
let folder: string;
let cluster: Cluster;
const local = new Client(() => cluster.url);
const accounts = '/api/v1/namespaces/default/serviceaccounts';

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wherry-tokens-'));
  cluster = await start({
    store: 'memory',
    controllers: false,
    auditLog: path.join(folder, 'audit.log'),
    secure: { serviceAccounts: { maxTokenExpirationSeconds: 7200 } },
    users: [{ name: 'zoe', groups: ['system:masters'], token: 'zoe-token' }],
  });
  await local.post(accounts, { metadata: { name: 'robot' } });
  await local.post('/api/v1/nodes', { metadata: { name: 'n' } });
  await local.post('/api/v1/namespaces/default/pods', {
    metadata: { name: 'p' },
    spec: { serviceAccountName: 'robot', nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  });
});
afterAll(async () => {
  agent.destroy();
  await cluster.close();
  await rm(folder, { recursive: true });
});

/** A GET over TLS. */
const get = (url: string, headers: Record<string, string | string[]>, server = cluster.secureUrl) =>
  new Promise<{ status: number; headers: Record<string, unknown>; body: Json }>((resolve, reject) => {
    request(server + url, { agent, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = String(answer.headers['content-type']).includes('json');
        const body = isJson ? JSON.parse(text) : text;
        resolve({ status: answer.statusCode!, headers: answer.headers, body });
      });
    })
      .on('error', reject)
      .end();
  });

const zoe = { Authorization: 'Bearer zoe-token' };
const ask = async (spec: Json, more: Json = {}) => local.post(`${accounts}/robot/token`, { spec, ...more });

describe('a token of a pod', () => {
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'p' };

  it('as agents ask for it lives for a year, and says when it should have been renewed', async () => {
    const { body } = await ask({ boundObjectRef, expirationSeconds: 3607 });
    const claims = decodeJwt(body.status.token) as Json;
    expect(claims.exp - claims.iat).toBe(365 * 24 * 3600);
    const own = claims['kubernetes.io'];
    expect(own.warnafter - claims.iat).toBe(3607);
    expect(own.node).toEqual({ name: 'n', uid: expect.any(String) });
    expect(Date.parse(body.status.expirationTimestamp) / 1000).toBe(claims.iat + 3607);
  });

  it('for others, or of another length, lives as long as it says', async () => {
    for (const spec of [
      { boundObjectRef, expirationSeconds: 3607, audiences: ['other'] },
      { boundObjectRef, expirationSeconds: 3608 },
      { expirationSeconds: 3607 },
    ]) {
      const claims = decodeJwt((await ask(spec)).body.status.token) as Json;
      expect(claims.exp - claims.iat).toBe(spec.expirationSeconds);
      expect(claims['kubernetes.io'].warnafter).toBeUndefined();
    }
  });

  it('that would live too long is shortened, with a warning', async () => {
    const { body, headers } = await ask({ expirationSeconds: 10_000 });
    expect(headers.warning).toBe('299 - "requested expiration of 10000 seconds shortened to 7200 seconds"');
    expect(body.spec.expirationSeconds).toBe(7200);
  });
});

describe('a token request', () => {
  it('that names another account is refused', async () => {
    const uid = await ask({}, { metadata: { uid: 'x' } });
    expect(uid.status).toBe(409);
    expect(uid.body.message).toMatch(
      /^Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request \(x\) does not match the UID of the service account \(.+\)$/,
    );
    const namespace = await ask({}, { metadata: { namespace: 'other' } });
    expect(namespace.status).toBe(422);
    expect(namespace.body.message).toContain('must match the service account namespace if specified');
  });

  it.each([
    [599, 'may not specify a duration less than 10 minutes'],
    [2 ** 32 + 1, 'may not specify a duration larger than 2^32 seconds'],
  ])('for %d seconds is refused', async (expirationSeconds, why) => {
    const { status, body } = await ask({ expirationSeconds });
    expect(status).toBe(422);
    expect(body.message).toBe(
      `TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: ${expirationSeconds}: ${why}`,
    );
  });
});

describe('the documents of the issuer', () => {
  it('let others check tokens, and may be kept for an hour', async () => {
    const { body: document, headers } = await get('/.well-known/openid-configuration', zoe);
    expect(document).toEqual({
      issuer,
      jwks_uri: `${cluster.secureUrl}/openid/v1/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=3600',
      'content-type': 'application/json',
    });
    // Pods know the server by its service, and may not reach it in another way.
    const { clusterIP } = (await get('/api/v1/namespaces/default/services/kubernetes', zoe)).body.spec;
    for (const [host, url] of [
      [clusterIP, `https://${clusterIP}`],
      ['kubernetes.default.svc:443', 'https://kubernetes.default.svc'],
      ['kubernetes.default:6443', 'https://kubernetes.default:6443'],
      ['elsewhere.example', cluster.secureUrl],
      ['not-kubernetes.default.svc', cluster.secureUrl],
    ])
      expect((await get('/.well-known/openid-configuration', { ...zoe, host })).body.jwks_uri).toBe(
        `${url}/openid/v1/jwks`,
      );
    const host = 'kubernetes.default.svc@elsewhere.example';
    expect(await get('/.well-known/openid-configuration', { ...zoe, host })).toMatchObject({
      status: 400,
      body: '400 Bad Request: malformed Host header',
    });
    const keys = await get('/openid/v1/jwks', zoe);
    expect(keys.headers['content-type']).toBe('application/jwk-set+json');
    expect(keys.body.keys[0].d).toBeUndefined();
    const { token } = (await ask({})).body.status;
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys.body), { issuer });
    expect(payload.sub).toBe('system:serviceaccount:default:robot');
  });

  it('name the advertised address when the server listens at all of them', async () => {
    const open = await start({
      store: 'memory',
      controllers: false,
      secure: { host: '0.0.0.0', port: 0, advertiseAddress: '192.0.2.7' },
      users: [{ name: 'zoe', groups: ['system:masters'], token: 'zoe-token' }],
    });
    try {
      const { port } = new URL(open.secureUrl!);
      const document = await get('/.well-known/openid-configuration', zoe, `https://127.0.0.1:${port}`);
      expect(document.body).toMatchObject({ issuer, jwks_uri: `https://192.0.2.7:${port}/openid/v1/jwks` });
    } finally {
      await open.close();
    }
  });
});

describe('the id of a request', () => {
  it('is echoed as the client sent it', async () => {
    for (const id of ['a', 'x'.repeat(5_000), 'with "quotes", {braces} and spaces']) {
      const { headers } = await get('/version', { ...zoe, 'Audit-Id': id });
      expect(headers['audit-id']).toBe(id);
    }
    const { headers } = await local.request('GET', '/version', undefined, { 'Audit-Id': 'mine/1' });
    expect(headers['audit-id']).toBe('mine/1');
  });
});

describe('the audit log', () => {
  it('names both the sender and the user who is impersonated', async () => {
    const headers = {
      'Impersonate-User': 'bob',
      'Impersonate-Group': ['a', 'b'],
      'Audit-Id': 'both "users"',
    };
    const { status, body } = await get('/api/v1/pods', { ...zoe, ...headers });
    expect(status).toBe(403);
    expect(body.message).toContain('User "bob" cannot list resource "pods"');
    await expect.poll(() => readFile(path.join(folder, 'audit.log'), 'utf8')).toContain('both \\"users\\"');
    const lines = (await readFile(path.join(folder, 'audit.log'), 'utf8')).trim().split('\n');
    const event = lines.map((line) => JSON.parse(line)).find(({ auditID }) => auditID === 'both "users"');
    expect(event).toMatchObject({
      user: { username: 'zoe', groups: ['system:masters', 'system:authenticated'] },
      impersonatedUser: { username: 'bob', groups: ['a', 'b', 'system:authenticated'] },
      authenticationMetadata: { impersonationConstraint: 'impersonate:user-info' },
    });
  });

  it('names tokens that were issued', async () => {
    const { token } = (await ask({})).body.status;
    const { jti } = decodeJwt(token);
    const wanted = `"authentication.kubernetes.io/issued-credential-id":"JTI=${jti}"`;
    await expect.poll(() => readFile(path.join(folder, 'audit.log'), 'utf8')).toContain(wanted);
  });
});

describe('the local door', () => {
  it('honours impersonation, as masters may', async () => {
    const body = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' };
    const reply = await local.request(
      'POST',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      JSON.stringify(body),
      {
        'Content-Type': 'application/json',
        'Impersonate-User': 'bob',
      },
    );
    expect(reply.body.status.userInfo).toEqual({ username: 'bob', groups: ['system:authenticated'] });
  });
});

describe('cluster-info', () => {
  it('says where the secure door is and whom to trust', async () => {
    const { body } = await local.get('/api/v1/namespaces/kube-public/configmaps/cluster-info');
    expect(body.data.kubeconfig).toContain(`server: ${cluster.secureUrl}`);
    expect(body.data.kubeconfig).toContain('certificate-authority-data: ');
  });
});
