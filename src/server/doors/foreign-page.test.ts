/** Proves which requests count as those of pages of other sites and ports. */
import { expect, it } from 'vitest';
import { isForeignPage } from './foreign-page.ts';

/** As a proxy adds it, and no page can. */
const proxied = { 'x-forwarded-for': '127.0.0.1' };

it.each<[string, Record<string, string>, boolean]>([
  ['a client that is no browser', { host: 'api.example:6443' }, false],
  ['a page of the server', { host: 'api.example:6443', 'sec-fetch-site': 'same-origin' }, false],
  ['an address that was typed', { host: 'api.example:6443', 'sec-fetch-site': 'none' }, false],
  ['a page of another site', { host: 'api.example:6443', 'sec-fetch-site': 'cross-site' }, true],
  ['a page of another port', { host: 'api.example:6443', 'sec-fetch-site': 'same-site' }, true],
  ['an unknown word', { host: 'api.example:6443', 'sec-fetch-site': 'x' }, true],
  ['an origin of the server', { host: 'api.example:6443', origin: 'https://api.example:6443' }, false],
  ['the usual port', { host: 'api.example', origin: 'https://api.example:443' }, false],
  ['a local page', { host: 'localhost:6443', origin: 'http://localhost:8001' }, true],
  ['another name of this machine', { host: '127.0.0.1:6443', origin: 'http://localhost:6443' }, true],
  ['a local proxy', { ...proxied, host: 'api.example:6443', origin: 'http://localhost:8001' }, false],
  ['a proxied page of another site', { ...proxied, host: 'x:1', origin: 'http://evil.example:8001' }, true],
  ['a page of another port', { ...proxied, host: 'localhost:6443', 'sec-fetch-site': 'same-site' }, true],
  ['an origin of another site', { host: 'api.example:6443', origin: 'https://evil.example' }, true],
  ['an origin of another port', { host: 'api.example:6443', origin: 'https://api.example:8443' }, true],
  ['a sandboxed page', { host: 'api.example:6443', origin: 'null' }, true],
])('%s', (_name, headers, isForeign) => expect(isForeignPage(headers)).toBe(isForeign));
