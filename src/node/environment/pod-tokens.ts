/** The service account tokens of a pod, bound to the pod: they are valid only while it exists. */
import type { Pod, ServiceAccountTokenProjection, TokenRequest } from '../../api/generated/types.ts';
import { timeToMs } from '../../api/values/time.ts';
import type { Client } from '../../client/client.ts';
import { serviceAccounts } from '../../client/resources.ts';
import { composedKey } from '../../composed-key.ts';

const secondsDefault = 3600;
/** A token is renewed after 80 % of its lifetime, and after a day at the latest. */
const lifeShare = 0.8;
const ageMaxMs = 24 * 3600 * 1000;

export interface PodTokensOptions {
  readonly client: Client;
  readonly pod: Pod;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

interface Held {
  readonly token: string;
  readonly issuedMs: number;
  readonly expiresMs: number;
}

export class PodTokens {
  readonly #held = new Map<string, Held>();

  constructor(private readonly options: PodTokensOptions) {}

  /** The token for one file of a volume, renewed when it is due. */
  async token({ audience = '', expirationSeconds }: ServiceAccountTokenProjection): Promise<string> {
    const seconds = expirationSeconds ?? secondsDefault;
    const key = composedKey(String(seconds), audience);
    const held = this.#held.get(key);
    if (held && !this.#isDue(held)) return held.token;
    try {
      const renewed = await this.#request(audience, seconds);
      this.#held.set(key, renewed);
      return renewed.token;
    } catch (error) {
      const { message } = error as Error;
      if (!held) throw new Error(`failed to fetch token: ${message}`, { cause: error });
      if (held.expiresMs <= this.options.now())
        throw new Error(`token expired and refresh failed: ${message}`, { cause: error });
      // The old token is still valid: report the error and try again at the next refresh.
      this.options.onError(error as Error);
      return held.token;
    }
  }

  close(): void {
    this.#held.clear();
  }

  #isDue({ issuedMs, expiresMs }: Held): boolean {
    const now = this.options.now();
    // Issued in the future: the clock was set back, so renew.
    if (now < issuedMs) return true;
    return now >= issuedMs + Math.min((expiresMs - issuedMs) * lifeShare, ageMaxMs);
  }

  async #request(audience: string, seconds: number): Promise<Held> {
    const { metadata, spec } = this.options.pod;
    const request: TokenRequest = {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      spec: {
        audiences: audience ? [audience] : [],
        expirationSeconds: seconds,
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: metadata.name, uid: metadata.uid },
      },
    };
    const account = spec?.serviceAccountName || 'default';
    const answer = (await this.options.client.post(
      serviceAccounts,
      metadata.namespace ?? '',
      account,
      'token',
      request,
    )) as TokenRequest | undefined;
    const { token, expirationTimestamp } = answer?.status ?? {};
    if (!token || !expirationTimestamp) throw new Error('the server answered without a token');
    const expiresMs = timeToMs(expirationTimestamp);
    const lifeSeconds = answer?.spec?.expirationSeconds ?? seconds;
    return { token, expiresMs, issuedMs: expiresMs - lifeSeconds * 1000 };
  }
}
