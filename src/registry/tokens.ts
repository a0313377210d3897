/**
 * Service account tokens: signed JWTs that identify a process. The signing key is a secret in kube-system, so that
 * all servers on one store share it. It is created with the first token.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { CryptoKey } from 'jose';
import type { Secret, ServiceAccount } from '../api/generated/types.ts';
import type { Registry } from './registry.ts';
import { collectionOf } from './target.ts';
import { actingAs } from './writers.ts';

const keyNamespace = 'kube-system';
const keyName = 'wherry-service-account-key';
export const algorithm = 'ES256';

/** Issuer of tokens without expiry, which are valid as long as their secret exists. */
export const legacyIssuer = 'kubernetes/serviceaccount';
/** Issuer of tokens with expiry, and their default audience. */
export const issuer = 'https://kubernetes.default.svc';

export interface TokenRequest {
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** The object that a token is bound to: the token is invalid once the object is deleted. */
  readonly boundObject?: { readonly kind: string; readonly name: string; readonly uid: string };
}

export class Tokens {
  #key: Promise<CryptoKey> | undefined;

  constructor(private readonly registry: Registry) {}

  /** A token without expiry, kept in a secret. */
  async legacy(account: ServiceAccount, secretName: string): Promise<string> {
    const { SignJWT } = await import('jose');
    const { name, namespace, uid } = account.metadata;
    return new SignJWT({
      'kubernetes.io/serviceaccount/namespace': namespace,
      'kubernetes.io/serviceaccount/secret.name': secretName,
      'kubernetes.io/serviceaccount/service-account.name': name,
      'kubernetes.io/serviceaccount/service-account.uid': uid,
    })
      .setProtectedHeader({ alg: algorithm })
      .setIssuer(legacyIssuer)
      .setSubject(subjectOf(account))
      .sign(await this.#signingKey());
  }

  /** A token with expiry. */
  async bound(account: ServiceAccount, request: TokenRequest): Promise<{ token: string; expiresMs: number }> {
    const { SignJWT } = await import('jose');
    const { name, namespace, uid } = account.metadata;
    const nowSeconds = Math.floor(this.registry.chance.nowMs() / 1000);
    const expires = nowSeconds + request.expirationSeconds;
    const { boundObject } = request;
    const token = await new SignJWT({
      'kubernetes.io': {
        namespace,
        serviceaccount: { name, uid },
        ...(boundObject
          ? { [boundObject.kind.toLowerCase()]: { name: boundObject.name, uid: boundObject.uid } }
          : {}),
      },
    })
      .setProtectedHeader({ alg: algorithm })
      .setAudience(request.audiences.length ? [...request.audiences] : [issuer])
      .setIssuer(issuer)
      .setSubject(subjectOf(account))
      .setJti(this.registry.chance.uid())
      .setIssuedAt(nowSeconds)
      .setNotBefore(nowSeconds)
      .setExpirationTime(expires)
      .sign(await this.#signingKey());
    return { token, expiresMs: expires * 1000 };
  }

  /** The audiences of requests that name none. */
  get defaultAudiences(): readonly string[] {
    return [issuer];
  }

  /** The public key; undefined when no token has been signed yet. */
  verificationKey(): KeyObject | undefined {
    const stored = this.#storedKey();
    return stored === undefined ? undefined : createPublicKey(stored);
  }

  #signingKey(): Promise<CryptoKey> {
    this.#key ??= this.#loadKey().catch((error) => {
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }

  async #loadKey(): Promise<CryptoKey> {
    const { exportPKCS8, generateKeyPair, importPKCS8 } = await import('jose');
    const stored = this.#storedKey();
    if (stored) return importPKCS8(stored, algorithm);
    const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
    const kind = this.registry.kinds.resource('v1', 'secrets')!;
    const secret: Secret = {
      metadata: { name: keyName },
      type: 'Opaque',
      data: { key: Buffer.from(await exportPKCS8(privateKey)).toString('base64') },
    };
    // When another server created a key at the same moment, that key is used.
    const request = actingAs('kube-apiserver', 'create');
    if (await this.registry.plant(request, collectionOf(kind, keyNamespace), secret)) return privateKey;
    return importPKCS8(this.#storedKey()!, algorithm);
  }

  #storedKey(): string | undefined {
    const entry = this.registry.view.collection('core/secrets').get(keyNamespace, keyName);
    const text = entry && (entry.object() as Secret).data?.key;
    return text === undefined ? undefined : Buffer.from(text, 'base64').toString('utf8');
  }
}

const subjectOf = ({ metadata }: ServiceAccount): string =>
  `system:serviceaccount:${metadata.namespace}:${metadata.name}`;
