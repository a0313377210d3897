/**
 * Documents of the issuer of service account tokens: who signs them, and with which keys. With them another server can check
 * tokens without asking this one.
 */

import type { TokenKey } from '../../access/tokens/token-keys.ts';
import type { Tokens } from '../../access/tokens/tokens.ts';
import { methodNotAllowed } from '../../api/errors/errors.ts';
import { apiHeaders } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';

export const issuerPath = '/.well-known/openid-configuration';
export const keysPath = '/openid/v1/jwks';

/** Keys seldom change. */
const caching = { 'Cache-Control': 'public, max-age=3600' } as const;

/** False when the path is of another page. */
export async function answerIssuer(context: RequestContext, tokens: Tokens): Promise<boolean> {
  const { path, method } = context.info;
  if (path !== issuerPath && path !== keysPath) return false;
  if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed();
  const keys = await tokens.publicKeys();
  if (path === keysPath) answer(context, 'application/jwk-set+json', { keys: keys.map(webKey) });
  else answer(context, 'application/json', configuration(context, tokens, keys));
  return true;
}

const configuration = (
  { door }: RequestContext,
  { settings }: Tokens,
  keys: readonly TokenKey[],
): object => ({
  issuer: settings.issuers[0],
  jwks_uri: settings.keysUrl ?? `${door.url}${keysPath}`,
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [...new Set(keys.map(({ algorithm }) => algorithm))],
});

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
