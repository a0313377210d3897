/** Proves which requests count as those of pages of other sites. */
import { expect, it } from 'vitest';
import { isForeignPage } from './foreign-page.ts';

it.each<[string, Record<string, string>, boolean]>([
  ['a client that is no browser', { host: 'api.example:6443' }, false],
  ['a page of the server', { host: 'api.example:6443', 'sec-fetch-site': 'same-origin' }, false],
  ['an address that was typed', { host: 'api.example:6443', 'sec-fetch-site': 'none' }, false],
  ['a page of another site', { host: 'api.example:6443', 'sec-fetch-site': 'cross-site' }, true],
  ['a page of another port', { host: 'api.example:6443', 'sec-fetch-site': 'same-site' }, true],
  ['an unknown word', { host: 'api.example:6443', 'sec-fetch-site': 'x' }, true],
  ['an origin of the server', { host: 'api.example:6443', origin: 'https://api.example:6443' }, false],
  ['the usual port', { host: 'api.example', origin: 'https://api.example:443' }, false],
  ['a local proxy', { host: 'api.example:6443', origin: 'http://localhost:8001' }, false],
  ['an origin of another site', { host: 'api.example:6443', origin: 'https://evil.example' }, true],
  ['an origin of another port', { host: 'api.example:6443', origin: 'https://api.example:8443' }, true],
  ['a sandboxed page', { host: 'api.example:6443', origin: 'null' }, true],
])('%s', (_name, headers, isForeign) => expect(isForeignPage(headers)).toBe(isForeign));
