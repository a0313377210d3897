/**
 * Ciphers for stored values. An encrypted value is `k8s:enc:<cipher>:v1:<key name>:` followed by bytes, as Kubernetes
 * writes it, so the value names its key.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { openSecretbox, secretboxKeyBytes, secretboxNonceBytes } from './secretbox.ts';

export const cipherNames = ['aesgcm', 'aescbc', 'secretbox'] as const;
export type CipherName = (typeof cipherNames)[number];

/** One key of one cipher. */
export interface ValueCipher {
  readonly name: CipherName;
  readonly keyName: string;
  /** The prefix of values encrypted with this key. */
  readonly prefix: Buffer;
  /** Encrypts. @param path of the value in the store: moved to another path, it cannot be decrypted */
  seal(plain: Buffer, path: Buffer): Buffer;
  /** Decrypts. Throws when the value was encrypted with another key, or changed. */
  open(sealed: Buffer, path: Buffer): Buffer;
}

const aesKeyBytes = [16, 24, 32];
const gcmNonceBytes = 12;
const gcmTagBytes = 16;
const cbcBlockBytes = 16;

/** Lengths that a key of a cipher may have. */
export const keyLengths = (name: CipherName): readonly number[] =>
  name === 'secretbox' ? [secretboxKeyBytes] : aesKeyBytes;

export async function makeCipher(name: CipherName, keyName: string, key: Buffer): Promise<ValueCipher> {
  return {
    name,
    keyName,
    prefix: Buffer.from(`k8s:enc:${name}:v1:${keyName}:`),
    ...(await operations[name](key)),
  };
}

type Operations = Pick<ValueCipher, 'seal' | 'open'>;

const operations: Readonly<Record<CipherName, (key: Buffer) => Operations | Promise<Operations>>> = {
  aesgcm: (key) => {
    const algorithm = `aes-${key.length * 8}-gcm` as 'aes-256-gcm';
    return {
      seal(plain, path) {
        const nonce = randomBytes(gcmNonceBytes);
        const cipher = createCipheriv(algorithm, key, nonce).setAAD(path);
        return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      },
      open(sealed, path) {
        if (sealed.length < gcmNonceBytes + gcmTagBytes) throw new Error('it is too short');
        const end = sealed.length - gcmTagBytes;
        const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, gcmNonceBytes))
          .setAAD(path)
          .setAuthTag(sealed.subarray(end));
        return Buffer.concat([decipher.update(sealed.subarray(gcmNonceBytes, end)), decipher.final()]);
      },
    };
  },
  aescbc: (key) => {
    const algorithm = `aes-${key.length * 8}-cbc`;
    return {
      seal(plain) {
        const start = randomBytes(cbcBlockBytes);
        const cipher = createCipheriv(algorithm, key, start);
        return Buffer.concat([start, cipher.update(plain), cipher.final()]);
      },
      open(sealed) {
        if (sealed.length < 2 * cbcBlockBytes) throw new Error('it is too short');
        const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, cbcBlockBytes));
        return Buffer.concat([decipher.update(sealed.subarray(cbcBlockBytes)), decipher.final()]);
      },
    };
  },
  secretbox: async (key) => {
    const box = await openSecretbox(key);
    return {
      seal(plain) {
        const nonce = randomBytes(secretboxNonceBytes);
        return Buffer.concat([nonce, box.seal(plain, nonce)]);
      },
      open(sealed) {
        const nonce = sealed.subarray(0, secretboxNonceBytes);
        const plain =
          nonce.length === secretboxNonceBytes
            ? box.open(sealed.subarray(secretboxNonceBytes), nonce)
            : undefined;
        if (!plain) throw new Error('it was sealed with another key');
        return plain;
      },
    };
  },
};
