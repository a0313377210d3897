/** Ingress: lets outside HTTP traffic reach services. */
import { child, type FieldError, index, invalid, notSupported, required } from '../fielderror.ts';
import type { HTTPIngressPath, Ingress, IngressBackend, IngressRule } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';
import {
  isIP,
  isLabel1123,
  isPortName,
  isPortNumber,
  isSubdomain1123,
  isWildcardSubdomain,
  parseIP,
} from '../names.ts';
import { ageCell, ageColumn, nameColumn, orNone } from './columns.ts';

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];
const classAnnotation = 'kubernetes.io/ingress.class';
/** What browsers and servers resolve differently, and so has no place in a path that is compared. */
const ambiguousParts = ['//', '/./', '/../', '%2f', '%2F'];
const ambiguousEnds = ['/..', '/.'];
/** Hosts shown in a table. */
const shownMax = 3;

const notIP = 'must be a DNS name, not an IP address';

const hostProblems = (host: string): string[] =>
  host.includes('*') ? isWildcardSubdomain(host) : isSubdomain1123(host);

function backendErrors(backend: IngressBackend = {}, path: string): FieldError[] {
  const { serviceName, servicePort, resource } = backend;
  if (resource)
    return serviceName || servicePort
      ? [invalid(path, '', 'cannot set both resource and service backends')]
      : [];
  const errors: FieldError[] = [];
  const namePath = child(path, 'serviceName');
  if (!serviceName) errors.push(required(namePath));
  else for (const problem of isLabel1123(serviceName)) errors.push(invalid(namePath, serviceName, problem));
  if (!servicePort) errors.push(required(path, 'port name or number is required'));
  else {
    const problems = typeof servicePort === 'number' ? isPortNumber(servicePort) : isPortName(servicePort);
    for (const problem of problems) errors.push(invalid(child(path, 'servicePort'), servicePort, problem));
  }
  return errors;
}

function pathErrors(entry: HTTPIngressPath, at: string): FieldError[] {
  const errors: FieldError[] = [];
  const { path = '', pathType = '', backend } = entry;
  const refuse = (problem: string): void => {
    errors.push(invalid(child(at, 'path'), path, problem));
  };
  const compared = pathType === 'Exact' || pathType === 'Prefix';
  if (!pathTypes.includes(pathType)) errors.push(notSupported(child(at, 'pathType'), pathType, pathTypes));
  else if (!path.startsWith('/') && (path !== '' || compared)) refuse('must be an absolute path');
  if (compared) {
    for (const part of ambiguousParts) if (path.includes(part)) refuse(`must not contain '${part}'`);
    for (const end of ambiguousEnds) if (path.endsWith(end)) refuse(`cannot end with '${end}'`);
  }
  errors.push(...backendErrors(backend, child(at, 'backend')));
  return errors;
}

function ruleErrors({ host, http }: IngressRule, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (host) {
    const hostPath = child(path, 'host');
    if (parseIP(host)) errors.push(invalid(hostPath, host, notIP));
    for (const problem of hostProblems(host)) errors.push(invalid(hostPath, host, problem));
  }
  if (!http) return errors;
  const pathsPath = child(path, 'http.paths');
  if (!http.paths?.length) errors.push(required(pathsPath));
  for (const [i, entry] of (http.paths ?? []).entries())
    errors.push(...pathErrors(entry, index(pathsPath, i)));
  return errors;
}

function specErrors({ spec = {} }: Ingress): FieldError[] {
  const { backend, rules = [], tls = [], ingressClassName } = spec;
  const errors: FieldError[] = [];
  if (!backend && !rules.length)
    errors.push(invalid('spec', null, 'either `backend` or `rules` must be specified'));
  if (backend) errors.push(...backendErrors(backend, 'spec.backend'));
  for (const [i, rule] of rules.entries()) errors.push(...ruleErrors(rule, index('spec.rules', i)));
  for (const [i, { hosts = [] }] of tls.entries())
    for (const [j, host] of hosts.entries())
      for (const problem of hostProblems(host))
        errors.push(invalid(index(child(index('spec.tls', i), 'hosts'), j), host, problem));
  if (ingressClassName !== undefined)
    for (const problem of isSubdomain1123(ingressClassName))
      errors.push(invalid('spec.ingressClassName', ingressClassName, problem));
  return errors;
}

/** The class was an annotation before it was a field. */
function classErrors({ metadata, spec }: Ingress): FieldError[] {
  const annotated = metadata.annotations?.[classAnnotation];
  const named = spec?.ingressClassName;
  if (annotated === undefined || named === undefined || annotated === named) return [];
  return [
    invalid(
      `annotations.${classAnnotation}`,
      annotated,
      'must match `ingressClassName` when both are specified',
    ),
  ];
}

function statusErrors({ status }: Ingress): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, { ip, hostname }] of (status?.loadBalancer?.ingress ?? []).entries()) {
    const path = index('status.loadBalancer.ingress', i);
    if (ip) for (const problem of isIP(ip)) errors.push(invalid(child(path, 'ip'), ip, problem));
    if (!hostname) continue;
    for (const problem of isSubdomain1123(hostname))
      errors.push(invalid(child(path, 'hostname'), hostname, problem));
    if (parseIP(hostname)) errors.push(invalid(child(path, 'hostname'), hostname, notIP));
  }
  return errors;
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
  shortNames: ['ing'],
  group: 'extensions',
  version: 'v1beta1',
  table: 'extensions-v1beta1',
  namespaced: true,
  subresources: [statusSubresource],
  generationOf: 'spec',

  defaults({ spec }) {
    for (const rule of spec?.rules ?? [])
      for (const path of rule.http?.paths ?? []) path.pathType ??= 'ImplementationSpecific';
  },

  validate: (ingress) => [...specErrors(ingress), ...classErrors(ingress)],
  validateStatusUpdate: statusErrors,

  columns: [
    nameColumn,
    { name: 'Class', description: 'Which controller serves the ingress.' },
    { name: 'Hosts', description: 'Names the ingress answers to.' },
    { name: 'Address', description: 'Where traffic enters.' },
    { name: 'Ports', description: 'Ports that are served.' },
    ageColumn,
  ],
  cells: (ingress, nowMs) => [
    ingress.metadata.name,
    orNone(ingress.spec?.ingressClassName),
    hostsText(ingress.spec?.rules),
    addressText(ingress),
    ingress.spec?.tls?.length ? '80, 443' : '80',
    ageCell(ingress, nowMs),
  ],
});
