/** Proves which issuers are trusted by the authority that options and configurations name: who signed, by key and not by name. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authority, makeAuthority, servingUsages } from '../../pki/authority.ts';
import { OidcIssuer } from './oidc-issuer.ts';

const now = Date.now();
const [signer, stranger] = [1, 2].map(() => new Authority(makeAuthority('one name', now)));
const serving = signer!.issue(
  { subject: { commonName: 'one name' }, usages: servingUsages, hosts: ['localhost'], lifeMs: 3_600_000 },
  now,
);
let url: string;
const server = createServer(serving, (request, response) =>
  response.end(
    JSON.stringify(request.url === '/keys' ? { keys: [] } : { issuer: url, jwks_uri: `${url}/keys` }),
  ),
).on('tlsClientError', () => undefined);

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `https://localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

async function asked({ pem }: Authority): Promise<{ hasKeys: boolean; errors: string[] }> {
  const errors: string[] = [];
  const issuer = new OidcIssuer({
    url,
    certificateAuthority: pem.cert,
    nowMs: () => now,
    onError: ({ message }) => void errors.push(message),
  });
  const hasKeys = (await issuer.keys()) !== undefined;
  issuer.close();
  return { hasKeys, errors };
}

it('trusts an issuer whose certificate has the same subject as its authority', async () => {
  expect(await asked(signer!)).toEqual({ hasKeys: true, errors: [] });
});

it('trusts no issuer that another authority of that name signed', async () => {
  expect(await asked(stranger!)).toEqual({
    hasKeys: false,
    errors: [expect.stringContaining('cannot be fetched')],
  });
});
