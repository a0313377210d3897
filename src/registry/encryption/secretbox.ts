/**
 * XSalsa20-Poly1305, the cipher that NaCl calls secretbox. Node has ChaCha20 and no Salsa20, so it is written out here,
 * after the papers of its author (Bernstein: "Extending the Salsa20 nonce", "The Poly1305-AES message-authentication code").
 */
import { timingSafeEqual } from 'node:crypto';

export const secretboxKeyBytes = 32;
export const secretboxNonceBytes = 24;
const tagBytes = 16;
const blockBytes = 64;

/** "expand 32-byte k", in words. */
const constants = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const;

/** Tag and ciphertext. */
export function sealBox(plain: Buffer, nonce: Buffer, key: Buffer): Buffer {
  const stream = keyStream(plain.length, nonce, key);
  const box = Buffer.allocUnsafe(tagBytes + plain.length);
  for (let i = 0; i < plain.length; i++) box[tagBytes + i] = plain[i]! ^ stream[32 + i]!;
  tagOf(box.subarray(tagBytes), stream.subarray(0, 32)).copy(box);
  return box;
}

/** undefined: it was not sealed with this key and nonce. */
export function openBox(box: Buffer, nonce: Buffer, key: Buffer): Buffer | undefined {
  if (box.length < tagBytes) return undefined;
  const sealed = box.subarray(tagBytes);
  const stream = keyStream(sealed.length, nonce, key);
  if (!timingSafeEqual(tagOf(sealed, stream.subarray(0, 32)), box.subarray(0, tagBytes))) return undefined;
  const plain = Buffer.allocUnsafe(sealed.length);
  for (let i = 0; i < sealed.length; i++) plain[i] = sealed[i]! ^ stream[32 + i]!;
  return plain;
}

/** The first 32 bytes are the key of the tag, the rest is for the text. */
function keyStream(length: number, nonce: Buffer, key: Buffer): Buffer {
  const inner = derivedKey(key, nonce);
  const stream = Buffer.allocUnsafe(Math.ceil((32 + length) / blockBytes) * blockBytes);
  const input = state(inner, nonce.subarray(16), 0);
  const words = new Uint32Array(16);
  for (let block = 0; block * blockBytes < stream.length; block++) {
    input[8] = block >>> 0;
    mix(input, words);
    for (let i = 0; i < 16; i++)
      stream.writeUInt32LE((words[i]! + input[i]!) >>> 0, block * blockBytes + i * 4);
  }
  return stream;
}

/** HSalsa20: a key for the first 16 bytes of the nonce. */
function derivedKey(key: Buffer, nonce: Buffer): Buffer {
  const input = state(key, nonce, nonce.readUInt32LE(8));
  input[9] = nonce.readUInt32LE(12);
  const words = new Uint32Array(16);
  mix(input, words);
  const derived = Buffer.allocUnsafe(secretboxKeyBytes);
  for (const [i, at] of [0, 5, 10, 15, 6, 7, 8, 9].entries()) derived.writeUInt32LE(words[at]!, i * 4);
  return derived;
}

/** The square of words that Salsa20 mixes: constants on the diagonal, key, nonce, and a counter or more of the nonce. */
function state(key: Buffer, nonce: Buffer, counter: number): Uint32Array {
  const words = new Uint32Array(16);
  for (let i = 0; i < 4; i++) {
    words[i * 5] = constants[i]!;
    words[1 + i] = key.readUInt32LE(i * 4);
    words[11 + i] = key.readUInt32LE(16 + i * 4);
  }
  words[6] = nonce.readUInt32LE(0);
  words[7] = nonce.readUInt32LE(4);
  words[8] = counter;
  return words;
}

/** Rows of the square after its columns, ten times. */
const columns = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
] as const;
const rows = [
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const;
const quarters = [...columns, ...rows];

function mix(input: Uint32Array, words: Uint32Array): void {
  words.set(input);
  for (let round = 0; round < 10; round++) {
    for (const [a, b, c, d] of quarters) {
      words[b]! ^= rotated(words[a]! + words[d]!, 7);
      words[c]! ^= rotated(words[b]! + words[a]!, 9);
      words[d]! ^= rotated(words[c]! + words[b]!, 13);
      words[a]! ^= rotated(words[d]! + words[c]!, 18);
    }
  }
}

const rotated = (sum: number, bits: number): number => (sum << bits) | ((sum >>> 0) >>> (32 - bits));

const prime = (1n << 130n) - 5n;
const clamp = 0x0ffffffc0ffffffc0ffffffc0fffffffn;

/** Poly1305. */
function tagOf(text: Buffer, key: Buffer): Buffer {
  const r = littleEndian(key.subarray(0, 16)) & clamp;
  let sum = 0n;
  for (let at = 0; at < text.length; at += 16) {
    const block = text.subarray(at, at + 16);
    sum = ((sum + littleEndian(block) + (1n << BigInt(block.length * 8))) * r) % prime;
  }
  const tag = (sum + littleEndian(key.subarray(16, 32))) & ((1n << 128n) - 1n);
  return Buffer.from(tag.toString(16).padStart(32, '0'), 'hex').reverse();
}

function littleEndian(bytes: Buffer): bigint {
  if (bytes.length === 16) return bytes.readBigUInt64LE(0) | (bytes.readBigUInt64LE(8) << 64n);
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}
