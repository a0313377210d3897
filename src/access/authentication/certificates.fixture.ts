/** Certificates for tests: authorities, authorities below them, and what clients show. */
import { X509Certificate } from 'node:crypto';
import { keyId, makeCertificate } from '../../pki/certificate.ts';
import { oid, sequence, set, utf8String } from '../../pki/der-writer.ts';
import { newKeyPair, privatePem, publicDer } from '../../pki/key-pair.ts';
import { pem } from '../../pki/pem.ts';
import type { PeerCertificate } from './authenticator.ts';

export const nowMs = Date.parse('2030-06-01T12:00:00Z');
const hourMs = 3_600_000;

/** Attributes by their type, in order: `CN`, `O`, `UID`. */
export type Name = readonly (readonly ['CN' | 'O' | 'UID', string])[];

const types = { CN: '2.5.4.3', O: '2.5.4.10', UID: '1.3.6.1.4.1.57683.2' } as const;

const encodeName = (name: Name): Buffer =>
  sequence(...name.map(([type, value]) => set(sequence(oid(types[type]), utf8String(value)))));

export interface Life {
  readonly fromMs?: number;
  readonly untilMs?: number;
}

export class TestAuthority {
  readonly #key = newKeyPair();
  readonly #name: Buffer;
  readonly #der: Buffer;

  /** @param above who signs it; absent: itself */
  constructor(name: string, above?: TestAuthority, options: Life & { isAuthority?: boolean } = {}) {
    this.#name = encodeName([['CN', name]]);
    const signer = above ?? this;
    this.#der = signer.#sign(this.#name, publicDer(this.#key.publicKey), ['cert sign'], {
      isAuthority: true,
      ...options,
    });
  }

  get pem(): string {
    return pem('CERTIFICATE', this.#der);
  }

  get certificate(): X509Certificate {
    return new X509Certificate(this.#der);
  }

  /** What a client with a certificate of this authority shows. */
  client(
    name: Name,
    { usages = ['client auth'], intermediates = [], ...life }: ClientOptions = {},
  ): PeerCertificate {
    return { leaf: new X509Certificate(this.certified(name, { usages, ...life }).cert), intermediates };
  }

  /** A certificate for a client and its key, in PEM. */
  certified(
    name: Name,
    { usages = ['client auth'], ...life }: ClientOptions = {},
  ): { cert: string; key: string } {
    const key = newKeyPair();
    const der = this.#sign(encodeName(name), publicDer(key.publicKey), usages, life);
    return { cert: pem('CERTIFICATE', der), key: privatePem(key) };
  }

  /** A certificate and its key for a server on this machine. */
  server(): { cert: string; key: string } {
    const key = newKeyPair();
    const names = { dns: ['localhost'], ips: ['127.0.0.1'], emails: [], uris: [] };
    const life = { fromMs: Date.now() - hourMs, untilMs: Date.now() + hourMs, names };
    const der = this.#sign(encodeName([['CN', 'server']]), publicDer(key.publicKey), ['server auth'], life);
    return { cert: pem('CERTIFICATE', der), key: privatePem(key) };
  }

  #sign(
    subject: Buffer,
    publicKey: Buffer,
    usages: readonly string[],
    { fromMs = nowMs - hourMs, untilMs = nowMs + hourMs, ...more }: Life & object,
  ): Buffer {
    const own = publicDer(this.#key.publicKey);
    const plan = {
      issuer: this.#name,
      subject,
      publicKey,
      notBeforeMs: fromMs,
      notAfterMs: untilMs,
      usages,
      issuerKeyId: keyId(own),
      ...more,
    };
    return makeCertificate(plan, this.#key.privateKey);
  }
}

interface ClientOptions extends Life {
  readonly usages?: readonly string[];
  readonly intermediates?: readonly X509Certificate[];
}
