/** Service variables: addresses of services, named as Kubernetes and Docker links do. */
import type { Pod, Service } from '../../api/generated/types.ts';

/** Every container gets the variables of this service, to find the API. */
const masterNamespace = 'default';
const masterName = 'kubernetes';

/**
 * Variables of the services a pod sees: those of its namespace, if it has service links enabled, and the
 * API's own.
 */
export function serviceVariables(pod: Pod, services: readonly Service[]): Map<string, string> {
  const seen = new Map<string, Service>();
  const { namespace } = pod.metadata;
  const links = pod.spec?.enableServiceLinks ?? true;
  for (const service of services) {
    if (!hasAddress(service)) continue;
    const { name = '', namespace: home } = service.metadata;
    // A service of the pod's own namespace hides the master service of the same name.
    if (home === namespace && links) seen.set(name, service);
    else if (home === masterNamespace && name === masterName && !seen.has(name)) seen.set(name, service);
  }
  const variables = new Map<string, string>();
  for (const name of [...seen.keys()].sort()) addVariables(variables, seen.get(name)!);
  return variables;
}

const hasAddress = ({ spec }: Service): boolean => Boolean(spec?.clusterIP) && spec!.clusterIP !== 'None';

const variableName = (name: string): string => name.replaceAll('-', '_').toUpperCase();

function addVariables(variables: Map<string, string>, { metadata, spec }: Service): void {
  const prefix = variableName(metadata.name ?? '');
  const ip = spec!.clusterIP!;
  const ports = spec!.ports ?? [];
  variables.set(`${prefix}_SERVICE_HOST`, ip);
  if (ports[0]) variables.set(`${prefix}_SERVICE_PORT`, String(ports[0].port));
  for (const { name, port } of ports)
    if (name) variables.set(`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port));
  const host = ip.includes(':') ? `[${ip}]` : ip;
  for (const [index, { port, protocol = 'TCP' }] of ports.entries()) {
    const url = `${protocol.toLowerCase()}://${host}:${port}`;
    if (index === 0) variables.set(`${prefix}_PORT`, url);
    const link = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    variables.set(link, url);
    variables.set(`${link}_PROTO`, protocol.toLowerCase());
    variables.set(`${link}_PORT`, String(port));
    variables.set(`${link}_ADDR`, ip);
  }
}
