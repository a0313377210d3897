/**
 * Pages about the process: `/statusz` shows its start time and version, `/metrics/slis` whether each of its checks
 * passes. There is no page of flags (`/flagz`): an embedded server has no flags, and flags may contain secrets.
 */
import { release } from '../../api/values/release.ts';
import { answerText } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { Exposition, expositionType, labelText } from './exposition.ts';
import { failureOf, type HealthCheck, healthEndpoints } from './health.ts';

/** Answers these pages; returns false for other paths. */
export async function answerStatusPage(
  context: RequestContext,
  checks: readonly HealthCheck[],
  nowMs: number,
): Promise<boolean> {
  const { path } = context.info;
  if (path === '/statusz') answerText(context, 200, statusText(nowMs));
  else if (path === '/metrics/slis') answerText(context, 200, await checksText(checks), expositionType);
  else return false;
  return true;
}

function statusText(nowMs: number): string {
  const upSeconds = Math.floor(process.uptime());
  const [hours, minutes] = [Math.floor(upSeconds / 3600), Math.floor(upSeconds / 60) % 60];
  const started = new Date(nowMs - upSeconds * 1000).toUTCString();
  return [
    '',
    'wherry statusz',
    'Warning: This endpoint is for people; its form may change with every version.',
    '',
    `Started: ${started}`,
    `Up: ${hours} hr ${String(minutes).padStart(2, '0')} min ${String(upSeconds % 60).padStart(2, '0')} sec`,
    `Node version: ${process.version}`,
    `Binary version: ${release}`,
    '',
  ].join('\n');
}

async function checksText(checks: readonly HealthCheck[]): Promise<string> {
  const failures = await Promise.all(checks.map(failureOf));
  const text = new Exposition().family('kubernetes_healthcheck', 'gauge', 'Whether a check passes: 1 or 0.');
  for (const type of healthEndpoints)
    for (const [i, { name, readyOnly }] of checks.entries())
      if (type === 'readyz' || !readyOnly)
        text.sample(failures[i] === undefined ? 1 : 0, labelText({ name, type }));
  return text.toString();
}
