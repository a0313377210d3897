/**
 * Optional rules for all requests: which origins browsers let in (CORS), that browsers use TLS only (HSTS), and how
 * often HTTP/2 connections end, so that clients spread over several servers. They are applied before the chain, and
 * cost nothing where none is set.
 */
import type { IncomingMessage } from 'node:http';
import type { StatusError } from '../../api/errors/errors.ts';
import { compileRegexp, type GoRegexp } from '../../api/text/go-regexp.ts';
import type { Upgrade } from '../../streams/dial/tunnel.ts';
import { Http2Request } from '../wire/http2-request.ts';
import { allowedPages } from './allowed-pages.ts';
import type { ApiRequest, ApiResponse } from './context.ts';
import type { Door, PrefetchRevision, Reception } from './door.ts';
import type { LimitKeeper } from './limits.ts';
import type { Overload } from './traffic.ts';

export interface ServingRuleOptions {
  /** Origins of pages that may send requests: regular expressions, such as `^https://example\.com$`. Default: none. */
  readonly corsAllowedOrigins?: readonly string[];
  /** Directives of the header `Strict-Transport-Security`: `max-age=SECONDS`, `includeSubDomains`, `preload`. Default: none. */
  readonly strictTransportSecurity?: readonly string[];
  /** Share of requests over HTTP/2 after which their connection ends, at most 0.02. Default 0. */
  readonly goawayChance?: number;
  /** Whether long answers are compressed for clients that accept it. Default true. */
  readonly compressesAnswers?: boolean;
}

/** Headers that kube-apiserver sends to pages of allowed origins. */
const allowances: readonly (readonly [string, string])[] = [
  ['Access-Control-Allow-Methods', 'POST, GET, OPTIONS, PUT, DELETE, PATCH'],
  [
    'Access-Control-Allow-Headers',
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  ],
  ['Access-Control-Expose-Headers', 'Date, Warning'],
  ['Access-Control-Allow-Credentials', 'true'],
];
const originCharsMax = 2_048;

/** Why the rules are invalid, in kube-apiserver's words; undefined when they are valid. */
export function servingRulesProblem(options: ServingRuleOptions): string | undefined {
  const { corsAllowedOrigins = [], strictTransportSecurity = [], goawayChance = 0 } = options;
  for (const pattern of corsAllowedOrigins)
    try {
      compileRegexp(pattern);
    } catch (error) {
      return `--cors-allowed-origins has an invalid regular expression: ${(error as Error).message}`;
    }
  if (!strictTransportSecurity.every((one) => /^(max-age=\d+|includeSubDomains|preload)$/.test(one)))
    return '--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information';
  if (!(goawayChance >= 0 && goawayChance <= 0.02))
    return '--goaway-chance can not be less than 0 or greater than 0.02';
  return undefined;
}

/** Wraps a reception with the rules; returns the reception itself where no rule is set. */
export function withServingRules(
  reception: Reception,
  options: ServingRuleOptions,
  chance: () => number,
): Reception {
  const { corsAllowedOrigins = [], strictTransportSecurity = [], goawayChance = 0 } = options;
  const { compressesAnswers = true } = options;
  if (
    corsAllowedOrigins.length + strictTransportSecurity.length === 0 &&
    goawayChance === 0 &&
    compressesAnswers
  )
    return reception;
  return new ServingRules(reception, options, chance);
}

class ServingRules implements Reception {
  readonly #origins: readonly GoRegexp[];
  readonly #transport: string;
  readonly #goawayChance: number;
  readonly #compressesAnswers: boolean;

  constructor(
    private readonly next: Reception,
    {
      corsAllowedOrigins = [],
      strictTransportSecurity = [],
      goawayChance = 0,
      compressesAnswers = true,
    }: ServingRuleOptions,
    private readonly chance: () => number,
  ) {
    this.#compressesAnswers = compressesAnswers;
    this.#origins = corsAllowedOrigins.map((pattern) => compileRegexp(pattern));
    this.#transport = strictTransportSecurity.join('; ');
    this.#goawayChance = goawayChance;
  }

  get keeper(): LimitKeeper {
    return this.next.keeper;
  }

  get prefetchRevision(): PrefetchRevision | undefined {
    return this.next.prefetchRevision;
  }

  isForwarded(url: string): boolean {
    return this.next.isForwarded(url);
  }

  request(door: Door, request: ApiRequest, response: ApiResponse, begunMs: number): void {
    if (this.#transport) response.setHeader('Strict-Transport-Security', this.#transport);
    if (this.#goawayChance > 0 && request instanceof Http2Request && this.chance() < this.#goawayChance)
      request.endConnectionAfter();
    if (!this.#compressesAnswers) acceptPlain(request);
    const { origin } = request.headers;
    if (this.#allows(origin)) {
      allowedPages.add(request);
      response.setHeader('Access-Control-Allow-Origin', origin!);
      for (const [name, value] of allowances) response.setHeader(name, value);
      // A preflight request needs no credentials, and goes no further.
      if (request.method === 'OPTIONS') {
        response.writeHead(204, {});
        response.end();
        return;
      }
    }
    this.next.request(door, request, response, begunMs);
  }

  upgrade(door: Door, request: IncomingMessage, upgrade: Upgrade, begunMs: number): void {
    if (this.#allows(request.headers.origin)) allowedPages.add(request);
    this.next.upgrade(door, request, upgrade, begunMs);
  }

  turnAway(
    door: Door,
    request: ApiRequest,
    response: ApiResponse,
    begunMs: number,
    why: StatusError | Overload,
  ): void {
    this.next.turnAway(door, request, response, begunMs, why);
  }

  #allows(origin: string | undefined): boolean {
    if (!origin || origin.length > originCharsMax) return false;
    return this.#origins.some((pattern) => pattern.test(origin));
  }
}

/** Removes Accept-Encoding from a request. The headers object is shared with other requests, so it is copied. */
function acceptPlain(request: ApiRequest): void {
  const { 'accept-encoding': _, ...headers } = request.headers;
  Object.defineProperty(request, 'headers', { value: headers });
}
