/** Keys of certificates, which come from users of the cluster: a handshake signs with them, in a turn of the event loop. */
import { createPrivateKey, type KeyObject, sign, verify, X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import { costlyKey } from '../pki/costly-key.ts';

/** A signature with a longer RSA key holds everybody up: with 8,192 bits for some 60 ms. */
const modulusBitsMax = 4_096;
const sample = Buffer.from('sample');
const signed = promisify(sign) as (digest: string, bytes: Buffer, key: KeyObject) => Promise<Buffer>;
const verified = promisify(verify) as (
  digest: string,
  bytes: Buffer,
  key: KeyObject,
  signature: Buffer,
) => Promise<boolean>;

/** What is wrong with the key of a certificate, as far as it can be seen; undefined: nothing. */
export function keyProblem(cert: string): string | undefined {
  const { publicKey } = new X509Certificate(cert);
  const { modulusLength = 0 } = publicKey.asymmetricKeyDetails ?? {};
  if (modulusLength > modulusBitsMax) return `its RSA key has more than ${modulusBitsMax} bits`;
  return costlyKey(publicKey);
}

/**
 * Signs with an RSA key once, beside the event loop. One without true primes takes ten times as long as an honest one,
 * and its signature is wrong. Undefined: keys of this type all take the same time.
 */
export function keyTrial(cert: string, key: string): Promise<string | undefined> | undefined {
  const { publicKey } = new X509Certificate(cert);
  if (!publicKey.asymmetricKeyType?.startsWith('rsa')) return undefined;
  return signed('sha256', sample, createPrivateKey(key))
    .then((signature) => verified('sha256', sample, publicKey, signature))
    .then(
      (isRight) => (isRight ? undefined : 'what its key signs is wrong'),
      () => 'its key does not sign',
    );
}
