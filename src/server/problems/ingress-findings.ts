/** Ingresses that lead to services that do not exist: requests that come there are answered with an error. */
import type { Any, Finding } from './finding.ts';

/** A minute in which what belongs together may still be written. */
const writeMs = 60_000;

export function ingressFindings({ metadata, spec }: Any, exists: (service: string) => boolean): Finding[] {
  const paths: Any[] = (spec?.rules ?? []).flatMap(({ host = '*', http }: Any) =>
    (http?.paths ?? []).map(({ path = '/', backend }: Any) => ({ from: `${host}${path}`, backend })),
  );
  const missing = new Map<string, string>();
  for (const { from, backend } of [...paths, { from: 'what fits no rule', backend: spec?.defaultBackend }]) {
    const { name } = backend?.service ?? {};
    if (name && !missing.has(name) && !exists(name)) missing.set(name, from);
  }
  const since = metadata.creationTimestamp ?? '';
  const afterMs = (Date.parse(since) || 0) + writeMs;
  return [...missing].map(([name, from]) => {
    const text = `${from} leads to the service ${name}, which does not exist`;
    return { cause: text, text, severity: 'warning', since, afterMs };
  });
}
