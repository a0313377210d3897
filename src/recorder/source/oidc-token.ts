/**
 * Tokens of OpenID Connect, as kubeconfigs keep them (`auth-provider: oidc`): when the token expires, the issuer gives another
 * for the refresh token. The kubeconfig is not changed; what the issuer gave last is kept by the caller.
 */
import { request as plainRequest } from 'node:http';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { wallClock } from '../../clock.ts';

const answerBytesMax = 1024 * 1024;
const answerMaxMs = 30_000;

/** The `config` of the provider, all texts. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly idToken: string | undefined;
  readonly refreshToken: string | undefined;
  readonly ca: string | undefined;
}

export interface OidcTokens {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
}

/** When a token expires, in milliseconds; 0 for one that does not say so. */
export function expiryMs(token: string): number {
  try {
    const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
    const { exp } = JSON.parse(payload) as { exp?: unknown };
    return typeof exp === 'number' ? exp * 1_000 : 0;
  } catch {
    return 0;
  }
}

/** Asks the issuer for a new token. */
export async function refreshTokens(config: OidcConfig, refreshToken: string): Promise<OidcTokens> {
  const issuer = config.issuer.replace(/\/$/, '');
  const about = await ask(`${issuer}/.well-known/openid-configuration`, config.ca);
  const endpoint = about['token_endpoint'];
  if (typeof endpoint !== 'string') throw new Error(`the issuer ${config.issuer} names no token endpoint`);
  const form = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: config.clientId,
    ...(config.clientSecret ? { client_secret: config.clientSecret } : {}),
  });
  const answer = await ask(endpoint, config.ca, form.toString());
  const { id_token: idToken, refresh_token: next } = answer;
  if (typeof idToken !== 'string') throw new Error(`the issuer ${config.issuer} gave no id_token`);
  if (expiryMs(idToken) !== 0 && expiryMs(idToken) < wallClock())
    throw new Error(`the issuer ${config.issuer} gave a token that has expired`);
  return { idToken, refreshToken: typeof next === 'string' && next ? next : refreshToken };
}

async function ask(url: string, ca: string | undefined, form?: string): Promise<JsonObject> {
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw new Error(`${url} is no address of an issuer`);
  const { protocol } = new URL(url);
  const send = protocol === 'https:' ? process.getBuiltinModule('node:https').request : plainRequest;
  const { code, text } = await new Promise<{ code: number; text: string }>((resolve, reject) => {
    const sent = send(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: {
        Accept: 'application/json',
        ...(form === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }),
      },
      ...(ca ? { ca } : {}),
      signal: AbortSignal.timeout(answerMaxMs),
    });
    sent.on('error', reject).on('response', (answer) => {
      const chunks: Buffer[] = [];
      let length = 0;
      answer
        .on('data', (chunk: Buffer) => {
          length += chunk.length;
          if (length > answerBytesMax) sent.destroy(new Error('the answer of the issuer is too long'));
          chunks.push(chunk);
        })
        .on('error', reject)
        .on('end', () => resolve({ code: answer.statusCode!, text: Buffer.concat(chunks).toString('utf8') }));
    });
    sent.end(form);
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The code says enough.
  }
  if (code === 200 && isJsonObject(value)) return value;
  const why = isJsonObject(value) ? value['error_description'] || value['error'] : undefined;
  throw new Error(`${url} answered ${code}${typeof why === 'string' ? `: ${why.slice(0, 300)}` : ''}`);
}
