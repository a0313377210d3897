/** Health: `/healthz`, `/livez` and `/readyz`, with one line per check when asked for. */
import { answerText } from './answer.ts';
import type { Component } from './componentstatus.ts';
import type { RequestContext } from './context.ts';

const endpoints = new Set(['healthz', 'livez', 'readyz']);

/** Answers when the path is about health; false when it is not. */
export function answerHealth(context: RequestContext, components: readonly Component[]): boolean {
  const [, endpoint, check, ...rest] = context.info.path.split('/');
  if (!endpoint || !endpoints.has(endpoint) || rest.length) return false;
  const checks: Component[] = [{ name: 'ping', failure: () => undefined }, ...components];
  if (check !== undefined) {
    const one = checks.find((candidate) => candidate.name === check);
    if (!one) return false;
    answerChecks(context, endpoint, [one]);
    return true;
  }
  const excluded = context.info.queryText ? context.query.all('exclude') : [];
  answerChecks(
    context,
    endpoint,
    checks.filter((candidate) => !excluded.includes(candidate.name)),
  );
  return true;
}

function answerChecks(context: RequestContext, endpoint: string, checks: readonly Component[]): void {
  const verbose = context.info.queryText !== '' && context.query.has('verbose');
  const failed = checks.some((check) => check.failure() !== undefined);
  if (!failed && !verbose) return answerText(context, 200, 'ok');
  const lines = checks.map((check) =>
    check.failure() === undefined ? `[+]${check.name} ok\n` : `[-]${check.name} failed: reason withheld\n`,
  );
  answerText(
    context,
    failed ? 500 : 200,
    `${lines.join('')}${endpoint} check ${failed ? 'failed' : 'passed\n'}`,
  );
}
