/** Asks the cluster for a certificate, and waits until it is signed, or until it is clear that it will not be. */
import { createHash } from 'node:crypto';
import { StatusError } from '../../api/errors/errors.ts';
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { kubeletServingSigner } from '../../api/values/node-identity.ts';
import type { Client } from '../../client/client.ts';
import { Informer } from '../../client/informer.ts';
import { signingRequests } from '../../client/resources.ts';
import type { Subject } from '../../pki/distinguished-name.ts';
import { type KeyPair, publicDer } from '../../pki/key-pair.ts';
import { makeSigningRequest, readSigningRequest } from '../../pki/signing-request.ts';
import { JoinError } from './join-error.ts';

export const clientRequest = {
  signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  usages: ['digital signature', 'client auth'],
  prefix: 'node-csr-',
} as const;

export const servingRequest = {
  signerName: kubeletServingSigner,
  usages: ['digital signature', 'server auth'],
  prefix: 'csr-',
} as const;

/** Automatic approval takes less than this; afterwards the request waits for an administrator. */
const patienceMs = 3_000;

export interface Wanted {
  readonly kind: typeof clientRequest | typeof servingRequest;
  readonly key: KeyPair;
  readonly subject: Subject;
  readonly hosts?: readonly string[];
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Called when the request waits for an administrator. */
  readonly onWaiting?: (name: string) => void;
}

/** Requests a certificate; resolves with its PEM. */
export async function requestCertificate(client: Client, wanted: Wanted): Promise<string> {
  const { kind, key, subject, hosts = [] } = wanted;
  const { signerName, usages } = kind;
  const publicKey = publicDer(key.publicKey);
  const name = kind.prefix + nameOf(publicKey, [subject.commonName ?? '', ...usages, ...hosts]);
  const request = Buffer.from(makeSigningRequest(key, subject, hosts)).toString('base64');
  const object = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: { request, signerName, usages: [...usages] },
  } as CertificateSigningRequest;
  const made = await client.create(signingRequests, undefined, object).catch(async (error: unknown) => {
    if (!(error instanceof StatusError && error.code === 409)) throw error;
    // The request was made before a restart, with the same key.
    const there = await client.get(signingRequests, undefined, name);
    if (!isOfKey(there, publicKey))
      throw new JoinError(`there is a signing request ${name} already, of another key; delete it`);
    return there;
  });
  return certificateOf(client, made, wanted);
}

/** The name of a request, stable for a key and its purpose: after a restart the node finds its own request again. */
const nameOf = (publicKey: Buffer, words: readonly string[]): string =>
  createHash('sha512-256').update(publicKey).update(JSON.stringify(words)).digest('base64url');

function isOfKey({ spec }: CertificateSigningRequest, publicKey: Buffer): boolean {
  try {
    const text = Buffer.from(spec?.request ?? '', 'base64').toString('latin1');
    return readSigningRequest(text).publicKey.equals(publicKey);
  } catch {
    return false;
  }
}

function certificateOf(
  client: Client,
  { metadata: { name = '', uid } }: CertificateSigningRequest,
  { signal, onWaiting }: Wanted,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      informer.close();
      clearTimeout(waiting);
      signal.removeEventListener('abort', abort);
      act();
    };
    const fail = (why: string): void => settle(() => reject(new JoinError(why)));
    const abort = (): void => fail('the node is closing');
    const look = (object: CertificateSigningRequest | undefined): void => {
      if (!object || object.metadata.uid !== uid)
        return fail(`the signing request ${name} was deleted before it was signed`);
      const outcome = object.status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
      if (outcome)
        return fail(
          `the signing request ${name} was ${outcome.type === 'Denied' ? 'denied' : 'not signed'}: ${outcome.reason ?? ''}: ${outcome.message ?? ''}`,
        );
      const certificate = object.status?.certificate;
      if (certificate) return settle(() => resolve(Buffer.from(certificate, 'base64').toString('utf8')));
    };
    const informer = new Informer(client, signingRequests, {
      fieldSelector: `metadata.name=${name}`,
      changed: look,
      // The informer retries, unless the server does not allow this user to watch at all.
      onError: (error) => {
        if (error instanceof StatusError && (error.code === 401 || error.code === 403)) fail(error.message);
      },
    });
    const waiting = setTimeout(() => onWaiting?.(name), patienceMs);
    waiting.unref();
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    else void informer.start();
  });
}
