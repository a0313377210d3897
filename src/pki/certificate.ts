/** Certificates: X.509, version 3, put together and signed. */
import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto';
import { type AlternativeNames, encodeNames, isEmpty } from './alternative-names.ts';
import { DerReader } from './der-reader.ts';
import {
  bitString,
  boolean,
  explicit,
  implicit,
  octetString,
  oid,
  sequence,
  tagged,
  time,
  unsigned,
} from './der-writer.ts';
import { splitUsages } from './usages.ts';

export interface CertificatePlan {
  /** DER of the names of issuer and subject. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  /** DER SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Key usages in Kubernetes' words. */
  readonly usages: readonly string[];
  readonly names?: AlternativeNames;
  readonly isAuthority?: boolean;
  /** Identifies the signing key. */
  readonly issuerKeyId: Buffer;
}

const serialBytes = 16;

/** Identifies a public key in certificates: the hash of its bits. */
export function keyId(publicKey: Buffer): Buffer {
  const key = new DerReader(publicKey).enter(0x30);
  key.take(0x30);
  return createHash('sha1').update(key.take(0x03).body.subarray(1)).digest();
}

/** The DER of a signed certificate. */
export function makeCertificate(plan: CertificatePlan, signer: KeyObject): Buffer {
  const algorithm = signatureAlgorithm(signer);
  const serial = randomBytes(serialBytes);
  // Positive, and never 0.
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const body = sequence(
    explicit(0, tagged(0x02, Buffer.from([2]))),
    unsigned(serial),
    algorithm,
    plan.issuer,
    sequence(time(plan.notBeforeMs), time(plan.notAfterMs)),
    plan.subject,
    plan.publicKey,
    explicit(3, sequence(...extensions(plan))),
  );
  return sequence(body, algorithm, bitString(sign(digest(signer), body, signer)));
}

/** The signature algorithm for a key: ECDSA, RSA (PKCS #1 v1.5) or Ed25519. */
export function signatureAlgorithm(key: KeyObject): Buffer {
  if (key.asymmetricKeyType === 'ec') return sequence(oid('1.2.840.10045.4.3.2'));
  if (key.asymmetricKeyType === 'rsa') return sequence(oid('1.2.840.113549.1.1.11'), tagged(0x05));
  if (key.asymmetricKeyType === 'ed25519') return sequence(oid('1.3.101.112'));
  throw new Error(`keys of type ${key.asymmetricKeyType} cannot sign certificates`);
}

export const digest = (key: KeyObject): 'sha256' | null =>
  key.asymmetricKeyType === 'ed25519' ? null : 'sha256';

function extensions(plan: CertificatePlan): Buffer[] {
  const { bits, extended } = splitUsages(plan.usages);
  const { names, isAuthority = false } = plan;
  return [
    ...(bits.length ? [extension('2.5.29.15', true, keyUsage(bits))] : []),
    ...(extended.length ? [extension('2.5.29.37', false, sequence(...extended.map(oid)))] : []),
    extension('2.5.29.19', true, isAuthority ? sequence(boolean(true)) : sequence()),
    ...(isAuthority ? [extension('2.5.29.14', false, octetString(keyId(plan.publicKey)))] : []),
    extension('2.5.29.35', false, sequence(implicit(0, plan.issuerKeyId))),
    ...(names && !isEmpty(names)
      ? // Critical when the subject is empty: then there is no other name.
        [extension('2.5.29.17', plan.subject.length === 2, encodeNames(names))]
      : []),
  ];
}

const extension = (type: string, critical: boolean, value: Buffer): Buffer =>
  sequence(oid(type), ...(critical ? [boolean(true)] : []), octetString(value));

function keyUsage(bits: readonly number[]): Buffer {
  const last = Math.max(...bits);
  const bytes = Buffer.alloc((last >> 3) + 1);
  for (const bit of bits) bytes[bit >> 3]! |= 0x80 >> (bit & 7);
  return bitString(bytes, 7 - (last & 7));
}

/** The subject of a certificate, as DER. */
export function subjectOf(certificate: Buffer): Buffer {
  const body = new DerReader(certificate).enter(0x30).enter(0x30);
  body.optional(0xa0);
  body.take(0x02);
  body.take(0x30);
  body.take(0x30);
  body.take(0x30);
  return body.take(0x30).whole;
}
