/**
 * Health: `/healthz` and `/livez` tell whether this process works, `/readyz` whether it can take requests. Checks can
 * be listed (`?verbose`), left out (`?exclude=name`) and requested one by one (`/readyz/name`).
 */
import { answerText } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';

/** Timeout of a check. */
const checkMaxMs = 2_000;

export interface HealthCheck {
  readonly name: string;
  /** Whether the check belongs to `/readyz` only: it will pass in time, and a restart would not help. */
  readonly readyOnly?: boolean;
  /** Why it fails; undefined when it passes. */
  failure(): string | undefined | Promise<string | undefined>;
}

export const healthEndpoints: ReadonlySet<string> = new Set(['healthz', 'livez', 'readyz']);
const ping: HealthCheck = { name: 'ping', failure: () => undefined };

/** Answers health paths; returns false for other paths. */
export async function answerHealth(context: RequestContext, known: readonly HealthCheck[]): Promise<boolean> {
  const [, endpoint = '', name] = /^\/([^/]+)(?:\/(.*))?$/s.exec(context.info.path) ?? [];
  if (!healthEndpoints.has(endpoint)) return false;
  const checks = [ping, ...known].filter(({ readyOnly }) => endpoint === 'readyz' || !readyOnly);
  if (name === undefined) {
    await answerAll(context, endpoint, checks);
    return true;
  }
  const one = checks.find((check) => check.name === name);
  if (one) await answerOne(context, one);
  return one !== undefined;
}

/**
 * The answer of a single check says why it fails; the list of all does not, as unauthenticated clients may read it.
 */
async function answerOne(context: RequestContext, check: HealthCheck): Promise<void> {
  const failure = await failureOf(check);
  if (failure === undefined) answerText(context, 200, 'ok');
  else answerText(context, 500, `internal server error: ${failure}\n`);
}

async function answerAll(
  context: RequestContext,
  endpoint: string,
  checks: readonly HealthCheck[],
): Promise<void> {
  const asked = context.info.queryText !== '';
  const excluded = new Set(asked ? context.query.all('exclude') : []);
  const verbose = asked && context.query.has('verbose');
  const chosen = checks.filter(({ name }) => !excluded.has(name));
  const failures = await Promise.all(chosen.map(failureOf));
  const failed = failures.some((failure) => failure !== undefined);
  if (!failed && !verbose) return answerText(context, 200, 'ok');
  const lines = chosen.map(({ name }, i) =>
    failures[i] === undefined ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`,
  );
  const unknown = [...excluded].filter((name) => !checks.some((check) => check.name === name)).sort();
  if (unknown.length) {
    const names = unknown.map((name) => JSON.stringify(name)).join(', ');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}\n`);
  }
  const end = `${endpoint} check ${failed ? 'failed' : 'passed\n'}`;
  answerText(context, failed ? 500 : 200, lines.join('') + end);
}

export async function failureOf(check: HealthCheck): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${checkMaxMs} ms`), checkMaxMs);
  });
  try {
    return await Promise.race([check.failure(), late]);
  } catch (error) {
    return (error as Error).message || 'it failed without a reason';
  } finally {
    clearTimeout(timer);
  }
}
