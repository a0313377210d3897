/**
 * Replays the answers of a real server: every recorded request is sent in order to a live server, and its
 * answer compared. Generated values (uids, times, addresses) are compared by form.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';

interface Expected {
  code: number;
  object?: unknown;
  message?: string;
  reason?: string;
  details?: { causes?: { field: string; reason: string; message: string }[] };
  warnings?: string[];
  canonical?: string;
}

interface Case {
  name: string;
  method?: string;
  path?: string;
  contentType?: string;
  body?: unknown;
  quantity?: string | number;
  expect: Expected;
}

const { cases } = JSON.parse(
  readFileSync(new URL('../recorded/validation-cases.json', import.meta.url), 'utf8'),
) as { cases: Case[] };

/** Where the contract overrides the recording: a create answers 200, also inside a Status. */
const codeByContract = (code: number): number => (code === 201 ? 200 : code);

/**
 * Where the contract deletes as Kubernetes 1.1 did: no finalizer is put on where no controller takes it off, and a
 * replication controller is gone when its deletion is answered. `wire/prompt-deletion.test.ts` shows what happens instead.
 */
const deletedOtherwise: ReadonlySet<string> = new Set([
  'rc delete default orphans',
  'rc delete background',
  'pv',
  'pvc',
  'pvc delete waits for protection',
  'pvc release',
]);

/** And where it answers as Kubernetes 1.1 did: a deletion's Status has its code, a binding to nothing is invalid. */
function byContract({ method, name, expect }: Case): Expected {
  const code = codeByContract(expect.code);
  const object = expect.object as { kind?: string; code?: number } | undefined;
  if (name === 'binding bad target') {
    const { code: _, message, ...rest } = expect;
    return { ...rest, code: 422, reason: 'Invalid', message: `Binding "life" is invalid: ${message}` };
  }
  if (object?.code !== undefined)
    return { ...expect, code, object: { ...object, code: codeByContract(object.code) } };
  if (method === 'DELETE' && object?.kind === 'Status')
    return { ...expect, code, object: { ...object, code } };
  return { ...expect, code };
}

/** Generated values, and the form they must have. */
const forms: Record<string, RegExp> = {
  '<uid>': /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  '<time>': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  '<ip>': /^10\.0\.0\.\d+$/,
  '<port>': /^3[0-2]\d\d\d$/,
};

/** What the recording left out. */
const leftOut: ReadonlySet<string> = new Set(['resourceVersion', 'selfLink', 'managedFields']);

/** An answer in the recording's terms: generated values by name, and without what the recording left out. */
function comparable(actual: unknown, expected: unknown): unknown {
  if (typeof expected === 'string') {
    const form = forms[expected];
    if (form) return form.test(String(actual)) ? expected : actual;
    if (expected.endsWith('-*') && typeof actual === 'string' && actual.startsWith(expected.slice(0, -1)))
      return expected;
    return actual;
  }
  if (Array.isArray(actual))
    return actual.map((item, i) => comparable(item, Array.isArray(expected) ? expected[i] : undefined));
  if (typeof actual !== 'object' || actual === null) return actual;
  const model = (expected ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(actual)
      .filter(([key]) => !leftOut.has(key))
      .map(([key, value]) => [key, comparable(value, model[key])]),
  );
}

/** The parts of a message with several errors have no fixed order; uids are replaced by names in the recording. */
const messageParts = (message: string): string[] =>
  message
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>')
    .replace(/[[\]]/g, '')
    .split(', ')
    .sort();

const byField = (a: { field: string; message: string }, b: { field: string; message: string }): number =>
  `${a.field} ${a.message}` < `${b.field} ${b.message}` ? -1 : 1;

/**
 * Details with causes as a sorted set: their order is not fixed, and some occur twice. Internal diffs (after
 * a line feed) are not compared.
 */
function sortedDetails(details: Expected['details']) {
  if (!details?.causes) return details;
  const causes = details.causes.map((cause) => ({ ...cause, message: cause.message?.split('\n')[0] ?? '' }));
  const once = new Map(causes.map((cause) => [JSON.stringify(cause), cause]));
  return { ...details, causes: [...once.values()].sort(byField) };
}

describe.each([
  { manner: 'like Kubernetes', like: 'kubernetes' as const },
  { manner: 'by the contract', like: undefined },
])('recorded answers, $manner', ({ like }) => {
  let cluster: Cluster;
  beforeAll(async () => {
    // The recorded server ran no controllers.
    cluster = await start({ store: 'memory', controllers: false, like });
    // Addresses are given out at random: no service of the cases may have the one that another case asks for.
    const held = { metadata: { name: 'held' }, spec: { clusterIP: '10.0.0.250', ports: [{ port: 80 }] } };
    const { answer } = await send('POST', '/api/v1/namespaces/default/services', held);
    expect(answer.ok).toBe(true);
  });
  afterAll(() => cluster.close());

  const send = async (method: string, path: string, body: unknown, contentType = 'application/json') => {
    const answer = await fetch(cluster.url + path, {
      method,
      headers: { 'Content-Type': contentType },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { answer, body: text ? JSON.parse(text) : undefined };
  };

  for (const recorded of cases) {
    if (!like && deletedOtherwise.has(recorded.name)) continue;
    if (recorded.quantity !== undefined)
      test(recorded.name, async () => {
        const pod = {
          metadata: { name: 'q' },
          spec: {
            containers: [{ name: 'c', image: 'i:1', resources: { limits: { cpu: recorded.quantity } } }],
          },
        };
        const template = { metadata: { name: 'q' }, template: { metadata: {}, spec: pod.spec } };
        const { body } = await send('POST', '/api/v1/namespaces/golden/podtemplates?dryRun=All', template);
        const shown = body.template?.spec?.containers[0].resources.limits.cpu ?? body.message;
        // Negative amounts are refused by validation, which quotes their canonical form.
        if (recorded.expect.canonical!.startsWith('-'))
          expect(shown).toContain(`Invalid value: "${recorded.expect.canonical}"`);
        else expect(shown).toBe(recorded.expect.canonical);
      });
    else
      test(recorded.name, async () => {
        const { answer, body } = await send(
          recorded.method!,
          recorded.path!,
          recorded.body,
          recorded.contentType,
        );
        const wanted = like ? recorded.expect : byContract(recorded);
        expect.soft(answer.status, JSON.stringify(body)).toBe(wanted.code);
        if (wanted.object !== undefined) expect.soft(comparable(body, wanted.object)).toEqual(wanted.object);
        if (wanted.message !== undefined)
          expect
            .soft(messageParts(body.message.split('\n')[0]))
            .toEqual(messageParts(wanted.message.split('\n')[0]!));
        if (wanted.code >= 400) expect.soft(body.reason).toBe(wanted.reason);
        if (wanted.details) expect.soft(sortedDetails(body.details)).toEqual(sortedDetails(wanted.details));
        if (wanted.warnings) {
          const warnings = answer.headers.get('warning') ?? '';
          for (const text of wanted.warnings) expect.soft(warnings).toContain(JSON.stringify(text));
        }
      });
  }
});
