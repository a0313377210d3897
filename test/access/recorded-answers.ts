/** The recorded answers of a real server to requests of many users, and how an answer is compared with them. */
import { readFileSync } from 'node:fs';
import type { Reply } from '../support/http.ts';

export interface Case {
  readonly name: string;
  readonly seq: string;
  readonly run?: string;
  /** Who sends it: `anonymous`, a user with a token, `sa:namespace/name`, `cert:name/group,group`. */
  readonly as?: string;
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Values of the answer that later requests use. */
  readonly save?: Readonly<Record<string, string>>;
  readonly checkHeaders?: readonly string[];
  readonly expect: Expected;
}

interface Expected {
  readonly code: number;
  readonly object?: unknown;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly unknown[] };
  readonly headers?: Readonly<Record<string, string | null>>;
}

export const { cases } = JSON.parse(
  readFileSync(new URL('../recorded/access-cases.json', import.meta.url), 'utf8'),
) as { cases: Case[] };

export const valueAt = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (at, key) => (at as Record<string, unknown> | undefined)?.[key.replaceAll('~', '.')],
      value,
    );

/** Puts saved values, times and base64 into a text of a case. */
export const filled = (text: string, saved: ReadonlyMap<string, string>): string =>
  text
    .replace(/\{\{b64:([^}]*)\}\}/g, (_, plain: string) => Buffer.from(plain).toString('base64'))
    .replace(/\{\{now([+-]\d+)\}\}/g, (_, seconds: string) =>
      new Date(Date.now() + Number(seconds) * 1000).toISOString().replace(/\.\d+Z/, 'Z'),
    )
    .replace(/\{\{([\w:/-]+)\}\}/g, (all, name: string) => saved.get(name) ?? all);

/** Names of made-up values, and a made-up end of a name. */
const madeUp = /<(?:uid|time|ip|port|token|hex)>|(?<=-)\*$/g;

/** What a text with names of made-up values stands for. */
const formOf = (text: string): RegExp => {
  const parts = text.split(madeUp).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`, 's');
};

const leftOut = new Set(['resourceVersion', 'managedFields', 'selfLink']);
/** Lists whose order is not fixed. */
const unordered = /\.(causes|resourceRules|nonResourceRules)$/;

/** The first difference between what was recorded and what is there; undefined when there is none. */
export function difference(wanted: unknown, got: unknown, place = ''): string | undefined {
  const told = (): string => `${place}: want ${JSON.stringify(wanted)} got ${JSON.stringify(got)}`;
  if (typeof wanted === 'string') {
    if (wanted === got) return undefined;
    if (typeof got === 'number') return wanted === '<port>' ? undefined : told();
    if (wanted.search(madeUp) < 0 || typeof got !== 'string') return told();
    return formOf(wanted).test(got) ? undefined : told();
  }
  if (wanted === null || typeof wanted !== 'object') return (got ?? null) === wanted ? undefined : told();
  if (Array.isArray(wanted)) return listDifference(wanted, got, place);
  if (got === null || typeof got !== 'object') return told();
  const [model, actual] = [wanted as Record<string, unknown>, got as Record<string, unknown>];
  const known = new Set(leftOut);
  for (const [wantedKey, value] of Object.entries(model)) {
    const form = wantedKey.search(madeUp) < 0 ? undefined : formOf(wantedKey);
    const key = form ? (Object.keys(actual).find((name) => form.test(name)) ?? wantedKey) : wantedKey;
    const found = difference(value, actual[key], `${place}.${key}`);
    if (found) return found;
    known.add(key);
  }
  const more = Object.keys(actual).find((key) => !known.has(key));
  return more && `${place}.${more}: not recorded, got ${JSON.stringify(actual[more])}`;
}

function listDifference(wanted: readonly unknown[], got: unknown, place: string): string | undefined {
  if (!Array.isArray(got) || got.length !== wanted.length)
    return `${place}: want ${JSON.stringify(wanted)} got ${JSON.stringify(got)}`;
  if (!unordered.test(place))
    return wanted.map((item, at) => difference(item, got[at], `${place}[${at}]`)).find(Boolean);
  const left = [...got];
  for (const item of wanted) {
    const at = left.findIndex((one) => !difference(item, one));
    if (at < 0) return `${place}: missing ${JSON.stringify(item)}`;
    left.splice(at, 1);
  }
  return undefined;
}

/** Compares an answer with the recorded one. */
export function answerDifference({ expect }: Pick<Case, 'expect'>, reply: Reply): string | undefined {
  if (reply.status !== expect.code) return `status: want ${expect.code} got ${reply.status} ${reply.text}`;
  const { object, fields = {}, reason, details, message, text, headers = {} } = expect;
  const found: (string | undefined)[] = [
    object === undefined ? undefined : difference(object, reply.body),
    ...Object.entries(fields).map(([path, value]) =>
      difference(value, valueAt(reply.body, path) ?? null, path),
    ),
    reason === undefined ? undefined : difference(reason, reply.body?.reason, 'reason'),
    details === undefined ? undefined : difference(details, reply.body?.details, '.details'),
    // Several causes are told in no fixed order.
    message === undefined || (details?.causes?.length ?? 0) > 1
      ? undefined
      : difference(message, reply.body?.message, 'message'),
    text === undefined ? undefined : difference(text, reply.text, 'text'),
    ...Object.entries(headers).map(([name, value]) => difference(value, reply.headers[name] ?? null, name)),
  ];
  return found.find(Boolean);
}
