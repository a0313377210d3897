/**
 * The keys of an OpenID Connect issuer: found by its discovery document and fetched in the background. They are fetched
 * again when no known key has signed a token, because the issuer may have a new one, even under the same name.
 * Refetching is rate-limited, so that forged tokens cannot make the server call the issuer each time.
 */

import type { Agent } from 'node:https';
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import { callRemote, RemoteFailure, remoteAgent } from '../shared/remote-call.ts';

const callTimeoutMs = 10_000;
/** Minimum time between two fetches, whatever tokens say. */
const refetchMs = 10_000;
/** Retry interval until the first fetch succeeds. */
const retryMs = 10_000;
const keysMax = 1_000;
/** Maximum number of requests that wait for keys; more are refused at once. */
const waitingMax = 200;

export interface OidcIssuerOptions {
  readonly url: string;
  /** URL of the discovery document. Default: below the issuer's URL. */
  readonly discoveryUrl?: string;
  /** PEM of the authorities of the issuer's certificate. Default: those that Node trusts. */
  readonly certificateAuthority?: string;
  readonly nowMs: () => number;
  readonly onError: (error: Error) => void;
}

export class OidcIssuer {
  readonly #agent: Agent;
  #keys: JWTVerifyGetKey | undefined;
  /** The JSON text of these keys. */
  #text = '';
  #waiting = 0;
  #fetching: Promise<void> | undefined;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #failing = false;

  constructor(private readonly options: OidcIssuerOptions) {
    const { certificateAuthority: ca } = options;
    this.#agent = remoteAgent(ca === undefined ? {} : { ca });
    void this.#fetch();
  }

  /** The keys; undefined before the first fetch has succeeded. Without keys it waits for a fetch that is under way. */
  async keys(): Promise<JWTVerifyGetKey | undefined> {
    if (!this.#keys) await this.#fetched();
    return this.#keys;
  }

  /** The current keys; the same object until the issuer has others. */
  get current(): JWTVerifyGetKey | undefined {
    return this.#keys;
  }

  /** Fetches the keys again, unless that was done a moment ago; returns whether it fetched. */
  async refetch(): Promise<boolean> {
    if (!this.#fetching && this.options.nowMs() - this.#fetchedMs < refetchMs) return false;
    return this.#fetched();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#agent.destroy();
  }

  /** Waits for a fetch. False: too many wait already. */
  async #fetched(): Promise<boolean> {
    if (this.#waiting >= waitingMax) return false;
    this.#waiting++;
    await this.#fetch();
    this.#waiting--;
    return true;
  }

  /** One at a time. Never rejects. */
  #fetch(): Promise<void> {
    const tooSoon = this.#failing && this.options.nowMs() - this.#fetchedMs < refetchMs;
    if (!this.#fetching && (tooSoon || this.#closed)) return Promise.resolve();
    this.#fetching ??= this.#fetchKeys()
      .then(
        () => {
          this.#failing = false;
        },
        (error: Error) => this.#failed(error),
      )
      .finally(() => {
        this.#fetching = undefined;
        this.#fetchedMs = this.options.nowMs();
      });
    return this.#fetching;
  }

  #failed(error: Error): void {
    if (this.#closed) return;
    // Reported once, until a fetch has succeeded again.
    if (!this.#failing)
      this.options.onError(
        new RemoteFailure(
          `the keys of the OIDC issuer ${this.options.url} cannot be fetched: ${error.message}`,
        ),
      );
    this.#failing = true;
    if (this.#keys) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#fetch(), retryMs);
    this.#timer.unref();
  }

  async #fetchKeys(): Promise<void> {
    const { url, discoveryUrl = `${url.replace(/\/$/, '')}/.well-known/openid-configuration` } = this.options;
    const document = (await this.#get(discoveryUrl)) as { issuer?: unknown; jwks_uri?: unknown };
    if (document.issuer !== url)
      throw new Error(`the discovery document is of the issuer ${JSON.stringify(document.issuer)}`);
    const uri = document.jwks_uri;
    if (typeof uri !== 'string' || !uri.startsWith('https://'))
      throw new Error('the discovery document names no keys at an https URL');
    const keys = (await this.#get(uri)) as Partial<JSONWebKeySet>;
    if (!Array.isArray(keys.keys) || keys.keys.length > keysMax)
      throw new Error(`${uri} holds no set of keys`);
    const text = JSON.stringify(keys);
    if (text === this.#text) return;
    const { createLocalJWKSet } = await import('jose');
    this.#keys = createLocalJWKSet(keys as JSONWebKeySet);
    this.#text = text;
  }

  async #get(url: string): Promise<unknown> {
    const { code, text } = await callRemote({
      url,
      method: 'GET',
      agent: this.#agent,
      timeoutMs: callTimeoutMs,
    });
    if (code !== 200) throw new Error(`${url} answers with status ${code}`);
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) throw new Error(`${url} holds no object`);
    return value;
  }
}
