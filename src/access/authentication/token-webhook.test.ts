/** A token webhook is asked once about each token, tried again when it is busy, and believed as far as it says. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Authority, makeAuthority, servingUsages } from '../../pki/authority.ts';
import { bearer, TestCluster } from './authentication.fixture.ts';
import type { Authentication } from './authentication.ts';
import { makeAuthenticator } from './make-authenticator.ts';

const kubernetes = 'https://kubernetes.default.svc';
let server: Server;
let folder: string;
let cluster: TestCluster;
let authentication: Authentication;
const asked: { body: Record<string, any>; authorization: string | undefined }[] = [];
const errors: Error[] = [];
/** What the service answers, one after the other; the last again and again. */
let answers: { code: number; status?: object; text?: string }[] = [];

/** Signs the certificate of the service, and has the same subject. */
const same = new Authority(makeAuthority('webhook', Date.now()));
const serving = same.issue(
  { subject: { commonName: 'webhook' }, usages: servingUsages, hosts: ['localhost'], lifeMs: 3_600_000 },
  Date.now(),
);

beforeEach(async () => {
  asked.length = 0;
  errors.length = 0;
  folder = await mkdtemp(path.join(tmpdir(), 'webhook-'));
  server = createServer(serving, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      asked.push({ body, authorization: request.headers.authorization });
      const { code, status, text } = answers.length > 1 ? answers.shift()! : answers[0]!;
      response.writeHead(code, { 'Content-Type': 'application/json' });
      response.end(text ?? JSON.stringify({ ...body, status }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://localhost:${(server.address() as AddressInfo).port}/review`;
  const configFile = path.join(folder, 'webhook.yaml');
  await writeFile(path.join(folder, 'ca.crt'), same.pem.cert);
  await writeFile(
    configFile,
    `clusters: [{name: hook, cluster: {server: "${url}", certificate-authority: ca.crt}}]
users: [{name: me, user: {token: secret}}]
contexts: [{name: only, context: {cluster: hook, user: me}}]
current-context: only
`,
  );
  cluster = await TestCluster.open();
  authentication = await makeAuthenticator(
    { tokenWebhook: { configFile } },
    {
      registry: cluster.writing.registry,
      writing: cluster.writing,
      tokens: cluster.tokens,
      onError: (error) => void errors.push(error),
      onWarning: () => undefined,
    },
  );
});

afterEach(async () => {
  await authentication.close();
  await cluster.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

const jane = { username: 'jane', uid: 'u', groups: ['g'], extra: { k: ['v'] } };
const userOf = async (token: string) => authentication.authenticate(bearer(token));

it('names the user', async () => {
  answers = [{ code: 200, status: { authenticated: true, user: jane } }];
  expect(await userOf('t')).toEqual({
    name: 'jane',
    uid: 'u',
    groups: ['g', 'system:authenticated'],
    extra: { k: ['v'] },
  });
  expect(asked).toEqual([
    {
      body: {
        kind: 'TokenReview',
        apiVersion: 'authentication.k8s.io/v1beta1',
        spec: { token: 't', audiences: [kubernetes] },
      },
      authorization: 'Bearer secret',
    },
  ]);
});

it('is asked once about a token, however many requests come with it, and again after two minutes', async () => {
  answers = [{ code: 200, status: { authenticated: true, user: jane } }];
  const users = await Promise.all(Array.from({ length: 50 }, () => userOf('t')));
  expect(new Set(users.map(({ name }) => name))).toEqual(new Set(['jane']));
  await userOf('t');
  expect(asked).toHaveLength(1);
  cluster.clock.nowMs += 121_000;
  await userOf('t');
  expect(asked).toHaveLength(2);
  await userOf('another');
  expect(asked).toHaveLength(3);
});

it('that does not know a token, or means it for others, lets nobody in', async () => {
  answers = [{ code: 200, status: { authenticated: false } }];
  await expect(userOf('a')).rejects.toThrow('invalid bearer token');
  answers = [{ code: 200, status: { authenticated: true, user: jane, audiences: ['other'] } }];
  await expect(userOf('b')).rejects.toThrow('invalid bearer token');
  answers = [{ code: 200, status: { authenticated: true, user: { groups: ['system:masters'] } } }];
  await expect(userOf('c')).rejects.toThrow('names no user');
  answers = [{ code: 200, status: { authenticated: false, error: 'revoked' } }];
  expect(await authentication.reviewToken('d', [kubernetes])).toEqual({
    error: '[invalid bearer token, revoked]',
  });
  expect(errors).toEqual([]);
});

it('is tried again when it is busy or fails, and not remembered when it stays so', async () => {
  answers = [{ code: 429 }, { code: 503 }, { code: 200, status: { authenticated: true, user: jane } }];
  expect((await userOf('t')).name).toBe('jane');
  answers = [{ code: 400 }];
  await expect(userOf('u')).rejects.toThrow('status 400');
  expect(asked).toHaveLength(4);
  answers = [{ code: 200, text: 'nonsense' }];
  await expect(userOf('u')).rejects.toThrow();
  answers = [{ code: 200, text: '{"kind":"TokenReview","apiVersion":"v9","status":{"authenticated":true}}' }];
  await expect(userOf('u')).rejects.toThrow('not a TokenReview');
  expect(errors).toHaveLength(3);
});

it('is not asked about tokens that others know', async () => {
  answers = [{ code: 200, status: { authenticated: false } }];
  await expect(userOf('x'.repeat(70_000))).rejects.toThrow();
  expect(asked).toHaveLength(0);
});
