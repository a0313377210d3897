/** Heads of requests: headers, parameters, selectors and paths. */
import { core, headers, type ListInput, many, url } from './shapes.ts';

export const heads: readonly ListInput[] = [
  headers('headers', 5_000, (n) => many(n, (i) => [`x-h${i}`, 'v']).flat()),
  headers('headers of one name', 5_000, (n) => many(n, () => ['x-h', 'v']).flat()),
  headers('impersonated groups', 5_000, (n) => [
    'impersonate-user',
    'a',
    ...many(n, (i) => ['impersonate-group', `g${i}`]).flat(),
  ]),
  headers('impersonated extra', 5_000, (n) => [
    'impersonate-user',
    'a',
    ...many(n, (i) => [`impersonate-extra-k${i}`, 'v']).flat(),
  ]),
  headers('impersonated extra of one key', 5_000, (n) => [
    'impersonate-user',
    'a',
    ...many(n, () => ['impersonate-extra-k', 'v']).flat(),
  ]),
  headers('accepted types', 4_000, (n) => ['accept', many(n, (i) => `application/x${i};q=0.5`).join(',')]),
  headers('accepted encodings', 8_000, (n) => ['accept-encoding', many(n, (i) => `x${i};q=0`).join(',')]),
  headers('blanks in a header', 50_000, (n) => ['accept-encoding', `gzip${' '.repeat(n)}x`]),
  headers('blanks in a length', 20_000, (n) => ['content-length', `1${' '.repeat(n)}2`]),
  headers('blanks in a host', 20_000, (n) => ['host', `a${' '.repeat(n)}b:1`]),
  headers('colons in a host', 20_000, (n) => ['host', ':1'.repeat(n)]),
  headers('blanks in a type', 20_000, (n) => ['content-type', `a${' ;'.repeat(n)}b`]),
  headers('blanks among accepted types', 20_000, (n) => [
    'accept',
    `text/html${' '.repeat(n)}x,${' '.repeat(n)}x`,
  ]),
  headers('tags', 20_000, (n) => ['if-none-match', 'W/"a", '.repeat(n)]),
  headers('cookies', 8_000, (n) => ['cookie', many(n, (i) => `a${i}=b`).join('; ')]),
  url('query parameters', 10_000, (n) => `${core}/configmaps?${many(n, (i) => `p${i}=v`).join('&')}`),
  url(
    'query parameters of one name',
    10_000,
    (n) => `${core}/configmaps?${many(n, () => 'labelSelector=a').join('&')}`,
  ),
  url(
    'terms of a label selector',
    8_000,
    (n) => `${core}/configmaps?labelSelector=${many(n, (i) => `l${i}=v`).join(',')}`,
  ),
  url(
    'values of a label selector',
    10_000,
    (n) => `${core}/configmaps?labelSelector=a+in+(${many(n, (i) => `v${i}`).join(',')})`,
  ),
  url(
    'terms of a field selector',
    5_000,
    (n) => `${core}/configmaps?fieldSelector=${many(n, () => 'metadata.name=a').join(',')}`,
  ),
  url('path segments', 50_000, (n) => `/api/v1${'/a'.repeat(n)}`),
  url('dots in a path', 20_000, (n) => `/api/v1/namespaces/${'../'.repeat(n)}`),
];
