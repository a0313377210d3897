/**
 * Servers that take part in deciding who comes in, and misbehave: an issuer of OpenID Connect tokens, a webhook that
 * knows tokens, and one that authorizes.
 */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HookBehaviour, HookHost } from '../../../src/extensions/calls/hook-host.fixture.ts';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';
import { Canary, hookWays } from '../hook-ways.ts';

const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const review = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' };
const costMaxMs = 2_500;
/** What requests of the neighbour cost the server in each second of a wait. */
const neighbourMs = 150;

const host = new HookHost();
const canary = new Canary();
let folder = '';

const issuerUrl = (): string => `${host.url}/oidc`;
const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token of the issuer. */
function tokenBy(key: KeyObject, claims: object, header: object = { kid: 'one' }): string {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const all = { iss: issuerUrl(), aud: 'attack', sub: 'olga', exp: nowSeconds + 600, ...claims };
  const text = `${base64({ alg: 'RS256', ...header })}.${base64(all)}`;
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}

const pair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwk = (key: KeyObject, kid = 'one') => ({
  ...key.export({ format: 'jwk' }),
  kid,
  alg: 'RS256',
  use: 'sig',
});

function publish(...keys: object[]): void {
  const discovery = { issuer: issuerUrl(), jwks_uri: `${issuerUrl()}/keys` };
  host.hooks.set('/oidc/.well-known/openid-configuration', { raw: JSON.stringify(discovery) });
  host.hooks.set('/oidc/keys', { raw: JSON.stringify({ keys }) });
}

/** A TokenReview that names a user. */
const names = (user: object): HookBehaviour => ({
  answer: (_request, response, asked) => {
    const status = { authenticated: true, user };
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ ...asked, status }));
  },
});

const allows = (status: object): HookBehaviour => ({
  answer: (_request, response, asked) =>
    void response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ ...asked, status })),
});

const kubeconfig = (path: string): string =>
  JSON.stringify({
    kind: 'Config',
    apiVersion: 'v1',
    clusters: [
      { name: 'a', cluster: { server: `${host.url}${path}`, 'certificate-authority-data': host.ca } },
    ],
    contexts: [{ name: 'a', context: { cluster: 'a' } }],
    'current-context': 'a',
  });

let asks = 0;
/** Who a token's owner is, by a token that was not asked about before unless it is given. */
const ask = (server: AttackedServer, token = `unknown-${asks++}`) =>
  server.ask('anonymous', whoami, {
    method: 'POST',
    body: review,
    headers: { authorization: `Bearer ${token}` },
  });

/** Keys are not fetched again sooner than this after the last time. */
const refetchMs = 11_000;
const [first, second] = [pair(), pair()];

async function tryIssuer(
  server: AttackedServer,
  gotIn: string[],
  codes: number[],
  isShort: boolean,
): Promise<void> {
  const expect = async (what: string, token: string, wanted: number): Promise<void> => {
    const { status } = await ask(server, token);
    codes.push(status);
    if ((status === 201 ? 200 : status) !== wanted) gotIn.push(`${what}: ${status} in place of ${wanted}`);
  };
  const nowSeconds = Math.floor(Date.now() / 1000);
  await expect('a token of the issuer', tokenBy(first.privateKey, {}), 200);
  await expect(
    'a token that was over an hour ago',
    tokenBy(first.privateKey, { exp: nowSeconds - 3600 }),
    401,
  );
  await expect('a token that was over a second ago', tokenBy(first.privateKey, { exp: nowSeconds - 1 }), 401);
  await expect('a token of tomorrow', tokenBy(first.privateKey, { nbf: nowSeconds + 86_400 }), 401);
  await expect('a token of a clock that is ahead', tokenBy(first.privateKey, { nbf: nowSeconds + 60 }), 200);
  await expect('a token without an end', tokenBy(first.privateKey, { exp: undefined }), 401);
  await expect('a token that ends as a text', tokenBy(first.privateKey, { exp: '9999999999' }), 401);
  await expect('a token for others', tokenBy(first.privateKey, { aud: 'others' }), 401);
  await expect('a token of another key', tokenBy(second.privateKey, {}), 401);
  await expect('a token without an algorithm', `${tokenBy(first.privateKey, {}, { alg: 'none' })}`, 401);
  await expect('a name with a line feed', tokenBy(first.privateKey, { sub: 'a\nsystem:masters' }), 401);
  if (isShort) return;
  // The issuer has lost its key, and uses another one under the same name.
  const remembered = tokenBy(first.privateKey, { jti: 'remembered' });
  await expect('a token before the keys change', remembered, 200);
  publish(jwk(second.publicKey));
  await new Promise((resolve) => setTimeout(resolve, refetchMs));
  await expect('a token of the new key', tokenBy(second.privateKey, {}), 200);
  await expect('a token of the old key', tokenBy(first.privateKey, {}), 401);
  await expect('a token of the old key that is remembered', remembered, 401);
  for (const [way, behaviour] of Object.entries(hookWays(canary.url, isShort))) {
    if (!/gigabyte|endless|deep|redirect|hints/.test(way)) continue;
    host.hooks.set('/oidc/keys', behaviour);
    const cpuMs = server.cpuMs;
    await expect(`keys that are ${way}`, tokenBy(first.privateKey, {}, { kid: `other-${way.length}` }), 401);
    if (server.cpuMs - cpuMs > costMaxMs) gotIn.push(`keys, ${way}, cost ${server.cpuMs - cpuMs} ms`);
    await expect(`a token of the new key after ${way}`, tokenBy(second.privateKey, {}), 200);
  }
}

/** Processor time of the server for a request, without that of a neighbour meanwhile. */
async function costOf<T>(server: AttackedServer, request: () => Promise<T>) {
  const [cpuMs, beginMs] = [server.cpuMs, performance.now()];
  const result = await request();
  const seconds = (performance.now() - beginMs) / 1_000;
  return { result, cost: server.cpuMs - cpuMs - seconds * neighbourMs };
}

async function tryTokens(
  server: AttackedServer,
  gotIn: string[],
  codes: number[],
  isShort: boolean,
): Promise<void> {
  const answers: Readonly<Record<string, HookBehaviour>> = {
    'a user with control characters': names({ username: 'a\nb' }),
    'a user without a name': names({ username: '' }),
    'a user that is none': names([] as object),
    'a group with a line feed': names({ username: 'a', groups: ['b\nsystem:masters'] }),
    'another review': {
      raw: JSON.stringify({ kind: 'TokenReview', apiVersion: 'v1', status: { authenticated: true } }),
    },
  };
  for (const [way, behaviour] of Object.entries({ ...hookWays(canary.url, isShort), ...answers })) {
    const lasts = way === 'hang' || way === 'a byte now and then';
    if (lasts && isShort) continue;
    host.hooks.set('/tokens', behaviour);
    const { result, cost } = await costOf(server, () => ask(server));
    const { status, text } = result;
    codes.push(status);
    if (status !== 401) gotIn.push(`tokens, ${way}: ${status} ${text.slice(0, 100)}`);
    if (cost > costMaxMs) gotIn.push(`tokens, ${way}, costs ${Math.round(cost)} ms`);
  }
}

async function tryRights(
  server: AttackedServer,
  gotIn: string[],
  codes: number[],
  isShort: boolean,
): Promise<void> {
  const answers: Readonly<Record<string, HookBehaviour>> = {
    'both yes and no': allows({ allowed: true, denied: true }),
    'a text': allows({ allowed: 'true' }),
    'a long reason': allows({ allowed: false, reason: `\r\n${'x'.repeat(900_000)}` }),
  };
  for (const [way, behaviour] of Object.entries({ ...hookWays(canary.url, isShort), ...answers })) {
    const lasts = way === 'hang' || way === 'a byte now and then';
    if (lasts && isShort) continue;
    host.hooks.set('/rights', behaviour);
    const path = `/api/v1/namespaces/asked-${asks++}/secrets`;
    const { result, cost } = await costOf(server, () => server.ask('nobody', path));
    const { status, text } = result;
    codes.push(status);
    if (status !== 403 && status !== 500) gotIn.push(`rights, ${way}: ${status} ${text.slice(0, 100)}`);
    if (cost > costMaxMs) gotIn.push(`rights, ${way}, costs ${Math.round(cost)} ms`);
  }
}

/** Many who wait for servers that do not answer. */
async function tryWaiting(
  server: AttackedServer,
  gotIn: string[],
  codes: number[],
  isShort: boolean,
): Promise<void> {
  for (const path of ['/tokens', '/rights']) host.hooks.set(path, { answer: () => undefined });
  const sessions = Array.from({ length: isShort ? 1 : 4 }, () => server.session());
  const waiting = sessions.flatMap((session, i) =>
    Array.from({ length: isShort ? 100 : 900 }, (_, j) => {
      const isToken = j % 2;
      const stream = session.request({
        ':path': `/api/v1/namespaces/waiting-${i}-${j}/secrets`,
        ...(isToken ? { authorization: `Bearer waiting-${i}-${j}` } : server.headersOf('nobody')),
      });
      stream.on('error', () => undefined);
      return new Promise<number>((resolve) =>
        stream
          .once('response', (headers) => resolve(headers[':status'] ?? 0))
          .once('close', () => resolve(0)),
      );
    }),
  );
  for (let i = 0; i < (isShort ? 5 : 200); i++)
    for (const rank of ['neighbour', 'admin'] as const) {
      const { status } = await server.ask(rank, '/api/v1/namespaces/default/configmaps?limit=1');
      if (status !== 200) gotIn.push(`beside servers that hang, the ${rank} gets ${status}`);
    }
  for (const session of sessions) session.destroy();
  for (const code of await Promise.all(waiting)) {
    codes.push(code);
    if (code === 200) gotIn.push('a request that nobody has decided about is answered');
  }
}

export const attack: Attack = {
  name: 'servers that know users',
  prepare: async () => {
    await host.start();
    await canary.start();
    folder = await mkdtemp(join(tmpdir(), 'wherry-attack-'));
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    };
    const ca = await file('ca.crt', Buffer.from(host.ca, 'base64').toString());
    const tokens = await file('tokens.yaml', kubeconfig('/tokens'));
    const rights = await file('rights.yaml', kubeconfig('/rights'));
    publish(jwk(first.publicKey));
    return {
      options: [
        ...['--oidc-issuer-url', issuerUrl(), '--oidc-client-id', 'attack', '--oidc-ca-file', ca],
        ...['--authentication-token-webhook-config-file', tokens],
        ...['--authentication-token-webhook-version', 'v1'],
        ...['--authorization-mode', 'Node,RBAC,Webhook', '--authorization-webhook-config-file', rights],
        ...['--authorization-webhook-version', 'v1'],
      ],
      close: async () => {
        await host.close();
        await canary.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    host.hooks.set('/tokens', allows({ authenticated: false }));
    host.hooks.set('/rights', allows({ allowed: false }));
    await tryIssuer(server, gotIn, codes, isShort);
    await tryTokens(server, gotIn, codes, isShort);
    await tryRights(server, gotIn, codes, isShort);
    await tryWaiting(server, gotIn, codes, isShort);
    if (canary.hits) gotIn.push(`${canary.hits} redirects were followed`);
    return { gotIn: [...new Set(gotIn)], says: codesText(codes) };
  },
};
