/** Key pairs on the curve P-256: small, quick to make, and known to every client. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export const newKeyPair = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Throws when the text is not a private key. */
export function keyPairOf(privatePem: string): KeyPair {
  const privateKey = createPrivateKey(privatePem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

export const privatePem = ({ privateKey }: KeyPair): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

/** DER SubjectPublicKeyInfo. */
export const publicDer = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
