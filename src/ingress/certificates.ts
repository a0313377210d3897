/**
 * Certificates: the one that an ingress names for each host. They are parsed when ingresses or secrets
 * change; handshakes only look them up. Invalid ones are left out and reported.
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Ingress, Secret } from '../api/generated/types.ts';
import { findHost } from './hosts.ts';
import { byAge, type Problem, tlsEntries } from './served.ts';

export const minVersion = 'TLSv1.2';

/** A certificate with its key, in PEM, and the context made from them for handshakes. */
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
  /** By secret, including missing ones. */
  #read: ReadonlyMap<string, Read> = new Map();

  /** Rebuilds the table; returns the problems that keep certificates from being used. */
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

  /** The certificate for a host. */
  find(host: string): Certificate | undefined {
    return findHost(this.#hosts, host);
  }

  /** The certificate for clients that name no host, or one without a certificate. */
  get default(): Certificate | undefined {
    return this.#hosts.get('') ?? this.#first;
  }

  /** Whether an ingress refers to the secret. */
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
    // OpenSSL's message contains nothing of the key.
    return { problem: `has no certificate with its key: ${(error as Error).message}` };
  }
}
