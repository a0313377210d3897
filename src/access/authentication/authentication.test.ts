/** All methods together: the first that knows the user wins, and a wrong credential is never anonymous. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConfigMap } from '../../api/generated/types.ts';
import { ensureSystemNamespaces } from '../../registry/system/system-namespaces.ts';
import { optimized } from '../../switches.ts';
import { credentials, TestCluster } from './authentication.fixture.ts';
import type { Authentication } from './authentication.ts';
import type { AuthenticationOptions } from './authentication-options.ts';
import type { Credentials, PeerCertificate } from './authenticator.ts';
import { TestAuthority } from './certificates.fixture.ts';
import { type AuthenticationContext, makeAuthenticator } from './make-authenticator.ts';

const clients = new TestAuthority('clients');
const proxies = new TestAuthority('proxies');
const stranger = new TestAuthority('strangers');
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'authentication-'));
  await writeFile(path.join(folder, 'tokens.csv'), 'alice-token,alice,uid-alice,"dev,qa"\n');
  await writeFile(path.join(folder, 'proxies.crt'), proxies.pem);
});
afterAll(() => rm(folder, { recursive: true }));

let cluster: TestCluster;
let authentication: Authentication | undefined;
const warnings: string[] = [];
beforeEach(async () => {
  warnings.length = 0;
  cluster = await TestCluster.open();
  await ensureSystemNamespaces(cluster.writing);
});
afterEach(async () => {
  await authentication?.close();
  authentication = undefined;
  await cluster.close();
});

async function open(
  options: AuthenticationOptions = {},
  more: Partial<AuthenticationContext> = {},
): Promise<void> {
  authentication = await makeAuthenticator(
    { tokenAuthFile: path.join(folder, 'tokens.csv'), ...options },
    {
      registry: cluster.writing.registry,
      writing: cluster.writing,
      tokens: cluster.tokens,
      clients: { pem: () => clients.pem, follow: () => () => undefined },
      onError: (error) => {
        throw error;
      },
      onWarning: (message) => void warnings.push(message),
      ...more,
    },
  );
}

const frontProxy = () => ({ requestHeader: { clientCAFile: path.join(folder, 'proxies.crt') } });

const shows = (
  certificate: PeerCertificate | undefined,
  token?: string,
  more: [string, string][] = [],
): Credentials =>
  credentials([...more, ...(token === undefined ? [] : [['Authorization', `Bearer ${token}`] as const])], {
    certificate,
  });
const nameOf = async (shown: Credentials): Promise<string> =>
  (await authentication!.authenticate(shown)).name;
const frank = clients.client([['CN', 'frank']]);
const unknown = stranger.client([['CN', 'frank']]);
const nameless = clients.client([['O', 'dev']]);
const proxy = proxies.client([['CN', 'front-proxy']]);

describe('the first that knows the user wins', () => {
  it('and errors of others do not matter', async () => {
    await open();
    expect(await nameOf(shows(frank, 'alice-token'))).toBe('frank');
    expect(await nameOf(shows(frank, 'wrong'))).toBe('frank');
    expect(await nameOf(shows(unknown, 'alice-token'))).toBe('alice');
    expect(await nameOf(shows(nameless, 'alice-token'))).toBe('alice');
  });

  it('in the order proxy, certificate, token', async () => {
    await open(frontProxy());
    const gina: [string, string][] = [['X-Remote-User', 'gina']];
    expect(await nameOf(shows(proxy, 'alice-token', gina))).toBe('gina');
    expect(await nameOf(shows(frank, 'alice-token', gina))).toBe('frank');
    expect(await nameOf(shows(undefined, 'alice-token', gina))).toBe('alice');
    expect(await nameOf(shows(undefined, undefined, gina))).toBe('system:anonymous');
  });
});

describe('a request that nobody knows', () => {
  it('is anonymous only without credentials', async () => {
    await open();
    expect(await authentication!.authenticate(shows(undefined))).toEqual({
      name: 'system:anonymous',
      groups: ['system:unauthenticated'],
    });
    for (const wrong of [shows(undefined, 'wrong'), shows(unknown), shows(unknown, 'wrong'), shows(proxy)])
      await expect(async () => nameOf(wrong)).rejects.toThrow();
    expect(await nameOf(shows(undefined, undefined, [['Authorization', 'Basic YTpi']]))).toBe(
      'system:anonymous',
    );
  });

  it('with a certificate without a name is anonymous, or refused where there is a front proxy', async () => {
    await open();
    expect(await nameOf(shows(nameless))).toBe('system:anonymous');
    await authentication!.close();
    await open(frontProxy());
    await expect(async () => nameOf(shows(nameless))).rejects.toThrow('unknown authority');
  });

  it('is refused when anonymous access is off', async () => {
    await open({ anonymous: false });
    await expect(async () => nameOf(shows(undefined))).rejects.toThrow('no credentials');
  });

  it('is refused when everything is allowed, with a warning', async () => {
    await open({}, { allowsAll: () => true });
    await expect(async () => nameOf(shows(undefined))).rejects.toThrow('no credentials');
    expect(warnings).toEqual([expect.stringContaining('AlwaysAllow')]);
  });
});

describe('groups', () => {
  it('end with that of all who are known', async () => {
    await open();
    const alice = await authentication!.authenticate(shows(undefined, 'alice-token'));
    expect(alice.groups).toEqual(['dev', 'qa', 'system:authenticated']);
    // The same object with every request: others keep what they work out of it.
    const again = await authentication!.authenticate(shows(undefined, 'alice-token'));
    expect(again).toEqual(alice);
    if (optimized) expect(again).toBe(alice);
  });

  it('stay as they are when a proxy names the anonymous user', async () => {
    await open(frontProxy());
    const headers: [string, string][] = [
      ['X-Remote-User', 'system:anonymous'],
      ['X-Remote-Group', 'system:unauthenticated'],
    ];
    expect(await authentication!.authenticate(shows(proxy, undefined, headers))).toMatchObject({
      name: 'system:anonymous',
      groups: ['system:unauthenticated'],
    });
  });
});

describe('users of an embedding program', () => {
  it('are known by their tokens', async () => {
    await open({}, { users: [{ name: 'zoe', groups: ['g'], token: 'zoe-token' }, { name: 'none' }] });
    expect(await authentication!.authenticate(shows(undefined, 'zoe-token'))).toMatchObject({
      name: 'zoe',
      groups: ['g', 'system:authenticated'],
    });
    await expect(async () => nameOf(shows(undefined, 'undefined'))).rejects.toThrow();
  });
});

describe('options that cannot be used', () => {
  it('stop the start with a sentence', async () => {
    const nowhere = path.join(folder, 'nowhere');
    await expect(open({ tokenAuthFile: nowhere })).rejects.toThrow(
      `the token file ${nowhere} cannot be read (ENOENT)`,
    );
    await writeFile(path.join(folder, 'short.csv'), 'a,b\n');
    await expect(open({ tokenAuthFile: path.join(folder, 'short.csv') })).rejects.toThrow(
      'record 1 has 2 columns',
    );
    await expect(open({ requestHeader: { clientCAFile: nowhere } })).rejects.toThrow(
      'the authorities of front proxies',
    );
    await expect(open({ tokenWebhook: { configFile: nowhere } })).rejects.toThrow(
      'token webhook configuration',
    );
  });
});

describe('the ConfigMap for extension servers', () => {
  const published = () =>
    cluster.find<ConfigMap>('configmaps', 'kube-system', 'extension-apiserver-authentication')?.data;

  it('says how users are known, and follows changes', async () => {
    let pem = clients.pem;
    let changed = (): void => undefined;
    const follow = (call: () => void) => {
      changed = call;
      return () => undefined;
    };
    await open(frontProxy(), { publish: true, clients: { pem: () => pem, follow } });
    expect(published()).toEqual({
      'client-ca-file': clients.pem,
      'requestheader-client-ca-file': proxies.pem,
      'requestheader-allowed-names': '[]',
      'requestheader-username-headers': '["X-Remote-User"]',
      'requestheader-uid-headers': '[]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    });
    pem = stranger.pem;
    changed();
    await expect.poll(() => published()?.['client-ca-file']).toBe(stranger.pem);
    expect(await nameOf(shows(unknown))).toBe('frank');
    await expect(async () => nameOf(shows(frank))).rejects.toThrow('unknown authority');
  });

  it('has no keys for what is not configured', async () => {
    await open({}, { publish: true });
    expect(Object.keys(published() ?? {})).toEqual(['client-ca-file']);
  });
});
