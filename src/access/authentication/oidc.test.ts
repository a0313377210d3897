/** OpenID Connect against a small issuer over HTTPS: who its tokens name, and which are refused. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { optimized } from '../../switches.ts';
import { bearer, TestCluster } from './authentication.fixture.ts';
import type { Authentication } from './authentication.ts';
import { nowMs, TestAuthority } from './certificates.fixture.ts';
import { type IssuerKey, issuerDocuments, newKey } from './issuer-keys.fixture.ts';
import { makeAuthenticator } from './make-authenticator.ts';

const ca = new TestAuthority('issuer', undefined, {
  fromMs: Date.now() - 3_600_000,
  untilMs: Date.now() + 3_600_000,
});
const kubernetes = 'https://kubernetes.default.svc';
let server: Server;
let issuer: string;
let folder: string;
let caFile: string;
/** What the issuer has been asked for. */
let asked: string[] = [];
/** What the issuer waits for before it answers. */
let delayed: Promise<void> | undefined;
let release: () => void = () => undefined;
let keys: IssuerKey[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'oidc-'));
  caFile = path.join(folder, 'ca.crt');
  await writeFile(caFile, ca.pem);
  server = createServer(ca.server(), async (request, response) => {
    asked.push(request.url!);
    await delayed;
    const document = issuerDocuments(issuer, keys)[request.url!];
    response.writeHead(document ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `https://localhost:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

let cluster: TestCluster;
let authentication: Authentication | undefined;
const warnings: string[] = [];
beforeEach(async () => {
  cluster = await TestCluster.open();
  keys = [newKey('one')];
  delayed = undefined;
  asked = [];
  warnings.length = 0;
});
afterEach(async () => {
  await authentication?.close();
  authentication = undefined;
  await cluster.close();
});

const context = () => ({
  registry: cluster.writing.registry,
  writing: cluster.writing,
  tokens: cluster.tokens,
  onError: () => undefined,
  onWarning: (message: string) => void warnings.push(message),
});

async function open(more: object = {}): Promise<void> {
  const oidc = { issuerUrl: issuer, clientId: 'wherry', caFile, ...more };
  authentication = await makeAuthenticator({ oidc }, context());
}

const seconds = nowMs / 1000;
function sign(claims: Record<string, unknown> = {}, { key = keys[0]!, header = {} } = {}): Promise<string> {
  const all = { iss: issuer, aud: 'wherry', sub: 'jane', exp: seconds + 600, ...claims };
  return new SignJWT(all).setProtectedHeader({ alg: 'RS256', kid: key.kid, ...header }).sign(key.privateKey);
}

const userOf = async (token: string) => authentication!.authenticate(bearer(token));
const refused = async (token: string, why: string): Promise<void> => {
  expect(await authentication!.reviewToken(token, [kubernetes])).toEqual({
    error: `[invalid bearer token, ${why}]`,
  });
  await expect((async () => authentication!.authenticate(bearer(token)))()).rejects.toThrow();
};

describe('a token of the issuer', () => {
  it('names a user by its subject, with the issuer before it', async () => {
    await open();
    expect(await userOf(await sign({ jti: 'x' }))).toEqual({
      name: `${issuer}#jane`,
      groups: ['system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=x'] },
    });
  });

  it('names user and groups as options say', async () => {
    await open({
      usernameClaim: 'email',
      groupsClaim: 'teams',
      groupsPrefix: 'idp:',
      usernamePrefix: undefined,
    });
    const claims = { email: 'jane@example.com', email_verified: true };
    expect(await userOf(await sign({ ...claims, teams: ['a', 'b'] }))).toMatchObject({
      name: 'jane@example.com',
      groups: ['idp:a', 'idp:b', 'system:authenticated'],
    });
    expect((await userOf(await sign({ ...claims, teams: 'one' }))).groups).toContain('idp:one');
    expect((await userOf(await sign(claims))).groups).toEqual(['system:authenticated']);
    await refused(await sign({ ...claims, email_verified: false }), 'oidc: email not verified');
    await refused(await sign({ ...claims, email_verified: 'true' }), 'oidc: email not verified');
    await refused(await sign(), 'oidc: parse username claims "email": claim not present');
    await refused(
      await sign({ ...claims, teams: [1] }),
      'oidc: parse groups claim "teams": not a text or a list of texts',
    );
  });

  it('is known until it is over, without waiting the second time', async () => {
    await open({ usernamePrefix: '-' });
    const token = await sign();
    const user = await userOf(token);
    expect(user.name).toBe('jane');
    const again = authentication!.authenticate(bearer(token));
    if (optimized) expect(again).toBe(user);
    expect(await again).toEqual(user);
    cluster.clock.nowMs += 600_000;
    await refused(token, 'oidc: verify token: oidc: token is expired');
  });

  it('is refused when its time, audience or claims are wrong', async () => {
    await open({ requiredClaims: { hd: 'example.com' } });
    const hd = 'example.com';
    await refused(await sign({ hd, exp: seconds - 1 }), 'oidc: verify token: oidc: token is expired');
    await refused(await sign({ hd, exp: undefined }), 'oidc: verify token: oidc: token has no expiry');
    await refused(
      await sign({ hd, nbf: seconds + 301 }),
      'oidc: verify token: oidc: current time is before the nbf (not before) time',
    );
    await refused(await sign({ hd, aud: ['x'] }), 'oidc: expected audience in ["wherry"] got ["x"]');
    await refused(await sign(), 'oidc: required claim hd not present in ID token');
    await refused(
      await sign({ hd: 'evil.com' }),
      'oidc: required claim hd value does not match. Got = evil.com, want = example.com',
    );
    expect((await userOf(await sign({ hd, aud: ['x', 'wherry'] }))).name).toBe(`${issuer}#jane`);
  });

  it('is refused when it was tampered with, or signed by others', async () => {
    await open();
    const [header, , signature] = (await sign()).split('.');
    const root = Buffer.from(JSON.stringify({ iss: issuer, aud: 'wherry', sub: 'root', exp: seconds + 600 }));
    const review = (token: string) => authentication!.reviewToken(token, [kubernetes]);
    const failure = { error: expect.stringContaining('oidc: verify token') };
    expect(await review([header, root.toString('base64url'), signature].join('.'))).toEqual(failure);
    const none = Buffer.from('{"alg":"none","kid":"one"}').toString('base64url');
    expect(await review(`${none}.${root.toString('base64url')}.`)).toEqual(failure);
    const foreign = newKey('one', 'stranger');
    expect(await review(await sign({}, { key: foreign }))).toEqual(failure);
    expect(await review(await sign({}, { header: { alg: 'RS512' } }))).toEqual(failure);
    expect(await review(await sign({ iss: `${issuer}/` }))).toEqual({ error: 'invalid bearer token' });
  });
});

describe('the keys of the issuer', () => {
  it('are fetched once, and again for a key that is not among them, but not at will', async () => {
    await open();
    await userOf(await sign());
    await userOf(await sign({ sub: 'joe' }));
    expect(asked).toEqual(['/.well-known/openid-configuration', '/keys']);
    keys.push(newKey('two'));
    cluster.clock.nowMs += 11_000;
    expect((await userOf(await sign({}, { key: keys[1]! }))).name).toBe(`${issuer}#jane`);
    expect(asked).toHaveLength(4);
    const foreign = ['x', 'y'].map((kid) => ({ ...newKey('one', 'stranger'), kid }));
    for (const key of foreign)
      await expect(userOf(await sign({}, { key }))).rejects.toThrow('oidc: verify token');
    expect(asked).toHaveLength(4);
  });

  it('may change under the same name, and then the old ones count no more, not even for tokens that are known', async () => {
    await open();
    const [old] = keys;
    const known = await sign({}, { key: old! });
    expect((await userOf(known)).name).toBe(`${issuer}#jane`);
    const other = { ...newKey('one', 'successor'), kid: old!.kid };
    keys = [other];
    cluster.clock.nowMs += 11_000;
    expect((await userOf(await sign({}, { key: other }))).name).toBe(`${issuer}#jane`);
    for (const token of [known, await sign({ sub: 'joe' }, { key: old! })])
      await expect((async () => userOf(token))()).rejects.toThrow('oidc: verify token');
  });

  it('are all tried for a token that does not name one', async () => {
    keys.push(newKey('two'));
    await open();
    for (const key of keys)
      expect((await userOf(await sign({}, { key, header: { kid: undefined } }))).name).toBe(`${issuer}#jane`);
    const stranger = newKey('one', 'stranger');
    const foreign = await sign({}, { key: stranger, header: { kid: undefined } });
    await expect((async () => userOf(foreign))()).rejects.toThrow('oidc: verify token');
  });

  it('are not waited for by more than 200 requests at once', async () => {
    delayed = new Promise((resolve) => {
      release = resolve;
    });
    await open();
    const tokens = await Promise.all(Array.from({ length: 210 }, (_, i) => sign({ sub: `user-${i}` })));
    const answers = tokens.map(async (token) => (await userOf(token)).name);
    const refusals = answers.slice(200);
    for (const answer of refusals)
      await expect(answer).rejects.toThrow('oidc: authenticator not initialized');
    release();
    expect(await Promise.all(answers.slice(0, 200))).toHaveLength(200);
  });

  it('are not taken from a server that cannot prove who it is', async () => {
    const errors: Error[] = [];
    const oidc = { issuerUrl: issuer, clientId: 'wherry' };
    authentication = await makeAuthenticator(
      { oidc },
      { ...context(), onError: (error) => void errors.push(error) },
    );
    await expect(userOf(await sign())).rejects.toThrow('oidc: authenticator not initialized');
    expect(errors[0]?.message).toContain(`the keys of the OIDC issuer ${issuer} cannot be fetched`);
    expect(asked).toEqual([]);
  });
});

describe('options', () => {
  it('that cannot be honoured stop the start', async () => {
    const make = (options: object) => makeAuthenticator(options, context());
    const oidc = { issuerUrl: issuer, clientId: 'wherry' };
    await expect(make({ oidc: { ...oidc, issuerUrl: 'http://idp' } })).rejects.toThrow(
      'must be an https URL',
    );
    await expect(make({ oidc: { ...oidc, issuerUrl: kubernetes } })).rejects.toThrow(
      'service account tokens',
    );
    await expect(make({ oidc: { ...oidc, caFile: '/nowhere' } })).rejects.toThrow('cannot be read (ENOENT)');
    await expect(make({ oidc, configFile: 'x' })).rejects.toThrow('only one is possible');
  });
});

describe('a configuration file', () => {
  let file: string;
  const issuerText = () =>
    JSON.stringify({
      issuer: {
        url: issuer,
        certificateAuthority: ca.pem,
        audiences: ['a', 'b'],
        audienceMatchPolicy: 'MatchAny',
        discoveryURL: `${issuer}/elsewhere`,
      },
      claimValidationRules: [{ claim: 'hd', requiredValue: 'example.com' }],
      claimMappings: {
        username: { claim: 'sub', prefix: 'idp:' },
        groups: { claim: 'groups', prefix: '' },
        uid: { claim: 'id' },
      },
    });
  const configuration = (jwt: string, more = ''): string =>
    `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n- ${jwt}\n${more}`;

  beforeEach(() => {
    file = path.join(folder, 'authentication.yaml');
  });

  const openFile = async (text: string, more: object = {}) => {
    await writeFile(file, text);
    authentication = await makeAuthenticator({ configFile: file, ...more }, context());
  };

  it('names issuers, and where anonymous requests are let in', async () => {
    await openFile(
      configuration(issuerText(), 'anonymous: {enabled: true, conditions: [{path: /healthz}]}\n'),
    );
    const token = await sign({ aud: 'b', hd: 'example.com', groups: ['g'], id: '7' });
    expect(await userOf(token)).toMatchObject({
      name: 'idp:jane',
      uid: '7',
      groups: ['g', 'system:authenticated'],
    });
    expect(asked[0]).toBe('/elsewhere');
    const anonymous = (at: string) => () =>
      authentication!.authenticate({ ...bearer(''), headers: {}, path: at });
    expect(anonymous('/healthz')()).toMatchObject({ name: 'system:anonymous' });
    expect(anonymous('/api')).toThrow('no credentials');
  });

  it('is read again when it changes, and what cannot be used is not taken over', async () => {
    await openFile(configuration(issuerText()));
    const token = await sign({ aud: 'b', hd: 'example.com', id: '7' });
    expect((await userOf(token)).name).toBe('idp:jane');
    await writeFile(file, configuration(issuerText().replace('idp:', 'new:')));
    await expect.poll(async () => (await userOf(token)).name).toBe('new:jane');
    await writeFile(file, 'apiVersion: apiserver.config.k8s.io/v1\nkind: Something');
    await expect.poll(() => warnings).toEqual([expect.stringContaining('AuthenticationConfiguration')]);
    expect((await userOf(token)).name).toBe('new:jane');
  });

  describe('with expressions', () => {
    const expressions = {
      issuer: { url: issuer, certificateAuthority: ca.pem, audiences: ['wherry'] },
      claimValidationRules: [
        { expression: 'claims.exp - claims.iat <= 86400', message: 'tokens live a day at most' },
        { expression: '!has(claims.email) || claims.email_verified' },
      ],
      claimMappings: {
        username: { expression: 'claims.?email.orValue(claims.sub)' },
        groups: { expression: 'claims.roles.filter(role, role.startsWith("k8s-"))' },
        uid: { expression: 'string(claims.id)' },
        extra: [
          { key: 'example.com/tenant', valueExpression: 'claims.tenant' },
          { key: 'example.com/teams', valueExpression: 'claims.?teams.orValue([])' },
        ],
      },
      userValidationRules: [
        { expression: "!user.username.startsWith('system:')", message: 'reserved for the server' },
        { expression: 'user.groups.all(group, group != "k8s-root")' },
      ],
    };
    const good = { iat: seconds, roles: ['k8s-dev', 'other'], id: 7, tenant: 'acme' };
    const openExpressions = (change: (text: string) => string = (text) => text): Promise<void> =>
      openFile(
        configuration(
          change(JSON.stringify({ ...expressions, issuer: { ...expressions.issuer, url: issuer } })),
        ),
      );

    it('makes the user of them', async () => {
      await openExpressions();
      expect(await userOf(await sign({ ...good, jti: 'x', teams: ['a', 'b'] }))).toEqual({
        name: 'jane',
        uid: '7',
        groups: ['k8s-dev', 'system:authenticated'],
        extra: {
          'example.com/tenant': ['acme'],
          'example.com/teams': ['a', 'b'],
          'authentication.kubernetes.io/credential-id': ['JTI=x'],
        },
      });
      const verified = { ...good, email: 'jane@example.com', email_verified: true };
      expect(await userOf(await sign(verified))).toMatchObject({ name: 'jane@example.com' });
      const bare = await userOf(await sign({ ...good, tenant: '' }));
      expect(Object.keys(bare.extra ?? {})).toEqual([]);
    });

    it('refuses tokens and users that break a rule', async () => {
      await openExpressions();
      await refused(
        await sign({ ...good, exp: seconds + 90_000 }),
        "oidc: error evaluating claim validation expression: validation expression 'claims.exp - claims.iat <= 86400' failed: tokens live a day at most",
      );
      await refused(
        await sign({ ...good, sub: 'system:admin' }),
        "oidc: error evaluating user info validation rule expression: validation expression '!user.username.startsWith('system:')' failed: reserved for the server",
      );
      await refused(
        await sign({ ...good, roles: ['k8s-root'] }),
        'oidc: error evaluating user info validation rule expression: validation expression \'user.groups.all(group, group != "k8s-root")\' failed: it is false',
      );
      await refused(
        await sign({ ...good, email: 'jane@example.com', email_verified: 'yes' }),
        "oidc: error evaluating claim validation expression: expression '!has(claims.email) || claims.email_verified' resulted in error: no such overload",
      );
    });

    it('refuses claims that they cannot be worked out from', async () => {
      await openExpressions();
      await refused(
        await sign({ ...good, sub: '' }),
        'oidc: empty username via CEL expression is not allowed',
      );
      await refused(
        await sign({ ...good, sub: { name: 'jane' } }),
        'oidc: error evaluating username claim expression: username claim expression must return a string',
      );
      await refused(
        await sign({ ...good, tenant: [1] }),
        'oidc: error evaluating extra claim expression: expression must return a string or a list of strings',
      );
      await refused(
        await sign({ ...good, roles: undefined }),
        `oidc: error evaluating group claim expression: expression '${expressions.claimMappings.groups.expression}' resulted in error: no such key: roles`,
      );
    });

    it('ends those that take too many steps', async () => {
      const loop = 'claims.roles.all(a, claims.roles.all(b, claims.roles.all(c, a + b + c != "")))';
      await openExpressions((text) =>
        text.replace('claims.exp - claims.iat <= 86400', loop.replaceAll('"', "'")),
      );
      const roles = Array.from({ length: 300 }, (_, at) => `k8s-${at}`);
      await refused(
        await sign({ ...good, roles }),
        `oidc: error evaluating claim validation expression: expression '${loop.replaceAll('"', "'")}' resulted in error: operation cancelled: actual cost limit exceeded`,
      );
      expect((await userOf(await sign({ ...good, roles: ['k8s-a'] }))).name).toBe('jane');
    });
  });

  const userRules = (...rules: string[]): string =>
    `"userValidationRules":[${rules.map((expression) => `{"expression":"${expression}"}`)}],"claimMappings"`;
  it.each([
    [
      'a rule about claims that is no bool',
      ['"claim":"hd","requiredValue":"example.com"', '"expression":"1"'],
      'jwt[0].claimValidationRules[0].expression: must evaluate to bool but got int',
    ],
    [
      'a claim and an expression',
      ['"claim":"id"', '"claim":"id","expression":"claims.id"'],
      'jwt[0].claimMappings.uid has a claim and an expression',
    ],
    [
      'a rule about what users do not have',
      ['"claimMappings"', userRules('user.x')],
      "jwt[0].userValidationRules[0].expression: compilation failed: ERROR: <input>:1:5: undefined field 'x'",
    ],
    [
      'an unconfirmed address as name',
      ['"claim":"sub","prefix":"idp:"', '"expression":"claims.email"'],
      'must use claims.email_verified',
    ],
    [
      'reserved keys of extra',
      ['"uid"', '"extra":[{"key":"x.k8s.io/y","valueExpression":"claims.y"}],"uid"'],
      'jwt[0].claimMappings.extra[0].key: k8s.io, kubernetes.io and their subdomains are reserved',
    ],
    [
      'more rules than are kept',
      ['"claimMappings"', userRules(...Array.from({ length: 65 }, (_, i) => `${i}==0`))],
      'jwt[0].userValidationRules has more than 64 items',
    ],
    [
      'unknown fields',
      ['"audiences"', '"audience":1,"audiences"'],
      'there is no field "jwt[0].issuer.audience"',
    ],
    ['a name without prefix', [',"prefix":"idp:"', ''], 'prefix is required'],
    ['audiences without policy', ['"audienceMatchPolicy":"MatchAny",', ''], 'MatchAny'],
    ['issuers without TLS', ['"url":"https', '"url":"http'], 'https URL'],
  ] as const)('with %s is refused with a sentence', async (_, [from, to], why) => {
    await expect(openFile(configuration(issuerText().replace(from, () => to)))).rejects.toThrow(why);
  });

  it('and an option cannot both decide about anonymous requests', async () => {
    const text = configuration(issuerText(), 'anonymous: {enabled: true}\n');
    await expect(openFile(text, { anonymous: false })).rejects.toThrow(
      'anonymous access is set by an option and',
    );
  });
});
