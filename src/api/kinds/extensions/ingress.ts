/** Ingress: routes HTTP traffic from outside to services. */

import { child, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressRule,
  IngressTLS,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { ingressClassAnnotation, ingressClassWarnings } from '../../rules/service/ingress-class-name.ts';
import { ageCell, ageColumn, nameColumn, orNone } from '../../rules/shared/columns.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import { isIP, parseIP } from '../../values/addresses.ts';
import {
  isLabel1123,
  isPortName,
  isPortNumber,
  isSubdomain1123,
  isWildcardSubdomain,
} from '../../values/names.ts';

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];
/** Sequences that browsers and servers normalise differently, so they are refused in paths. */
const ambiguousParts = ['//', '/./', '/../', '%2f', '%2F'];
const ambiguousEnds = ['/..', '/.'];
/** Hosts shown in a table. */
const shownMax = 3;

const notIP = 'must be a DNS name, not an IP address';

const hostProblems = (host: string): string[] =>
  host.includes('*') ? isWildcardSubdomain(host) : isSubdomain1123(host);

function* backendErrors(backend: IngressBackend = {}, path: string): Findings {
  const { serviceName, servicePort, resource } = backend;
  if (resource) {
    if (serviceName || servicePort) yield invalid(path, '', 'cannot set both resource and service backends');
    return;
  }
  const namePath = child(path, 'serviceName');
  if (!serviceName) yield required(namePath);
  else yield* problemsOf(namePath, serviceName, isLabel1123(serviceName));
  if (!servicePort) yield required(path, 'port name or number is required');
  else {
    const problems = typeof servicePort === 'number' ? isPortNumber(servicePort) : isPortName(servicePort);
    yield* problemsOf(child(path, 'servicePort'), servicePort, problems);
  }
}

function pathProblems(path: string, pathType: string): string[] {
  const compared = pathType === 'Exact' || pathType === 'Prefix';
  const problems: string[] = [];
  if (!path.startsWith('/') && (path !== '' || compared)) problems.push('must be an absolute path');
  if (!compared) return problems;
  for (const part of ambiguousParts) if (path.includes(part)) problems.push(`must not contain '${part}'`);
  for (const end of ambiguousEnds) if (path.endsWith(end)) problems.push(`cannot end with '${end}'`);
  return problems;
}

function* pathErrors({ path = '', pathType = '', backend }: HTTPIngressPath, at: string): Findings {
  if (!pathTypes.includes(pathType)) yield notSupported(child(at, 'pathType'), pathType, pathTypes);
  else yield* problemsOf(child(at, 'path'), path, pathProblems(path, pathType));
  yield* backendErrors(backend, child(at, 'backend'));
}

function* ruleErrors({ host, http }: IngressRule, path: string): Findings {
  if (host) {
    const hostPath = child(path, 'host');
    if (parseIP(host)) yield invalid(hostPath, host, notIP);
    yield* problemsOf(hostPath, host, hostProblems(host));
  }
  if (!http) return;
  const pathsPath = child(path, 'http.paths');
  if (!http.paths?.length) yield required(pathsPath);
  for (const [i, entry] of (http.paths ?? []).entries()) yield* pathErrors(entry, index(pathsPath, i));
}

function* tlsErrors(tls: readonly IngressTLS[]): Findings {
  for (const [i, { hosts = [] }] of tls.entries())
    for (const [j, host] of hosts.entries())
      yield* problemsOf(index(child(index('spec.tls', i), 'hosts'), j), host, hostProblems(host));
}

/** The class was an annotation before there was a field. */
function* classErrors({ metadata, spec }: Ingress, isNew: boolean): Findings {
  const named = spec?.ingressClassName;
  if (named === undefined) return;
  yield* problemsOf('spec.ingressClassName', named, isSubdomain1123(named));
  const annotated = metadata.annotations?.[ingressClassAnnotation];
  if (isNew && annotated !== undefined && annotated !== named)
    yield invalid(
      `annotations.${ingressClassAnnotation}`,
      annotated,
      'must match `ingressClassName` when both are specified',
    );
}

function* ingressErrors(ingress: Ingress, isNew: boolean): Findings {
  const { backend, rules = [], tls = [] } = ingress.spec ?? {};
  if (!backend && !rules.length) yield invalid('spec', null, 'either `backend` or `rules` must be specified');
  if (backend) yield* backendErrors(backend, 'spec.backend');
  for (const [i, rule] of rules.entries()) yield* ruleErrors(rule, index('spec.rules', i));
  yield* tlsErrors(tls);
  yield* classErrors(ingress, isNew);
}

function* statusErrors({ status }: Ingress): Findings {
  for (const [i, { ip, hostname }] of (status?.loadBalancer?.ingress ?? []).entries()) {
    const path = index('status.loadBalancer.ingress', i);
    if (ip) yield* problemsOf(child(path, 'ip'), ip, isIP(ip));
    if (!hostname) continue;
    yield* problemsOf(child(path, 'hostname'), hostname, isSubdomain1123(hostname));
    if (parseIP(hostname)) yield invalid(child(path, 'hostname'), hostname, notIP);
  }
}

function hostsText(rules: readonly IngressRule[] = []): string {
  const hosts = rules.flatMap(({ host }) => (host ? [host] : []));
  const more = hosts.length > shownMax ? ` + ${hosts.length - shownMax} more...` : '';
  return hosts.length ? hosts.slice(0, shownMax).join(',') + more : '*';
}

function addressText({ status }: Ingress): string {
  const found = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip || hostname || []);
  return [...new Set(found)].sort().join(',');
}

export const ingress = defineKind<Ingress>({
  kind: 'Ingress',
  resource: 'ingresses',
  singular: 'ingress',
  group: 'extensions',
  version: 'v1beta1',
  table: 'extensions-v1beta1',
  hashedVersion: 'networking.k8s.io/v1',
  namespaced: true,
  subresources: [status({ validate: (ingress) => collect(statusErrors(ingress)) })],
  generationOf: 'spec',

  defaults({ spec }) {
    for (const rule of spec?.rules ?? [])
      for (const path of rule.http?.paths ?? []) path.pathType ??= 'ImplementationSpecific';
  },

  validate: (ingress, old) => collect(ingressErrors(ingress, old === undefined)),
  warnings: ingressClassWarnings,

  columns: [
    nameColumn,
    { name: 'Class', description: 'Which controller serves the ingress.' },
    { name: 'Hosts', description: 'Names the ingress answers to.' },
    { name: 'Address', description: 'Where traffic enters.' },
    { name: 'Ports', description: 'Ports that are served.' },
    ageColumn,
  ],
  cells: (ingress) => [
    ingress.metadata.name,
    orNone(ingress.spec?.ingressClassName),
    hostsText(ingress.spec?.rules),
    addressText(ingress),
    ingress.spec?.tls?.length ? '80, 443' : '80',
    ageCell(ingress),
  ],
});
