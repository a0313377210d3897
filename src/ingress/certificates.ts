/**
 * Certificates: the one that an ingress names for each host. They are parsed, and their keys tried, when ingresses or
 * secrets change; handshakes only look them up. Invalid ones are left out and reported.
 */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Ingress, Secret } from '../api/generated/types.ts';
import { inSlices } from '../time-slices.ts';
import { findHost } from './hosts.ts';
import { keyProblem, keyTrial } from './key-trial.ts';
import { type Problem, problemsMax, type TlsEntry, tlsEntries } from './served.ts';

export const minVersion = 'TLSv1.2';

/** Characters of a certificate with those that signed it, and of its key. */
const charsMax = 64 * 1024;
/** Steps of the event loop's slices that an entry takes, and each of its hosts. */
const entrySteps = 200;
const hostSteps = 20;
/** Reading a certificate and its key takes about a millisecond. */
const readSteps = 25_000;

/** A certificate with its key, in PEM, and the context made from them for handshakes. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly context: SecureContext;
}

/** Without a problem: its key is being tried. */
type Reading = Certificate | { readonly problem: string | undefined };

interface Read {
  readonly version: string;
  reading: Reading;
}

export class Certificates {
  #hosts: ReadonlyMap<string, Certificate> = new Map();
  #first: Certificate | undefined;
  /** By secret, including missing ones. */
  #read: ReadonlyMap<string, Read> = new Map();
  readonly #trials = new Set<Promise<unknown>>();

  /** @param tried called when the key of a certificate was tried: it is in the next table */
  constructor(private readonly tried: () => void) {}

  /** Resolves when all keys are tried. */
  async idle(): Promise<void> {
    while (this.#trials.size > 0) await Promise.all(this.#trials);
  }

  /**
   * Rebuilds the table; resolves with the problems that keep certificates from being used.
   * @param sorted oldest first
   */
  async update(
    sorted: readonly Ingress[],
    secretOf: (namespace: string, name: string) => Secret | undefined,
  ): Promise<Problem[]> {
    const problems: Problem[] = [];
    const hosts = new Map<string, Certificate>();
    const read = new Map<string, Read>();
    let first: Certificate | undefined;
    const work = function* (this: Certificates): Generator<number, void> {
      for (const ingress of sorted) {
        let problemsLeft = problemsMax;
        const done = new Set<TlsEntry['hosts']>();
        for (const { hosts: own, secretName: name } of tlsEntries(ingress)) {
          yield entrySteps;
          if (done.has(own)) continue;
          const { namespace = '' } = ingress.metadata;
          const key = `${namespace}/${name}`;
          const secret = secretOf(namespace, name);
          if (!this.#isRead(key, secret)) yield readSteps;
          const reading = this.#reading(key, secret, read);
          if ('problem' in reading) {
            const message = `secret ${key} ${reading.problem}`;
            if (reading.problem !== undefined && problemsLeft-- > 0)
              problems.push({ ingress, reason: 'BadCertificate', message });
            continue;
          }
          done.add(own);
          first ??= reading;
          for (const host of own) if (!hosts.has(host)) hosts.set(host, reading);
          yield own.length * hostSteps;
        }
      }
    };
    await inSlices(work.call(this));
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

  #isRead(key: string, secret: Secret | undefined): boolean {
    return this.#read.get(key)?.version === versionOf(secret);
  }

  #reading(key: string, secret: Secret | undefined, read: Map<string, Read>): Reading {
    const version = versionOf(secret);
    const before = read.get(key) ?? this.#read.get(key);
    const current =
      before?.version === version
        ? before
        : this.#begun({ version, reading: readCertificate(secret) }, before?.reading);
    read.set(key, current);
    return current.reading;
  }

  /** While a key is tried, the certificate that was there before stays. */
  #begun(read: Read, before: Reading | undefined): Read {
    const { reading } = read;
    const trial = 'problem' in reading ? undefined : keyTrial(reading.cert, reading.key);
    if (!trial) return read;
    read.reading = before && !('problem' in before) ? before : { problem: undefined };
    const settled = trial.then((problem) => {
      read.reading = problem === undefined ? reading : { problem };
      this.#trials.delete(settled);
      this.tried();
    });
    this.#trials.add(settled);
    return read;
  }
}

const versionOf = (secret: Secret | undefined): string =>
  secret ? `${secret.metadata.uid} ${secret.metadata.resourceVersion}` : '';

function readCertificate(secret: Secret | undefined): Reading {
  if (!secret) return { problem: 'does not exist' };
  const { data = {} } = secret;
  const [cert, key] = ['tls.crt', 'tls.key'].map((name) =>
    Buffer.from(data[name] ?? '', 'base64').toString('utf8'),
  );
  if (!cert || !key) return { problem: `has no ${cert ? 'tls.key' : 'tls.crt'}` };
  if (cert.length + key.length > charsMax) return { problem: `has more than ${charsMax} characters` };
  try {
    const problem = keyProblem(cert);
    if (problem) return { problem: `cannot be used: ${problem}` };
    return { cert, key, context: createSecureContext({ cert, key, minVersion }) };
  } catch (error) {
    // OpenSSL's message contains nothing of the key.
    return { problem: `has no certificate with its key: ${(error as Error).message}` };
  }
}
