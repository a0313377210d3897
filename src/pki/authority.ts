/** An authority: a key and a certificate that sign others. */
import { createHash, X509Certificate } from 'node:crypto';
import { type AlternativeNames, namesOf } from './alternative-names.ts';
import { keyId, makeCertificate, subjectOf } from './certificate.ts';
import { encodeSubject, type Subject } from './distinguished-name.ts';
import { type KeyPair, keyPairOf, newKeyPair, privatePem, publicDer } from './key-pair.ts';
import { certificatesIn, pem } from './pem.ts';
import type { SigningRequest } from './signing-request.ts';

const dayMs = 86_400_000;
/** Certificates are valid from a little before now, because clocks differ. */
const skewMs = 5 * 60_000;
const authorityMs = 10 * 365 * dayMs;
export const yearMs = 365 * dayMs;
/** Lifetimes from this length on include that time, so that a year is no more than a year. */
const longMs = 8 * 3_600_000;

const authorityUsages = ['digital signature', 'key encipherment', 'cert sign', 'crl sign'];

/** A certificate and its key, in PEM. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

/** A new authority in PEM; `key` is that of an authority whose certificate is renewed. */
export function makeAuthority(commonName: string, nowMs: number, key: KeyPair = newKeyPair()): Certified {
  const publicKey = publicDer(key.publicKey);
  const name = encodeSubject({ commonName });
  const made = makeCertificate(
    {
      issuer: name,
      subject: name,
      publicKey,
      notBeforeMs: nowMs - skewMs,
      notAfterMs: nowMs + authorityMs,
      usages: authorityUsages,
      isAuthority: true,
      issuerKeyId: keyId(publicKey),
    },
    key.privateKey,
  );
  return { cert: pem('CERTIFICATE', made), key: privatePem(key) };
}

export interface Issue {
  readonly subject: Subject;
  readonly usages: readonly string[];
  /** Names and addresses of hosts. */
  readonly hosts?: readonly string[];
  readonly lifeMs: number;
}

/** Parameters of signing a request: its key, subject and names, for these usages and this long. */
export interface Grant {
  readonly request: SigningRequest;
  readonly usages: readonly string[];
  readonly lifeMs: number;
}

export class Authority {
  readonly certificate: X509Certificate;
  readonly #key: KeyPair;
  readonly #issuer: Buffer;
  readonly #issuerKeyId: Buffer;
  readonly #notAfterMs: number;
  /** The hash of the public key, by which joining nodes recognise the authority: `sha256:…`. */
  readonly keyHash: string;

  /** Throws unless the texts are a certificate and its key. */
  constructor(readonly pem: Certified) {
    const [der] = certificatesIn(pem.cert);
    if (!der) throw new Error('there is no certificate in the text');
    const certificate = new X509Certificate(der);
    this.certificate = certificate;
    this.#key = keyPairOf(pem.key);
    if (!certificate.checkPrivateKey(this.#key.privateKey))
      throw new Error('the key is not that of the certificate');
    const publicKey = publicDer(this.#key.publicKey);
    this.#issuer = subjectOf(der);
    this.#issuerKeyId = keyId(publicKey);
    this.#notAfterMs = Date.parse(certificate.validTo);
    this.keyHash = `sha256:${createHash('sha256').update(publicKey).digest('hex')}`;
  }

  get notAfterMs(): number {
    return this.#notAfterMs;
  }

  /** The same authority with a certificate for another ten years; certificates signed by the old one stay valid. */
  renewed(commonName: string, nowMs: number): Authority {
    return new Authority(makeAuthority(commonName, nowMs, this.#key));
  }

  /** Issues a certificate with a new key. */
  issue({ subject, usages, hosts = [], lifeMs }: Issue, nowMs: number): Certified {
    const key = newKeyPair();
    const cert = this.#sign(
      publicDer(key.publicKey),
      encodeSubject(subject),
      namesOf(hosts),
      usages,
      lifeMs,
      nowMs,
    );
    return { cert, key: privatePem(key) };
  }

  /** Signs a certificate, in PEM, for the key of a request. */
  sign({ request, usages, lifeMs }: Grant, nowMs: number): string {
    return this.#sign(request.publicKey, request.subject, request.names, usages, lifeMs, nowMs);
  }

  #sign(
    publicKey: Buffer,
    subject: Buffer,
    names: AlternativeNames,
    usages: readonly string[],
    lifeMs: number,
    nowMs: number,
  ): string {
    const endMs = nowMs + lifeMs - (lifeMs >= longMs ? skewMs : 0);
    const plan = {
      issuer: this.#issuer,
      subject,
      publicKey,
      notBeforeMs: nowMs - skewMs,
      notAfterMs: Math.min(endMs, this.#notAfterMs),
      usages,
      names,
      issuerKeyId: this.#issuerKeyId,
    };
    return pem('CERTIFICATE', makeCertificate(plan, this.#key.privateKey));
  }
}

/** Key usages of users' certificates. */
export const clientUsages: readonly string[] = ['digital signature', 'key encipherment', 'client auth'];
export const servingUsages: readonly string[] = ['digital signature', 'key encipherment', 'server auth'];
