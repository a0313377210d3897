/**
 * Keys of service account tokens. Unless the operator chooses keys, servers sign with a key in a secret of kube-system,
 * so that all servers on one store use the same; it is created with the first token.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { Secret } from '../../api/generated/types.ts';
import type { Registry } from '../../registry/registry.ts';
import { collectionOf } from '../../registry/target.ts';
import { actingAs } from '../../registry/writers.ts';

const keyNamespace = 'kube-system';
const keyName = 'wherry-service-account-key';
const modulusBits = 2048;

export interface TokenKey {
  readonly key: KeyObject;
  /** The id by which tokens name the key: the hash of the public key. */
  readonly kid: string;
  /** The algorithm that the key signs with (`RS256`, `ES256`, …), and the only one accepted with it. */
  readonly algorithm: string;
}

/**
 * `rsa` is the default of Kubernetes and known to every verifier, but takes some tenths of a second to generate; `ec`
 * takes next to none.
 */
export type KeyType = 'rsa' | 'ec';

/** Keys chosen by the operator, in PEM. */
export interface ChosenKeys {
  /** Default: the cluster's own key signs. */
  readonly signing?: string;
  /** Keys, public or private, whose tokens are accepted beside those of the key that signs. */
  readonly verification: readonly string[];
}

interface StoredKey {
  readonly revision: number;
  readonly pem: string;
  /** The public half, and the chosen keys. */
  readonly keys: readonly TokenKey[];
}

export class TokenKeys {
  readonly #chosenSigning: TokenKey | undefined;
  readonly #chosen: readonly TokenKey[];
  #signing: Promise<TokenKey> | undefined;
  #stored: StoredKey | undefined;

  /** Throws an error with a sentence when a key cannot be used. */
  constructor(
    private readonly registry: Registry,
    /** The type of a key that is made here. */
    private readonly keyType: KeyType,
    { signing, verification }: ChosenKeys = { verification: [] },
  ) {
    const own = signing === undefined ? undefined : tokenKey(createPrivateKey(signing));
    this.#chosenSigning = own;
    // Reading a key takes a millisecond, and tests name one file for both.
    const others = verification.filter((pem) => pem !== signing).map((pem) => tokenKey(createPublicKey(pem)));
    this.#chosen = distinct([...(own ? [{ ...own, key: createPublicKey(own.key) }] : []), ...others]);
  }

  signing(): Promise<TokenKey> {
    if (this.#chosenSigning) return Promise.resolve(this.#chosenSigning);
    this.#signing ??= this.#load().catch((error) => {
      this.#signing = undefined;
      throw error;
    });
    return this.#signing;
  }

  /** The verification keys, the same list until it changes; empty when no token can have been signed yet. */
  verification(): readonly TokenKey[] {
    return this.#chosenSigning ? this.#chosen : (this.#readStored()?.keys ?? this.#chosen);
  }

  async #load(): Promise<TokenKey> {
    const stored = this.#readStored();
    if (stored) return tokenKey(createPrivateKey(stored.pem));
    const privateKey = await newKey(this.keyType);
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const kind = this.registry.kinds.resource('v1', 'secrets')!;
    const secret: Secret = {
      metadata: { name: keyName },
      type: 'Opaque',
      data: { key: Buffer.from(pem).toString('base64') },
    };
    // If another server created one at the same moment, that one is used.
    const request = actingAs('kube-apiserver', 'create');
    if (await this.registry.seed(request, collectionOf(kind, keyNamespace), secret))
      return tokenKey(privateKey);
    return tokenKey(createPrivateKey(this.#readStored()!.pem));
  }

  #readStored(): StoredKey | undefined {
    const entry = this.registry.view.collection('core/secrets').get(keyNamespace, keyName);
    if (entry?.revision === this.#stored?.revision) return this.#stored;
    const text = entry && (entry.object() as Secret).data?.key;
    if (text === undefined) return undefined;
    const pem = Buffer.from(text, 'base64').toString('utf8');
    this.#stored = {
      revision: entry!.revision,
      pem,
      keys: distinct([tokenKey(createPublicKey(pem)), ...this.#chosen]),
    };
    return this.#stored;
  }
}

async function newKey(type: KeyType): Promise<KeyObject> {
  const pair =
    type === 'rsa'
      ? await promisify(generateKeyPair)('rsa', { modulusLength: modulusBits })
      : await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  return pair.privateKey;
}

const distinct = (keys: readonly TokenKey[]): readonly TokenKey[] => [
  ...new Map(keys.map((key) => [key.kid, key])).values(),
];

const curves: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

function tokenKey(key: KeyObject): TokenKey {
  const { asymmetricKeyType: type, asymmetricKeyDetails } = key;
  const algorithm = type === 'rsa' ? 'RS256' : curves[asymmetricKeyDetails?.namedCurve ?? ''];
  if (!algorithm || (type !== 'rsa' && type !== 'ec'))
    throw new Error(
      'keys of service account tokens are RSA keys, or keys on the curves P-256, P-384 and P-521',
    );
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return { key, algorithm, kid: createHash('sha256').update(der).digest('base64url') };
}
