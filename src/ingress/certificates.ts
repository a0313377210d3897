/**
 * Certificates: for each host the one that an ingress names for it. They are read anew when ingresses or secrets
 * change; handshakes only look them up. What cannot be read is left out and told.
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Ingress, Secret } from '../api/generated/types.ts';
import { findHost } from './hosts.ts';
import { byAge, type Problem, tlsEntries } from './served.ts';

export const minVersion = 'TLSv1.2';

/** A certificate with its key, in PEM, and the two made ready for handshakes. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly context: SecureContext;
}

type Reading = Certificate | { readonly problem: string };

interface Read {
  readonly version: string;
  readonly reading: Reading;
}

export class Certificates {
  #hosts: ReadonlyMap<string, Certificate> = new Map();
  #first: Certificate | undefined;
  /** By secret, those included that are missing. */
  #read: ReadonlyMap<string, Read> = new Map();

  /** What keeps certificates from being used is answered. */
  update(
    ingresses: Iterable<Ingress>,
    secretOf: (namespace: string, name: string) => Secret | undefined,
  ): Problem[] {
    const problems: Problem[] = [];
    const hosts = new Map<string, Certificate>();
    const read = new Map<string, Read>();
    let first: Certificate | undefined;
    for (const ingress of [...ingresses].sort(byAge)) {
      const { namespace = '' } = ingress.metadata;
      for (const { hosts: own, secretName } of tlsEntries(ingress)) {
        const reading = this.#reading(`${namespace}/${secretName}`, secretOf(namespace, secretName), read);
        if ('problem' in reading) {
          const message = `secret ${namespace}/${secretName} ${reading.problem}`;
          problems.push({ ingress, reason: 'BadCertificate', message });
          continue;
        }
        first ??= reading;
        for (const host of own) if (!hosts.has(host)) hosts.set(host, reading);
      }
    }
    this.#hosts = hosts;
    this.#first = first;
    this.#read = read;
    return problems;
  }

  /** The certificate that is named for a host. */
  find(host: string): Certificate | undefined {
    return findHost(this.#hosts, host);
  }

  /** What clients get that name no host, or one without a certificate. */
  get default(): Certificate | undefined {
    return this.#hosts.get('') ?? this.#first;
  }

  /** Whether an ingress names the secret. */
  isNamed({ metadata }: Secret): boolean {
    return this.#read.has(`${metadata.namespace}/${metadata.name}`);
  }

  #reading(key: string, secret: Secret | undefined, read: Map<string, Read>): Reading {
    const version = secret ? `${secret.metadata.uid} ${secret.metadata.resourceVersion}` : '';
    const before = read.get(key) ?? this.#read.get(key);
    const current = before?.version === version ? before : { version, reading: readCertificate(secret) };
    read.set(key, current);
    return current.reading;
  }
}

function readCertificate(secret: Secret | undefined): Reading {
  if (!secret) return { problem: 'does not exist' };
  const { data = {} } = secret;
  const [cert, key] = ['tls.crt', 'tls.key'].map((name) =>
    Buffer.from(data[name] ?? '', 'base64').toString('utf8'),
  );
  if (!cert || !key) return { problem: `has no ${cert ? 'tls.key' : 'tls.crt'}` };
  try {
    return { cert, key, context: createSecureContext({ cert, key, minVersion }) };
  } catch (error) {
    // OpenSSL says what it did not like, and nothing of what it read.
    return { problem: `has no certificate with its key: ${(error as Error).message}` };
  }
}
