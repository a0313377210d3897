/** Nothing that says who a user is leaves the server with a request. */
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { removeIdentity } from './identity-removal.ts';

it('removes credentials, identities of proxies and impersonation, however they are written', () => {
  const rawHeaders = [
    ['Host', 'x'],
    ['AUTHORIZATION', 'Bearer t'],
    ['X-Remote-User', 'root'],
    ['x-remote-group', 'system:masters'],
    ['X-Remote-Extra-Scopes', 'a'],
    ['Impersonate-User', 'bob'],
    ['impersonate-group', 'a'],
    ['Impersonate-Group', 'b'],
    ['Impersonate-Extra-k', 'v'],
    ['X-Company-User', 'gina'],
    ['Accept', '*/*'],
  ];
  const request = {
    headers: Object.fromEntries(rawHeaders.map(([name, value]) => [name!.toLowerCase(), value])),
    rawHeaders: rawHeaders.flat(),
  } as unknown as IncomingMessage;
  removeIdentity(request, (name) => name === 'x-company-user');
  expect(request.headers).toEqual({ host: 'x', accept: '*/*' });
  expect(request.rawHeaders).toEqual(['Host', 'x', 'Accept', '*/*']);
});
