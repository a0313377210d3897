/** Webhooks whose service does not exist or has no ready endpoint. */
import type { Any, Finding } from './finding.ts';

/** Services and what answers for them. */
export interface Backends {
  readonly exists: (namespace: string, name: string) => boolean;
  readonly slices: (namespace: string) => readonly Any[];
}

const serviceLabel = 'kubernetes.io/service-name';

export function webhookFindings(configuration: Any, backends: Backends): Finding[] {
  const since = configuration.metadata.creationTimestamp ?? '';
  const found = new Map<string, Finding>();
  for (const { name, clientConfig, failurePolicy } of configuration.webhooks ?? []) {
    const { service } = clientConfig ?? {};
    if (!service) continue;
    const reason = unreached(service, backends);
    if (!reason) continue;
    const isFatal = failurePolicy !== 'Ignore';
    const effect = isFatal ? 'requests that it looks at are refused' : 'it is passed over';
    const text = `webhook ${name} is not reached, ${effect}: ${reason}`;
    found.set(reason, { cause: reason, text, severity: isFatal ? 'error' : 'warning', since });
  }
  return [...found.values()];
}

function unreached({ namespace, name }: Any, { exists, slices }: Backends): string | undefined {
  if (!exists(namespace, name)) return `there is no service ${namespace}/${name}`;
  const ready = slices(namespace)
    .filter(({ metadata }) => metadata.labels?.[serviceLabel] === name)
    .some(({ endpoints }) => endpoints?.some(({ conditions }: Any) => conditions?.ready !== false));
  return ready ? undefined : `the service ${namespace}/${name} has no ready endpoint`;
}
