/**
 * Proves that the cipher is NaCl's, by the example of its author, that it notices every change, and that it reads and
 * writes what Wherry's own code for it wrote before a library took its place.
 */
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeCipher } from './cipher.ts';
import { openSecretbox } from './secretbox.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

const key = bytes('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389');
const nonce = bytes('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37');
const plain = bytes(
  'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705',
);
const box = bytes(
  'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
);

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

/** Boxes of texts of these lengths, written before. */
const boxesBefore: readonly (readonly [number, string])[] = [
  [0, '24d57f1fc7e6cce2e62cd961e164bd1d'],
  [1, '46798ca5b570baef327078326a458b323d'],
  [15, 'cc2704349bfee540f49fa43c8acbab5d92010553320ecca644bcdfcf4db752'],
  [16, '5e19c08358be7d64ebbeccc3b2a3e472677be4ae829d6e8641bcc33932a7f90a'],
  [17, 'a6af996ca34707525a52055114167563de168ec3dc51f6294925e774bba96f159b'],
  [31, '6f137c0f31e9f9d7de25a723810511e588453370d678675187bd55cc9a0cbeee2e9ce0afe4d9642aead3d23d161c9d'],
  [32, 'f805519d7f0fddd970812894a299afd1d073f2570803b979dbe9042b050ee882f6dd2a2db125d7b017dd9383eb01adc1'],
  [33, '98b3bdb20beb7a771fc6a832941946ed1ea813459561ee11880f072323f37c8bdef19cf98d156366d27c443fa524e4a9b6'],
  [
    63,
    'b23f863f48d1c39b08a0d9c280c74c8bf47c5db5ccdb80d6312877a273e47deb807aa6a5940fc652f6d04ba35ee2f9a3bc9d444c92d8ebbfb9a827eea373b27f886f3ef1956653a802af225bab0caf',
  ],
  [
    64,
    'cb1018eb7e4c64538ee88b382de3810d37b64773b968bf54e09cbf8756e8198f0d849e1a18dace6e36442d0620ba9754bfe50e89eb188d5912b678bb09e94b0238c17e2792554b7384f06bd94199e46e',
  ],
  [
    65,
    'c17b836c2b17205d84e0426a4ca2f968472020390210bf8646b38faca10b758e9f2671d77bd61bdebc06c425abb4f89c224ad2981ada8fcbc1c41c289c2aac24adbd6cfa6a3afff9349cfed5dce580abee',
  ],
];

/** Lengths of longer values, and the SHA-256 of what they were sealed to. */
const digestsBefore: readonly (readonly [number, string])[] = [
  [127, '5b7abc5eabd5e2bdab3be210764859cd78f154d3c803ab205bf50e1c2cea3bab'],
  [128, '7f5cd3101958d82bb678001dee8343f17b4a25414819b2fe05f0816e46d715dd'],
  [129, 'b89074da6204f183a9149b7c32d98ce3b5f877ea8490bf60bfc6d9d1c4177eb9'],
  [1000, '2e834c096f02c6a6f439ffa56cc9618314d599df5b02b74b24bba20ab3b3b569'],
  [70000, 'de91ff015d31e4c37f95cfcfd67f944633190a64df0aececde811f7cc4c479af'],
];

/** A stored value, written before. */
const storedBefore =
  'azhzOmVuYzpzZWNyZXRib3g6djE6b25lOoewTliWH5qZ2FPUBGoLW3k+fD5LvSH1rJjJnxp9qboIem7hyPQnq5BqRny7DJQLtQ82U5MyfikbdJ9AY2ovx++UDi1eTFSJ6Ayi3zPnWi3FCg==';

describe('secretbox', () => {
  it('is that of NaCl', async () => {
    const cipher = await openSecretbox(key);
    expect(cipher.seal(plain, nonce)).toEqual(box);
    expect(cipher.open(box, nonce)).toEqual(plain);
  });

  it('opens what it sealed, of any length and at any place in memory', async () => {
    const memory = randomBytes(32 + 24 + 3 + 5000);
    const cipher = await openSecretbox(memory.subarray(1, 33));
    const ownNonce = memory.subarray(35, 59);
    for (const length of [0, 1, 15, 16, 31, 32, 33, 64, 1000, 5000]) {
      const text = memory.subarray(59, 59 + length);
      const sealed = Buffer.concat([Buffer.alloc(3), cipher.seal(text, ownNonce)]).subarray(3);
      expect(cipher.open(sealed, ownNonce)).toEqual(text);
    }
  });

  it('does not open what was changed', async () => {
    const cipher = await openSecretbox(key);
    for (const at of [0, 15, 16, box.length - 1]) {
      const changed = Buffer.from(box);
      changed[at]! ^= 1;
      expect(cipher.open(changed, nonce)).toBeUndefined();
    }
    expect(cipher.open(box.subarray(0, 10), nonce)).toBeUndefined();
    expect(cipher.open(box.subarray(0, box.length - 1), nonce)).toBeUndefined();
    expect(cipher.open(box, randomBytes(24))).toBeUndefined();
    expect((await openSecretbox(randomBytes(32))).open(box, nonce)).toBeUndefined();
  });
});

describe('what was written before', () => {
  const textOf = (length: number): Buffer =>
    Buffer.from(Array.from({ length }, (_, i) => (i * 7 + length) & 255));
  const nonceOf = (length: number): Buffer => sha256(`nonce ${length}`).subarray(0, 24);

  it('is read, and would be written the same today', async () => {
    const cipher = await openSecretbox(sha256('key'));
    for (const [length, hex] of boxesBefore) {
      expect(cipher.open(bytes(hex), nonceOf(length))).toEqual(textOf(length));
      expect(cipher.seal(textOf(length), nonceOf(length)).toString('hex')).toBe(hex);
    }
    for (const [length, digest] of digestsBefore)
      expect(sha256(cipher.seal(textOf(length), nonceOf(length))).toString('hex')).toBe(digest);
  });

  it('has the same form in the store', async () => {
    const cipher = await makeCipher('secretbox', 'one', sha256('key'));
    const stored = Buffer.from(storedBefore, 'base64');
    expect(stored.subarray(0, cipher.prefix.length)).toEqual(cipher.prefix);
    const path = Buffer.from('/registry/core/secrets/ns/s');
    const text = '{"kind":"Secret","data":{"a":"aHVzaA=="}}';
    expect(cipher.open(stored.subarray(cipher.prefix.length), path).toString()).toBe(text);
    expect(cipher.seal(Buffer.from(text), path)).toHaveLength(stored.length - cipher.prefix.length);
    expect(() => cipher.open(stored.subarray(cipher.prefix.length, cipher.prefix.length + 20), path)).toThrow(
      'it was sealed with another key',
    );
  });
});
