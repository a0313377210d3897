/**
 * XSalsa20-Poly1305, the cipher that NaCl calls secretbox. Node's OpenSSL lacks it, so it comes from `@noble/ciphers`, which
 * was reviewed by an independent firm. The package is loaded when a configuration names the cipher.
 */

export const secretboxKeyBytes = 32;
export const secretboxNonceBytes = 24;
const tagBytes = 16;

export interface Secretbox {
  /** Tag and ciphertext. */
  seal(plain: Buffer, nonce: Buffer): Buffer;
  /** Decrypts; undefined when it was not encrypted with this key and nonce. */
  open(box: Buffer, nonce: Buffer): Buffer | undefined;
}

export async function openSecretbox(key: Buffer): Promise<Secretbox> {
  const { xsalsa20poly1305 } = await import('@noble/ciphers/salsa.js');
  return {
    seal: (plain, nonce) => bufferOf(xsalsa20poly1305(key, nonce).encrypt(plain)),
    open(box, nonce) {
      if (box.length < tagBytes) return undefined;
      try {
        return bufferOf(xsalsa20poly1305(key, nonce).decrypt(box));
      } catch {
        return undefined;
      }
    },
  };
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
