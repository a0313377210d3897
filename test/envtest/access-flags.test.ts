/** Proves that flags about who may do what show in whom the server of the pair lets in. */
import { createSign } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assets, ControlPlane, type Identity } from './harness.ts';
import { OtherSide } from './other-side.ts';

const other = new OtherSide();
let folder: string;
let plane: ControlPlane;
beforeAll(async () => {
  folder = await assets();
  plane = new ControlPlane(folder);
  await other.start();
  await plane.startEtcd();
});
afterAll(async () => {
  await plane.close();
  await other.close();
  rmSync(folder, { recursive: true, force: true });
});

const bodyOf = (answer: { text: string } | undefined): any => JSON.parse(answer!.text);
const maps = '/api/v1/namespaces/default/configmaps';
const bearer = (token: string): Identity => ({ headers: { Authorization: `Bearer ${token}` } });
const codeOf = async (where: string, identity?: Identity) => (await plane.get(where, identity))?.code;
const make = (where: string, body: object) => plane.ask('POST', where, body, plane.admin);

/** Who a server takes a client for; undefined: it does not let it in. */
async function userOf(identity: Identity): Promise<any> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const answer = await plane.ask('POST', reviews, review, identity);
  return answer?.code === 201 ? bodyOf(answer).status.userInfo : undefined;
}

async function tokenOf(account: string, spec: object = {}): Promise<string> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await make(accounts, { metadata: { name: account } });
  return bodyOf(await make(`${accounts}/${account}/token`, { spec })).status.token;
}

const claimsOf = (token: string): any =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());

describe('single flags', () => {
  beforeAll(async () => {
    other.answer('/token', ({ spec }) => ({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      status: { authenticated: spec.token === 'known', user: { username: 'of-the-webhook' } },
    }));
    other.answer('/access', ({ spec }) => ({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      status: { allowed: spec.user === 'of-the-webhook' && spec.resourceAttributes?.verb === 'get' },
    }));
    const proxy = plane.write('front.crt', plane.authority);
    await plane.startServer(
      {
        'anonymous-auth': 'false',
        'api-audiences': 'ours,theirs',
        'token-auth-file': plane.write('tokens.csv', 'static-token,stan,7,"stewards,guests"\n'),
        'enable-bootstrap-token-auth': 'true',
        'oidc-issuer-url': other.url,
        'oidc-ca-file': plane.write('issuer.crt', other.ca),
        'oidc-client-id': 'app',
        'oidc-username-claim': 'nick',
        'oidc-username-prefix': 'o:',
        'oidc-groups-claim': 'teams',
        'oidc-groups-prefix': 'team:',
        'oidc-required-claim': 'site=here',
        'oidc-signing-algs': 'RS256',
        'authentication-token-webhook-config-file': plane.write('token.json', other.kubeconfig('/token')),
        'authentication-token-webhook-version': 'v1',
        'authentication-token-webhook-cache-ttl': '1h',
        'requestheader-client-ca-file': proxy,
        'requestheader-allowed-names': 'front',
        'requestheader-username-headers': 'X-Who',
        'requestheader-uid-headers': 'X-Uid',
        'requestheader-group-headers': 'X-Crowd',
        'requestheader-extra-headers-prefix': 'X-More-',
        'service-account-lookup': 'false',
        'service-account-extend-token-expiration': 'false',
        'authorization-mode': 'RBAC,ABAC,Webhook',
        'authorization-policy-file': plane.write(
          'abac.jsonl',
          '{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"stan","namespace":"*","resource":"configmaps","apiGroup":"*","readonly":true}}\n',
        ),
        'authorization-webhook-config-file': plane.write('access.json', other.kubeconfig('/access')),
        'authorization-webhook-version': 'v1',
        'authorization-webhook-cache-authorized-ttl': '1h',
        'authorization-webhook-cache-unauthorized-ttl': '1h',
      },
      plane.admin,
    );
  });

  it('let nobody in without credentials', async () => {
    expect([await codeOf('/healthz'), await codeOf('/version')]).toEqual([401, 401]);
    expect(await codeOf('/healthz', plane.admin)).toBe(200);
  });

  it('name users by tokens of a file, an issuer and a webhook', async () => {
    expect(await userOf(bearer('static-token'))).toMatchObject({
      username: 'stan',
      uid: '7',
      groups: ['stewards', 'guests', 'system:authenticated'],
    });
    const claims = { aud: 'app', sub: '1', nick: 'ola', teams: ['blue'], site: 'here' };
    expect(await userOf(bearer(other.token(claims)))).toMatchObject({
      username: 'o:ola',
      groups: ['team:blue', 'system:authenticated'],
    });
    for (const wrong of [{ site: 'there' }, { aud: 'else' }, { exp: 1 }])
      expect(await userOf(bearer(other.token({ ...claims, ...wrong })))).toBeUndefined();
    expect(await userOf(bearer('known'))).toMatchObject({ username: 'of-the-webhook' });
    expect(await userOf(bearer('unknown'))).toBeUndefined();
    // The answer about a token is kept for the time of the flag.
    await userOf(bearer('known'));
    const asked = other.came.filter(({ path, body }) => path === '/token' && body.spec.token === 'known');
    expect(asked.map(({ body }) => body.spec.audiences)).toEqual([['ours', 'theirs']]);
  });

  it('name users by bootstrap tokens and by a proxy', async () => {
    await make('/api/v1/namespaces/kube-system/secrets', {
      metadata: { name: 'bootstrap-token-abcdef' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: {
        'token-id': 'abcdef',
        'token-secret': '0123456789abcdef',
        'usage-bootstrap-authentication': 'true',
      },
    });
    expect(await userOf(bearer('abcdef.0123456789abcdef'))).toMatchObject({
      username: 'system:bootstrap:abcdef',
    });
    const headers = { 'X-Who': 'petra', 'X-Uid': '9', 'X-Crowd': 'pilots', 'X-More-Color': 'red' };
    expect(await userOf({ ...plane.user('front'), headers })).toMatchObject({
      username: 'petra',
      uid: '9',
      groups: ['pilots', 'system:authenticated'],
      extra: { color: ['red'] },
    });
    // Another client of the same authority is not the proxy.
    expect(await userOf({ ...plane.user('back'), headers })).toMatchObject({ username: 'back' });
    const published = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
    expect(bodyOf(await plane.get(published, plane.admin)).data).toMatchObject({
      'requestheader-username-headers': '["X-Who"]',
      'requestheader-allowed-names': '["front"]',
    });
  });

  it('decide by roles, a policy file and a webhook in turn', async () => {
    expect(await codeOf(maps, bearer('static-token'))).toBe(200);
    expect(await codeOf('/api/v1/namespaces/default/secrets', bearer('static-token'))).toBe(403);
    expect(await codeOf(`${maps}/kube-root-ca.crt`, bearer('known'))).toBe(404);
    expect(await codeOf(maps, bearer('known'))).toBe(403);
    const reviews = () => other.came.filter(({ path }) => path === '/access').length;
    const before = reviews();
    expect(await codeOf(`${maps}/kube-root-ca.crt`, bearer('known'))).toBe(404);
    expect(await codeOf(maps, bearer('known'))).toBe(403);
    expect(reviews()).toBe(before);
  });

  it('choose what tokens of service accounts say, and whether their account must be there', async () => {
    const token = await tokenOf('robot');
    expect(claimsOf(token).aud).toEqual(['ours', 'theirs']);
    // Without the extension, tokens that pods usually ask for live as long as they say.
    const podToken = claimsOf(await tokenOf('robot', { expirationSeconds: 3607 }));
    expect(podToken.exp - podToken.iat).toBe(3607);
    expect(await userOf(bearer(token))).toMatchObject({ username: 'system:serviceaccount:default:robot' });
    // Tokens of the old form name a secret and an account, which need not be there.
    const account = 'kubernetes.io/serviceaccount';
    const claims = {
      iss: 'kubernetes/serviceaccount',
      sub: 'system:serviceaccount:default:gone',
      [`${account}/namespace`]: 'default',
      [`${account}/secret.name`]: 'gone-token',
      [`${account}/service-account.name`]: 'gone',
      [`${account}/service-account.uid`]: 'some-uid',
    };
    const text = [{ alg: 'ES256' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const key = readFileSync(`${plane.certDir}/sa-signer.key`, 'utf8');
    const signature = createSign('SHA256').update(text).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url');
    expect(await userOf(bearer(`${text}.${signature}`))).toMatchObject({ username: claims.sub });
  });
});

describe('configuration files', () => {
  beforeAll(async () => {
    await plane.startServer({
      'etcd-prefix': '/files',
      'authorization-mode': undefined,
      'disable-admission-plugins': undefined,
      'authentication-config': plane.write('authentication.json', {
        apiVersion: 'apiserver.config.k8s.io/v1beta1',
        kind: 'AuthenticationConfiguration',
        jwt: [
          {
            issuer: { url: other.url, audiences: ['app'], certificateAuthority: other.ca },
            claimMappings: { username: { expression: '"file:" + claims.nick' } },
          },
        ],
        anonymous: { enabled: true, conditions: [{ path: '/healthz' }] },
      }),
      'authorization-config': plane.write('authorization.json', {
        apiVersion: 'apiserver.config.k8s.io/v1beta1',
        kind: 'AuthorizationConfiguration',
        authorizers: [{ type: 'RBAC', name: 'roles' }],
      }),
      'admission-control': 'NamespaceLifecycle,PodSecurity',
      'admission-control-config-file': plane.write('admission.json', {
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'AdmissionConfiguration',
        plugins: [
          {
            name: 'PodSecurity',
            configuration: {
              apiVersion: 'pod-security.admission.config.k8s.io/v1',
              kind: 'PodSecurityConfiguration',
              defaults: { enforce: 'baseline' },
            },
          },
        ],
      }),
    });
  });

  it('decide who is let in, and where anybody is', async () => {
    expect([await codeOf('/healthz'), await codeOf('/version')]).toEqual([200, 401]);
    const token = other.token({ aud: 'app', sub: '1', nick: 'ola' });
    expect(await userOf(bearer(token))).toMatchObject({ username: 'file:ola' });
    expect(await codeOf(maps, bearer(token))).toBe(403);
  });

  it('decide which plugins look at pods, and how', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const containers = [{ name: 'c', image: 'i' }];
    const shared = await make(pods, { metadata: { name: 'p' }, spec: { hostPID: true, containers } });
    expect([shared?.code, shared?.text]).toEqual([403, expect.stringContaining('baseline')]);
    const made = bodyOf(await make(pods, { metadata: { name: 'p' }, spec: { containers } }));
    // Plugins that the list does not name have not touched it.
    expect(made.spec).not.toHaveProperty('tolerations');
    expect(made.spec).not.toHaveProperty('serviceAccountName');
  });
});
