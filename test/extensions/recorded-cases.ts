/** The recorded answers of a real server about extensions, and how an answer is compared with them. */
import { readFileSync } from 'node:fs';
import type { HookBehaviour, HookHost } from '../../src/extensions/calls/hook-host.fixture.ts';
import type { Client, Reply } from '../support/http.ts';

export interface Case {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Seconds for which the answer may still be another one. */
  readonly retry?: number;
  readonly pauseMs?: number;
  readonly expect: Expected;
}

interface Expected {
  readonly code: number;
  readonly object?: unknown;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly unknown[] };
  readonly text?: string;
  /** Parts of the answer by JSON pointer; a segment `[k=v]` picks an item of a list. */
  readonly at?: Readonly<Record<string, unknown>>;
  /** The lines of a watch. */
  readonly events?: readonly unknown[];
  readonly warnings?: readonly string[];
  /** What the webhooks were asked. */
  readonly reviews?: readonly unknown[];
}

const file = JSON.parse(readFileSync(new URL('../recorded/crd-cases.json', import.meta.url), 'utf8')) as {
  cases: Case[];
  hooks: Record<string, HookBehaviour>;
};

export const { cases } = file;

/** The user of the recording. */
const recordedUser: Readonly<Record<string, string>> = {
  'Impersonate-User': 'admin',
  'Impersonate-Uid': 'admin',
  'Impersonate-Group': 'system:masters',
};

/** On a slow machine, what follows a moment later may take longer than on the recorded one. */
const retryFactor = 20;
const retryPauseMs = 50;

export class Replay {
  constructor(
    private readonly client: Client,
    /** The webhooks, for cases that have some. */
    private readonly hooks?: HookHost,
  ) {
    for (const [path, behaviour] of Object.entries(file.hooks)) hooks?.hooks.set(path, behaviour);
  }

  /** Sends a request; answers with the first difference to what was recorded. */
  async difference(one: Case): Promise<string | undefined> {
    const end = Date.now() + (one.retry ?? 0) * 1000 * retryFactor;
    for (;;) {
      this.hooks?.take();
      const reply = await this.#send(one);
      const found = this.#judged(one, reply);
      if (!found || Date.now() >= end) return found;
      await new Promise((resolve) => setTimeout(resolve, retryPauseMs));
    }
  }

  #send({ method, path, body, contentType, accept, headers }: Case): Promise<Reply> {
    const text = body === undefined ? undefined : this.#filled(JSON.stringify(body));
    const raw = typeof body === 'string' ? this.#filled(body) : text;
    return this.client.request(method, path, raw, {
      ...recordedUser,
      ...(raw === undefined ? {} : { 'Content-Type': contentType ?? 'application/json' }),
      ...(accept ? { Accept: accept } : {}),
      ...headers,
    });
  }

  #filled(text: string): string {
    const { hooks } = this;
    return hooks ? text.replaceAll('{webhook}', hooks.url).replaceAll('{ca}', hooks.ca) : text;
  }

  #judged(one: Case, reply: Reply): string | undefined {
    const wanted = JSON.parse(this.#filled(JSON.stringify(one.expect))) as Expected;
    if (reply.status !== wanted.code) return `status: want ${wanted.code} got ${reply.status} ${reply.text}`;
    const { object, reason, details, message, text, at = {}, events, warnings = [], reviews } = wanted;
    const lines = (): unknown[] =>
      reply.text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    const checks: (() => string | undefined)[] = [
      () => (object === undefined ? undefined : difference(object, reply.body)),
      () => (reason === undefined ? undefined : difference(reason, reply.body?.reason, 'reason')),
      () => (details === undefined ? undefined : difference(details, reply.body?.details, '.details')),
      // Several causes are told in no fixed order.
      () =>
        message === undefined || (details?.causes?.length ?? 0) > 1
          ? undefined
          : difference(message, reply.body?.message, 'message'),
      () => (text === undefined ? undefined : difference(text, reply.text, 'text')),
      ...Object.entries(at).map(
        ([path, value]) =>
          () =>
            difference(value, valueAt(reply.body, path), path),
      ),
      () => (events === undefined ? undefined : difference(events, lines(), '.events')),
      () => difference(warnings, reply.warnings.map(unquoted).sort(), '.warnings'),
      () => (reviews === undefined ? undefined : difference(reviews, this.hooks?.take(), '.reviews')),
    ];
    for (const check of checks) {
      const found = check();
      if (found) return found;
    }
    return undefined;
  }
}

const unquoted = (text: string): string => text.replace(/^"|"$/g, '').replace(/\\(.)/g, '$1');

function valueAt(value: unknown, pointer: string): unknown {
  let found = value as Record<string, unknown> | unknown[] | undefined;
  for (const segment of pointer.split('/').slice(1)) {
    if (found === undefined || found === null) return undefined;
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    const [, path, wanted] = /^\[([^=]+)=(.*)\]$/.exec(key) ?? [];
    const isItem = (item: unknown): boolean => String(memberAt(item, path!.split('.'))) === wanted;
    found = (
      path === undefined
        ? (found as Record<string, unknown>)[key]
        : Array.isArray(found)
          ? found.find(isItem)
          : undefined
    ) as typeof found;
  }
  return found;
}

const memberAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], value);

const madeUp = /<(uid|time|ip|port|text)>/g;
const leftOut = new Set(['resourceVersion', 'managedFields', 'selfLink']);

/** The first difference between what was recorded and what is there; undefined when there is none. */
function difference(wanted: unknown, got: unknown, place = ''): string | undefined {
  const told = (): string => `${place}: want ${JSON.stringify(wanted)} got ${JSON.stringify(got)}`;
  if (typeof wanted === 'string') return textFits(wanted, got) ? undefined : told();
  if (wanted === null || typeof wanted !== 'object') return Object.is(wanted, got) ? undefined : told();
  if ('$absent' in wanted) return got === undefined ? undefined : told();
  if (Array.isArray(wanted)) return listDifference(wanted, got, place);
  if (got === null || typeof got !== 'object') return told();
  const [model, actual] = [wanted as Record<string, unknown>, got as Record<string, unknown>];
  for (const [key, value] of Object.entries(model)) {
    if (place === '.metadata' && leftOut.has(key)) continue;
    const found = difference(value, actual[key], `${place}.${key}`);
    if (found) return found;
  }
  const more = Object.keys(actual).find((key) => !(key in model) && !leftOut.has(key));
  return more && `${place}.${more}: not recorded, got ${JSON.stringify(actual[more])}`;
}

function textFits(wanted: string, got: unknown): boolean {
  if (wanted === got) return true;
  if (/^<(uid|time|ip|port|text)>$/.test(wanted)) return got !== undefined;
  if (typeof got !== 'string') return false;
  if (wanted.endsWith('*') && got.startsWith(wanted.slice(0, -1))) return true;
  if (wanted.search(madeUp) < 0) return false;
  const pattern = wanted.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(madeUp, '.+');
  return new RegExp(`^${pattern}$`, 's').test(got);
}

function listDifference(wanted: readonly unknown[], got: unknown, place: string): string | undefined {
  const told = (): string => `${place}: want ${JSON.stringify(wanted)} got ${JSON.stringify(got)}`;
  if (!Array.isArray(got) || got.length !== wanted.length) return told();
  if (!place.endsWith('.causes'))
    return wanted.map((item, at) => difference(item, got[at], `${place}[${at}]`)).find(Boolean);
  const left = [...got];
  for (const item of wanted) {
    const at = left.findIndex((one) => !difference(item, one));
    if (at < 0) return `${place}: missing ${JSON.stringify(item)} in ${JSON.stringify(left)}`;
    left.splice(at, 1);
  }
  return undefined;
}
