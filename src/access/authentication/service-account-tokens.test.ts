/** Service account tokens: whose they are, and every way in which one can be wrong. */
import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Secret, ServiceAccount } from '../../api/generated/types.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { collectionOf, named } from '../../registry/target.ts';
import { optimized } from '../../switches.ts';
import { bearer, TestCluster } from './authentication.fixture.ts';
import type { Authentication } from './authentication.ts';
import { nowMs } from './certificates.fixture.ts';
import { makeAuthenticator } from './make-authenticator.ts';

const issuer = 'https://kubernetes.default.svc';
const errors: Error[] = [];
let cluster: TestCluster;
let authentication: Authentication;
let robot: ServiceAccount;

async function open(settings = {}): Promise<void> {
  cluster = await TestCluster.open(settings);
  const { registry } = cluster.writing;
  const onError = (error: Error): void => void errors.push(error);
  authentication = await makeAuthenticator(
    {},
    { registry, writing: cluster.writing, tokens: cluster.tokens, onError, onWarning: () => undefined },
  );
  robot = await cluster.seed('serviceaccounts', 'team', { metadata: { name: 'robot' } });
}

async function close(): Promise<void> {
  await authentication.close();
  await cluster.close();
  expect(errors.splice(0)).toEqual([]);
}

beforeEach(() => open());
afterEach(close);

const issue = async (claims: object = {}): Promise<string> =>
  (await cluster.tokens.bound(robot, { audiences: [issuer], lifeSeconds: 600, ...claims })).token;
const review = (token: string, audiences = [issuer]) => authentication.reviewToken(token, audiences);
const refused = async (token: string, why?: string): Promise<void> => {
  const error = why === undefined ? 'invalid bearer token' : `[invalid bearer token, ${why}]`;
  expect(await review(token)).toEqual({ error });
  await expect((async () => authentication.authenticate(bearer(token)))()).rejects.toThrow();
};

const partsOf = (token: string) => token.split('.') as [string, string, string];
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (part: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString());

describe('a bound token', () => {
  it('names its key, and says who it is of', async () => {
    const [header, claims] = partsOf(await issue());
    expect(decode(header)).toEqual({ alg: 'ES256', kid: expect.stringMatching(/^[\w-]{43}$/) });
    expect(decode(claims)).toEqual({
      aud: [issuer],
      exp: nowMs / 1000 + 600,
      iat: nowMs / 1000,
      iss: issuer,
      jti: expect.any(String),
      'kubernetes.io': { namespace: 'team', serviceaccount: { name: 'robot', uid: robot.metadata.uid } },
      nbf: nowMs / 1000,
      sub: 'system:serviceaccount:team:robot',
    });
  });

  it('makes the same user with every request', async () => {
    const credential = bearer(await issue());
    const user = await authentication.authenticate(credential);
    expect(user).toEqual({
      name: 'system:serviceaccount:team:robot',
      uid: robot.metadata.uid,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)] },
    });
    // Known by then: nothing has to be waited for.
    const again = authentication.authenticate(credential);
    if (optimized) expect(again).toBe(user);
    expect(await again).toEqual(user);
  });

  it('is refused for other audiences', async () => {
    const token = await issue({ audiences: ['a', 'b'] });
    await refused(token, `token audiences ["a" "b"] is invalid for the target audiences ["${issuer}"]`);
    expect(await review(token, ['b', 'c'])).toMatchObject({ audiences: ['b'] });
  });

  it('has a minute more than it says at both ends', async () => {
    const token = await issue();
    const at = async (seconds: number) => {
      cluster.clock.nowMs = nowMs + seconds * 1000;
      return review(token);
    };
    expect(await at(659)).toMatchObject({ audiences: [issuer] });
    expect(await at(-59)).toMatchObject({ audiences: [issuer] });
    await at(661);
    await refused(token, 'service account token has expired');
    await at(-61);
    await refused(token, 'service account token is not valid yet');
  });

  it('issued in the future is refused', async () => {
    const [header, claims] = partsOf(await issue());
    const { key } = signingKey();
    const { nbf: _, ...early } = { ...decode(claims), iat: nowMs / 1000 + 100 } as Record<string, unknown>;
    const token = await new SignJWT(early).setProtectedHeader(decode(header) as { alg: string }).sign(key);
    await refused(token, 'service account token is issued in the future');
  });

  it('is as good as its account', async () => {
    const token = await issue();
    expect(await review(token)).toMatchObject({ audiences: [issuer] });
    await cluster.remove('serviceaccounts', 'team', 'robot');
    await refused(token, 'serviceaccounts "robot" not found');
    const another = await cluster.seed<ServiceAccount>('serviceaccounts', 'team', {
      metadata: { name: 'robot' },
    });
    await refused(
      token,
      `service account UID (${another.metadata.uid}) does not match claim (${robot.metadata.uid})`,
    );
    await cluster.remove('serviceaccounts', 'team', 'robot');
    const deletionTimestamp = '2030-06-01T11:58:00Z';
    await cluster.seed('serviceaccounts', 'team', { metadata: { name: 'robot', deletionTimestamp } });
    await refused(token, 'service account team/robot has been deleted');
  });

  it('is as good as its pod, and only copies the node of it', async () => {
    const pod = await cluster.seed('pods', 'team', { metadata: { name: 'p' }, spec: { containers: [] } });
    const token = await issue({
      pod: { name: 'p', uid: pod.metadata.uid },
      node: { name: 'gone', uid: 'n' },
    });
    expect(await review(token)).toMatchObject({
      user: {
        extra: {
          'authentication.kubernetes.io/pod-name': ['p'],
          'authentication.kubernetes.io/pod-uid': [pod.metadata.uid],
          'authentication.kubernetes.io/node-name': ['gone'],
          'authentication.kubernetes.io/node-uid': ['n'],
        },
      },
    });
    await cluster.remove('pods', 'team', 'p');
    await refused(token, 'service account token has been invalidated');
    const next = await cluster.seed('pods', 'team', { metadata: { name: 'p' }, spec: { containers: [] } });
    await refused(
      token,
      `pod UID (${next.metadata.uid}) does not match service account pod ref claim (${pod.metadata.uid})`,
    );
  });

  it('is as good as its node or secret', async () => {
    const node = await cluster.seed('nodes', '', { metadata: { name: 'n' } });
    const ofNode = await issue({ node: { name: 'n', uid: node.metadata.uid } });
    expect(await review(ofNode)).toMatchObject({ audiences: [issuer] });
    await cluster.remove('nodes', '', 'n');
    await refused(ofNode, 'service account token has been invalidated');
    const secret = await cluster.seed('secrets', 'team', { metadata: { name: 's' } });
    const ofSecret = await issue({ secret: { name: 's', uid: secret.metadata.uid } });
    expect(await review(ofSecret)).toMatchObject({ audiences: [issuer] });
    await cluster.remove('secrets', 'team', 's');
    await refused(ofSecret, 'service account token has been invalidated');
  });

  it('that is used for longer than was asked for is noted', async () => {
    const token = await issue({ lifeSeconds: 10_000, warnAfterSeconds: 3607 });
    const used = bearer(token);
    await authentication.authenticate(used);
    expect(used.annotations).toEqual({});
    cluster.clock.nowMs += 3_617_000;
    await authentication.authenticate(used);
    expect(used.annotations).toEqual({
      'authentication.k8s.io/stale-token':
        'subject: system:serviceaccount:team:robot, seconds after warning threshold: 10',
    });
  });
});

/** The key of this cluster, for tokens that it would not sign. */
function signingKey(): { key: KeyObject } {
  const secret = cluster.find<Secret>('secrets', 'kube-system', 'wherry-service-account-key')!;
  return { key: createPrivateKey(Buffer.from(secret.data!.key!, 'base64').toString()) };
}

describe('a forged token is refused', () => {
  it('with other claims under the same signature', async () => {
    const [header, claims, signature] = partsOf(await issue());
    const other = { ...decode(claims), sub: 'system:serviceaccount:kube-system:admin' };
    await refused([header, encode(other), signature].join('.'));
  });

  it('without a signature', async () => {
    const [header, claims] = partsOf(await issue());
    const { kid } = decode(header);
    await refused(`${encode({ alg: 'none' })}.${claims}.`);
    await refused(`${encode({ alg: 'none', kid })}.${claims}.`);
    await refused(`${encode({ alg: 'None', kid })}.${claims}.AA`);
  });

  it('signed with the public key as a shared secret', async () => {
    const [header, claims] = partsOf(await issue());
    const publicKey = cluster.tokens.verificationKeys()[0]!.key;
    const secrets = [
      publicKey.export({ type: 'spki', format: 'pem' }),
      publicKey.export({ type: 'spki', format: 'der' }),
    ];
    for (const secret of secrets)
      for (const extra of [{}, { kid: decode(header).kid }]) {
        const head = encode({ alg: 'HS256', ...extra });
        const mac = createHmac('sha256', secret).update(`${head}.${claims}`).digest('base64url');
        await refused(`${head}.${claims}.${mac}`);
      }
  });

  it('with a key of its own in the header', async () => {
    const [, claims] = partsOf(await issue());
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' }) as object;
    const token = await new SignJWT(decode(claims))
      .setProtectedHeader({ alg: 'ES256', jwk })
      .sign(privateKey);
    await refused(token);
    const named = await new SignJWT(decode(claims))
      .setProtectedHeader({ alg: 'ES256', kid: 'x' })
      .sign(privateKey);
    await refused(named, 'invalid signature, no keys found');
  });

  it('that is no token at all, or of somebody else', async () => {
    for (const text of ['x', 'a.b.c', '..', `${encode({})}.${encode([])}.`, `${encode({})}.${encode({})}.x`])
      await refused(text);
    await refused(`${encode({ alg: 'RS256', kid: 'x' })}.${encode({ iss: 'https://other' })}.c2ln`);
  });
});

describe('several keys and issuers', () => {
  const pair = () =>
    generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });

  it('are accepted, and the first of each signs', async () => {
    const [now, former, foreign] = [pair(), pair(), pair()];
    await close();
    await open({
      issuers: ['https://new', 'https://old'],
      audiences: ['https://new'],
      keys: { signing: now.privateKey, verification: [former.publicKey] },
    });
    const token = await issue({ audiences: ['https://new'] });
    expect(decode(partsOf(token)[0]).alg).toBe('RS256');
    const claims = decode(partsOf(token)[1]);
    expect(claims.iss).toBe('https://new');
    const sign = (key: string) =>
      new SignJWT({ ...claims, iss: 'https://old' })
        .setProtectedHeader({ alg: 'RS256' })
        .sign(createPrivateKey(key));
    const asked = (given: string) => review(given, ['https://new']);
    expect(await asked(token)).toMatchObject({ audiences: ['https://new'] });
    expect(await asked(await sign(former.privateKey))).toMatchObject({ audiences: ['https://new'] });
    expect(await asked(await sign(foreign.privateKey))).toEqual({ error: 'invalid bearer token' });
  });
});

describe('a legacy token', () => {
  const manual = 'authentication.k8s.io/legacy-token-manual-secret';

  async function keep(): Promise<string> {
    const token = await cluster.tokens.legacy(robot, 'kept');
    await cluster.seed('secrets', 'team', {
      metadata: { name: 'kept', annotations: { 'kubernetes.io/service-account.name': 'robot' } },
      type: 'kubernetes.io/service-account-token',
      data: { token: Buffer.from(token).toString('base64') },
    });
    return token;
  }

  it('is good as long as its secret holds it, and its use is noted once a day', async () => {
    const used = bearer(await keep());
    expect(await authentication.authenticate(used)).toMatchObject({
      name: 'system:serviceaccount:team:robot',
      extra: {},
    });
    expect(used.annotations).toEqual({
      'authentication.k8s.io/legacy-token': 'system:serviceaccount:team:robot',
      [manual]: 'kept',
    });
    expect(used.warnings).toEqual([]);
    const label = () => cluster.find('secrets', 'team', 'kept')!.metadata.labels;
    await expect.poll(label).toEqual({ 'kubernetes.io/legacy-token-last-used': '2030-06-01' });
    cluster.clock.nowMs += 24 * 3_600_000;
    await authentication.authenticate(used);
    await expect.poll(label).toEqual({ 'kubernetes.io/legacy-token-last-used': '2030-06-02' });
  });

  it('that a controller has made is warned of', async () => {
    const used = bearer(await keep());
    await cluster.remove('serviceaccounts', 'team', 'robot');
    const { name, uid } = robot.metadata;
    const kind = cluster.writing.registry.kinds.resource('v1', 'serviceaccounts')!;
    const target = named(collectionOf(kind, 'team'), name!);
    const account = { metadata: { name, namespace: 'team', uid }, secrets: [{ name: 'kept' }] };
    const { registry } = cluster.writing;
    await registry.commit(
      asTester('create'),
      target,
      registry.encode(asTester('create'), target, account),
      0,
    );
    await authentication.authenticate(used);
    expect(used.warnings).toEqual([
      'Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.',
    ]);
    expect(used.annotations).toMatchObject({
      'authentication.k8s.io/legacy-token-autogenerated-secret': 'kept',
    });
  });

  it('is refused without its secret, with another, and marked as invalid', async () => {
    const token = await keep();
    await cluster.remove('secrets', 'team', 'kept');
    await refused(token, 'Token has been invalidated');
    await cluster.seed('secrets', 'team', { metadata: { name: 'kept' }, data: { token: 'eA==' } });
    await refused(token, "Token does not match server's copy");
    await cluster.remove('secrets', 'team', 'kept');
    const labels = { 'kubernetes.io/legacy-token-invalid-since': '2030-05-01' };
    const data = { token: Buffer.from(token).toString('base64') };
    await cluster.seed('secrets', 'team', { metadata: { name: 'kept', labels }, data });
    const used = bearer(token);
    await expect((async () => authentication.authenticate(used))()).rejects.toThrow('marked as invalid');
    expect(used.annotations).toEqual({ 'authentication.k8s.io/legacy-token-invalidated': 'kept/team' });
  });

  it('is refused without its account, or for another of that name', async () => {
    const token = await keep();
    await cluster.remove('serviceaccounts', 'team', 'robot');
    await refused(token, 'serviceaccounts "robot" not found');
    const another = await cluster.seed<ServiceAccount>('serviceaccounts', 'team', {
      metadata: { name: 'robot' },
    });
    await refused(
      token,
      `ServiceAccount UID (${another.metadata.uid}) does not match claim (${robot.metadata.uid})`,
    );
    await cluster.remove('serviceaccounts', 'team', 'robot');
    const deletionTimestamp = '2030-06-01T12:00:00Z';
    await cluster.seed('serviceaccounts', 'team', { metadata: { name: 'robot', deletionTimestamp } });
    await refused(token, 'ServiceAccount team/robot has been deleted');
  });

  it('is for the server alone', async () => {
    expect(await review(await keep(), ['other'])).toEqual({
      error: `[invalid bearer token, token audiences ["${issuer}"] is invalid for the target audiences ["other"]]`,
    });
  });

  it('must say everything', async () => {
    const claims = decode(partsOf(await keep())[1]);
    const { key } = signingKey();
    const sign = (changed: Record<string, unknown>) =>
      new SignJWT({ ...claims, ...changed }).setProtectedHeader({ alg: 'ES256' }).sign(key);
    const prefix = 'kubernetes.io/serviceaccount/';
    await refused(await sign({ sub: undefined }), 'sub claim is missing');
    await refused(await sign({ [`${prefix}namespace`]: '' }), 'namespace claim is missing');
    await refused(await sign({ [`${prefix}secret.name`]: undefined }), 'secretName claim is missing');
    await refused(
      await sign({ [`${prefix}service-account.name`]: 1 }),
      'serviceAccountName claim is missing',
    );
    await refused(
      await sign({ [`${prefix}service-account.uid`]: null }),
      'serviceAccountUID claim is missing',
    );
    await refused(await sign({ sub: 'system:serviceaccount:team:other' }), 'sub claim is invalid');
  });
});
