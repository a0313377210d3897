/** The settings of service account tokens, from options: key files are read, values are checked. */

import { readTextFile } from '../shared/text-file.ts';
import { defaultTokenSettings, type TokenSettings } from '../tokens/tokens.ts';
import type { AuthenticationOptions } from './authentication-options.ts';

const pemBlock = /-----BEGIN ([A-Z ]+)-----[\s\S]*?-----END \1-----/g;

/** Kubernetes' bounds for the longest life of a token. */
const maxSecondsMin = 3600;
const maxSecondsMax = 2 ** 32;

/** Rejects with a sentence when a file cannot be read or a value is invalid. */
export async function readTokenSettings({
  serviceAccounts = {},
  apiAudiences,
}: AuthenticationOptions): Promise<TokenSettings> {
  const { signingKeyFile, keyFiles = [], maxTokenExpirationSeconds: seconds } = serviceAccounts;
  const issuers = serviceAccounts.issuers?.length ? serviceAccounts.issuers : defaultTokenSettings.issuers;
  for (const issuer of issuers)
    if (issuer === '' || (issuer.includes(':') && !URL.canParse(issuer)))
      throw new Error(`the service account issuer ${JSON.stringify(issuer)} is not a URL or a name`);
  if (seconds !== undefined && !(seconds >= maxSecondsMin && seconds <= maxSecondsMax))
    throw new Error('the longest life of service account tokens must be between 1 hour and 2^32 seconds');
  const [signing] = signingKeyFile === undefined ? [] : await keysIn(signingKeyFile);
  const verification = (await Promise.all(keyFiles.map(keysIn))).flat();
  return {
    issuers,
    audiences: apiAudiences?.length ? apiAudiences : issuers,
    keys: signing !== undefined || verification.length ? { signing, verification } : undefined,
    keyType: 'rsa',
    extendExpiration: serviceAccounts.extendTokenExpiration ?? true,
    expirationMaxSeconds: seconds,
    keysUrl: serviceAccounts.jwksUri,
  };
}

/** The keys of a file, without the curve parameters that OpenSSL writes beside them. */
async function keysIn(file: string): Promise<string[]> {
  const text = await readTextFile(file, 'key file');
  const keys = (text.match(pemBlock) ?? []).filter((block) => !block.startsWith('-----BEGIN EC PARAMETERS'));
  if (keys.length === 0) throw new Error(`the key file ${file} holds no key`);
  return keys;
}
