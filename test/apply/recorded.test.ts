/**
 * Replays applies and other writes that were recorded from a real server, in order: the answers, the entries of
 * `managedFields`, whether a write made a new version, and which entries got a new time.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { answerDifference, type Case, difference, valueAt } from '../access/recorded-answers.ts';
import { type Json, type Reply, useCluster } from '../support/http.ts';

interface Step extends Omit<Case, 'seq' | 'headers' | 'expect'> {
  readonly sequence: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How much later than the step before. */
  readonly waitMs?: number;
  readonly expect: Case['expect'] & {
    readonly managedFields?: readonly Managed[];
    /** The entries are in the order of the answer. */
    readonly ordered?: boolean;
    readonly version?: 'same' | 'new';
    /** By position, or by `manager/operation`. */
    readonly times?: readonly string[] | Readonly<Record<string, string>>;
    readonly warnings?: readonly string[];
  };
}

interface Managed {
  readonly manager?: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly subresource?: string;
  readonly time?: string;
}

const { cases } = JSON.parse(
  readFileSync(new URL('../recorded/apply-cases.json', import.meta.url), 'utf8'),
) as { cases: Step[] };

let nowMs = Date.parse('2026-01-02T03:04:05Z');

const client = useCluster({
  like: 'kubernetes',
  managedFields: 'all',
  controllers: false,
  chance: { nowMs: () => nowMs },
});

/** What the last answer about an object said, by its path. */
const seen = new Map<string, { version: string; times: Map<string, string | undefined> }>();
const saved = new Map<string, string>();

const identity = ({ operation, manager = '', apiVersion, subresource = '' }: Managed): string =>
  [operation, manager, apiVersion, subresource].join('\0');

const subresources = /\/(status|scale|ephemeralcontainers|resize|finalize)$/;

function objectPath({ method, path }: Step, body: Json): string {
  const place = path.split('?')[0]!.replace(subresources, '');
  return method === 'POST' ? `${place}/${body.metadata?.name}` : place;
}

function entriesDifference(step: Step, body: Json): string | undefined {
  const { managedFields, ordered, version, times } = step.expect;
  if (!managedFields) return undefined;
  const entries: Managed[] = body.metadata?.managedFields ?? [];
  const shown = ordered ? entries : entries.toSorted((a, b) => (identity(a) < identity(b) ? -1 : 1));
  const found = difference(managedFields, shown, 'managedFields');
  const before = seen.get(objectPath(step, body));
  if (found || !before) return found;
  if (version) {
    const now = body.metadata.resourceVersion === before.version ? 'same' : 'new';
    if (now !== version) return `resourceVersion: want ${version} got ${now}`;
  }
  if (!times) return undefined;
  const moved = entries.map((entry) => (before.times.get(identity(entry)) === entry.time ? 'kept' : 'new'));
  const named = Object.fromEntries(
    entries.map(({ manager, operation }, i) => [`${manager}/${operation}`, moved[i]]),
  );
  return difference(times, Array.isArray(times) ? moved : named, 'times');
}

function remember(step: Step, body: Json): void {
  if (!body?.metadata || ['Status', 'Scale'].includes(body.kind) || step.path.includes('dryRun')) return;
  const entries: Managed[] = body.metadata.managedFields ?? [];
  seen.set(objectPath(step, body), {
    version: body.metadata.resourceVersion,
    times: new Map(entries.map((entry) => [identity(entry), entry.time])),
  });
}

function send({ method, path, body, contentType, headers }: Step): Promise<Reply> {
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  const kept = (value: string): string =>
    value.replace(/\$\{(\w+)\}/g, (all, name: string) => saved.get(name) ?? all);
  const sent = Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]);
  return client.request(method, kept(path), text && kept(text), {
    ...(contentType ? { 'Content-Type': contentType } : {}),
    ...Object.fromEntries(sent),
  });
}

/** Messages that end with `*` are recorded by their beginning. A conflict's message has one order. */
function messageDifference({ expect: { message, reason } }: Step, body: Json): string | undefined {
  if (message?.endsWith('*'))
    return body.message.startsWith(message.slice(0, -1)) ? undefined : `message: got ${body.message}`;
  return reason === 'Conflict' ? difference(message, body.message, 'message') : undefined;
}

/** A real server repeats some causes. */
function once(details: NonNullable<Case['expect']['details']>): Case['expect']['details'] {
  const causes = new Map(details.causes?.map((cause) => [JSON.stringify(cause), cause]));
  return causes.size ? { ...details, causes: [...causes.values()] } : details;
}

describe('recorded applies', () => {
  for (const [at, step] of cases.entries())
    it(`${step.sequence} ${at}: ${step.name}`, async () => {
      nowMs += step.waitMs ?? 0;
      const reply = await send(step);
      const { message, warnings, details, ...wanted } = step.expect;
      const whole = message?.endsWith('*') ? wanted : { ...wanted, message };
      expect(
        answerDifference({ expect: { ...whole, details: details && once(details) } }, reply),
      ).toBeUndefined();
      expect(messageDifference(step, reply.body)).toBeUndefined();
      expect(entriesDifference(step, reply.body)).toBeUndefined();
      if (warnings) expect(reply.warnings).toEqual(warnings.map((text) => JSON.stringify(text)));
      for (const [name, path] of Object.entries(step.save ?? {}))
        saved.set(name, String(valueAt(reply.body, path)));
      remember(step, reply.body);
    });
});
