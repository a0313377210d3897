/**
 * Discovery documents of the issuer of service account tokens: its name and its public keys. With them another server
 * can verify tokens without asking this one.
 */

import type { TokenKey } from '../../access/tokens/token-keys.ts';
import type { Tokens } from '../../access/tokens/tokens.ts';
import { methodNotAllowed } from '../../api/errors/errors.ts';
import type { Endpoints, Service } from '../../api/generated/types.ts';
import type { Registry } from '../../registry/registry.ts';
import { hostPort } from '../../streams/dial/net-error.ts';
import { apiHeaders } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';

export const issuerPath = '/.well-known/openid-configuration';
export const keysPath = '/openid/v1/jwks';

/** The names of the service `kubernetes`, as pods resolve them. */
const serviceName = /^kubernetes(\.default(\.svc(\.[a-z0-9.-]+)?)?)?$/;

/** Keys seldom change. */
const caching = { 'Cache-Control': 'public, max-age=3600' } as const;

/** Answers requests for these documents; returns false for other paths. */
export async function answerIssuer(
  context: RequestContext,
  tokens: Tokens,
  registry: Registry,
): Promise<boolean> {
  const { path, method } = context.info;
  if (path !== issuerPath && path !== keysPath) return false;
  if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed();
  const keys = await tokens.publicKeys();
  if (path === keysPath) answer(context, 'application/jwk-set+json', { keys: keys.map(webKey) });
  else answer(context, 'application/json', configuration(tokens, keys, reachedUrl(context, registry)));
  return true;
}

const configuration = ({ settings }: Tokens, keys: readonly TokenKey[], url: string): object => ({
  issuer: settings.issuers[0],
  jwks_uri: settings.keysUrl ?? `${url}${keysPath}`,
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [...new Set(keys.map(({ algorithm }) => algorithm))],
});

/**
 * The URL by which the client reaches this server. A pod uses the service `kubernetes`, by its address or its names,
 * and may have no other way. A door that listens at all addresses has no address to dial, so its URL is taken from the
 * endpoints of that service.
 */
function reachedUrl({ door, request }: RequestContext, { view }: Registry): string {
  const service = view.collection('core/services').get('default', 'kubernetes')?.peek() as
    | Service
    | undefined;
  const { hostname, port } = URL.canParse(`https://${request.headers.host}`)
    ? new URL(`https://${request.headers.host}`)
    : { hostname: '', port: '' };
  const isService =
    serviceName.test(hostname) || service?.spec?.clusterIPs?.includes(hostname.replace(/^\[|\]$/g, ''));
  if (isService && door.url.startsWith('https:')) return `https://${hostname}${port ? `:${port}` : ''}`;
  const { hostname: own } = new URL(door.url);
  if (own !== '0.0.0.0' && own !== '[::]') return door.url;
  const endpoints = view.collection('core/endpoints').get('default', 'kubernetes')?.peek() as
    | Endpoints
    | undefined;
  const { addresses, ports } = endpoints?.subsets?.[0] ?? {};
  const ip = addresses?.[0]?.ip;
  return ip === undefined ? door.url : `https://${hostPort(ip, ports?.[0]?.port ?? 443)}`;
}

function webKey({ key, kid, algorithm }: TokenKey): object {
  const { kty, ...parts } = key.export({ format: 'jwk' });
  return { use: 'sig', kty, kid, alg: algorithm, ...parts };
}

function answer(context: RequestContext, contentType: string, document: object): void {
  const text = Buffer.from(JSON.stringify(document));
  context.response.writeHead(200, {
    ...apiHeaders(context, contentType),
    ...caching,
    'Content-Length': String(text.length),
  });
  context.response.end(context.info.method === 'HEAD' ? undefined : text);
}
