/** RSA certificates for tests, also with keys that no tool makes. */
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { signatureAlgorithm } from '../pki/certificate.ts';
import { bitString, octetString, oid, sequence, time, unsigned } from '../pki/der-writer.ts';
import { encodeSubject } from '../pki/distinguished-name.ts';
import { pem } from '../pki/pem.ts';

interface Numbers {
  readonly modulus: Buffer;
  readonly exponent: Buffer;
  /** The private exponent, the primes, what follows from them. */
  readonly secret: readonly Buffer[];
}

const odd = (bits: number): bigint => {
  const bytes = randomBytes(bits / 8);
  bytes[0]! |= 0xc0;
  bytes[bytes.length - 1]! |= 1;
  return BigInt(`0x${bytes.toString('hex')}`);
};

const bytesOf = (number: bigint): Buffer => {
  const digits = number.toString(16);
  return Buffer.from(digits.length % 2 ? `0${digits}` : digits, 'hex');
};

/** A key without true primes: to sign with it takes ten times as long, and what it signs is wrong. */
export function falseNumbers(bits: number): Numbers {
  const [p, q] = [odd(bits / 2), odd(bits / 2)];
  const [modulus, d] = [p * q, odd(bits) % (p * q)];
  const secret = [d, p, q, d % (p - 1n), d % (q - 1n), odd(bits / 2) % p].map(bytesOf);
  return { modulus: bytesOf(modulus), exponent: bytesOf(65_537n), secret };
}

export function trueNumbers(bits: number): Numbers {
  const jwk = generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export({ format: 'jwk' });
  const [modulus, exponent, ...secret] = (['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const).map((name) =>
    Buffer.from(jwk[name] as string, 'base64url'),
  );
  return { modulus: modulus!, exponent: exponent!, secret };
}

/** The certificate is not signed: a server shows it all the same. */
export function rsaCertificate(name: string, { modulus, exponent, secret }: Numbers) {
  const algorithm = sequence(oid('1.2.840.113549.1.1.1'), Buffer.from([5, 0]));
  const zero = unsigned(Buffer.from([0]));
  const [n, e] = [unsigned(modulus), unsigned(exponent)];
  const key = sequence(zero, algorithm, octetString(sequence(zero, n, e, ...secret.map(unsigned))));
  const publicKey = sequence(algorithm, bitString(sequence(n, e)));
  const signature = signatureAlgorithm(createPublicKey({ key: publicKey, format: 'der', type: 'spki' }));
  const subject = encodeSubject({ commonName: name, organizations: [] });
  const life = sequence(time(Date.UTC(2025, 0)), time(Date.UTC(2049, 0)));
  const body = sequence(unsigned(Buffer.from([1])), signature, subject, life, subject, publicKey);
  return {
    cert: pem('CERTIFICATE', sequence(body, signature, bitString(Buffer.alloc(64, 1)))),
    key: pem('PRIVATE KEY', key),
  };
}
