/** Requests to the API: JSON in and out, with the user's token, and refusals as errors that can be read. */
import { answersAgain, connectionLost } from './connection.ts';
import { signInReason, token } from './credentials.ts';
import { prefix } from './prefix.ts';

/** One cause of a refusal: the field and what is wrong with it. */
export interface Cause {
  readonly field?: string;
  readonly message?: string;
  readonly reason?: string;
}

export interface Status {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly Cause[];
    readonly name?: string;
    readonly kind?: string;
    readonly retryAfterSeconds?: number;
  };
}

/** A refusal of the server, with its own words. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly causes: readonly Cause[];
  /** How long the server asks to wait; 0 when it does not. */
  readonly retryAfterMs: number;

  constructor({ code = 0, reason = '', message = '', details }: Status) {
    super(message || reason || `The server answered ${code}`);
    this.code = code;
    this.reason = reason;
    this.causes = details?.causes ?? [];
    this.retryAfterMs = (Number(details?.retryAfterSeconds) || 0) * 1_000;
  }
}

/** The server could not be reached at all. */
export class UnreachableError extends Error {}

export interface Ask {
  readonly method?: string;
  readonly query?: Query;
  readonly accept?: string;
  /** A value is sent as JSON, text as it is. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export const json = 'application/json';
export const tableAs = `${json};as=Table;v=v1;g=meta.k8s.io`;

export function withQuery(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/**
 * How often a request is sent that the network loses while the server answers: browsers abort all requests when a network
 * interface of the machine changes, which happens several times when a pod starts.
 */
const attemptsMax = 5;

/** Whether a second request after a lost one changes nothing more. */
const isRepeatable = (method: string, contentType: string): boolean =>
  method === 'GET' || method === 'DELETE' || (method === 'PATCH' && contentType.includes('merge-patch'));

/** The answer, with a status of success. Throws ApiError, UnreachableError, or the signal's reason. */
export async function fetchAnswer(path: string, options: Ask = {}): Promise<Response> {
  const { method = 'GET', query, accept = json, body, contentType = json, signal } = options;
  const headers: Record<string, string> = { Accept: accept };
  if (token.value) headers.Authorization = `Bearer ${token.value}`;
  if (body !== undefined) headers['Content-Type'] = contentType;
  const text =
    body === undefined || typeof body === 'string' ? (body as string | undefined) : JSON.stringify(body);
  const send = (): Promise<Response> =>
    fetch(withQuery(`${prefix}${path}`, query), { method, headers, body: text, signal, cache: 'no-store' });
  const { answer, attempts } = await reached(send, isRepeatable(method, contentType), signal);
  // Deleted by an attempt whose answer was lost.
  if (answer.status === 404 && method === 'DELETE' && attempts > 1) return answer;
  if (answer.ok) return answer;
  const status = await statusOf(answer);
  if (answer.status === 401 || isAnonymous(answer.status, status))
    signInReason.value = 'The server does not know who you are.';
  throw new ApiError(status);
}

/** Sends a request until it is answered; a failure that the next attempt mends need not be shown. */
async function reached(send: () => Promise<Response>, isRepeated: boolean, signal: AbortSignal | undefined) {
  for (let attempts = 1; ; attempts++) {
    try {
      return { answer: await send(), attempts };
    } catch (error) {
      if (signal?.aborted) throw error;
      if (!(await answersAgain()) || !isRepeated) throw unreachable();
      if (attempts < attemptsMax) continue;
      void connectionLost(true);
      throw unreachable();
    }
  }
}

const unreachable = (): UnreachableError => new UnreachableError('The server does not answer.');

/** Whether the refusal is that of an anonymous user, who may be let in and is refused nearly everything. */
const isAnonymous = (code: number, { message = '' }: Status): boolean =>
  code === 403 && !token.value && message.includes('User "system:anonymous"');

/**
 * The Status of a refusal. Not every refusal is one: that of a proxy, or of an overloaded server, is text with headers.
 */
async function statusOf(answer: Response): Promise<Status> {
  const text = await answer.text().catch(() => '');
  const code = answer.status;
  try {
    return { ...(JSON.parse(text) as Status), code };
  } catch {
    const details = { retryAfterSeconds: Number(answer.headers.get('Retry-After')) };
    return { code, message: text.trim() || answer.statusText, details };
  }
}

export async function ask<T>(path: string, options: Ask = {}): Promise<T> {
  return (await (await fetchAnswer(path, options)).json()) as T;
}

export async function askText(path: string, options: Ask = {}): Promise<string> {
  return (await fetchAnswer(path, { accept: '*/*', ...options })).text();
}
