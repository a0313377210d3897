/**
 * Ingress in networking.k8s.io/v1: a version of the stored extensions/v1beta1 with a more detailed backend. It shares
 * the rules of the stored kind, with field names of this version in the errors.
 */
import { child, type FieldError, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  HTTPIngressPath,
  HTTPIngressPathV1,
  Ingress,
  IngressBackend,
  IngressBackendV1,
  IngressRule,
  IngressRuleV1,
  IngressV1,
  ServiceBackendPort,
  TypedLocalObjectReference,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { ingressClassWarnings } from '../../rules/service/ingress-class-name.ts';
import { collect, type Findings, problemsOf } from '../../rules/shared/findings.ts';
import type { ApiObject } from '../../text/object.ts';
import { isLabel1123, isPathSegment, isPortName, isPortNumber, isSubdomain1123 } from '../../values/names.ts';
import { ingress } from '../extensions/ingress.ts';

function oldBackend({ service, resource }: IngressBackendV1): IngressBackend {
  if (!service) return { resource };
  return { serviceName: service.name, servicePort: service.port?.name || service.port?.number, resource };
}

function newBackend({ serviceName, servicePort, resource }: IngressBackend): IngressBackendV1 {
  if (!serviceName && !servicePort) return { resource };
  const port = typeof servicePort === 'number' ? { number: servicePort } : { name: servicePort };
  return { service: { name: serviceName, port }, resource };
}

/** A rule with each of its paths converted. */
const withPaths = <From, To>(
  { host, http }: { host?: string; http?: { paths?: From[] } },
  path: (from: From) => To,
): { host?: string; http?: { paths?: To[] } } => ({
  host,
  http: http && { paths: http.paths?.map(path) },
});

const oldRule = (rule: IngressRuleV1): IngressRule =>
  withPaths(rule, ({ backend = {}, ...rest }: HTTPIngressPathV1) => ({
    ...rest,
    backend: oldBackend(backend),
  }));

const newRule = (rule: IngressRule): IngressRuleV1 =>
  withPaths(rule, ({ backend = {}, ...rest }: HTTPIngressPath) => ({
    ...rest,
    backend: newBackend(backend),
  }));

function toStored({ spec = {}, ...rest }: IngressV1): Ingress {
  const { defaultBackend, rules, ...others } = spec;
  return {
    ...rest,
    spec: { ...others, backend: defaultBackend && oldBackend(defaultBackend), rules: rules?.map(oldRule) },
  } as Ingress;
}

function fromStored(object: ApiObject): IngressV1 {
  const { spec = {}, ...rest } = object as Ingress;
  const { backend, rules, ...others } = spec;
  return {
    ...rest,
    spec: { ...others, defaultBackend: backend && newBackend(backend), rules: rules?.map(newRule) },
  } as IngressV1;
}

/** A field path of the stored kind, with the names of this version. */
function renamed({ field, message, reason }: FieldError): FieldError {
  return {
    reason,
    field: field.replace(/^spec\.backend/, 'spec.defaultBackend'),
    message: message.replace('either `backend`', 'either `defaultBackend`'),
  };
}

function pathTypeErrors({ spec }: IngressV1): FieldError[] {
  return (spec?.rules ?? []).flatMap((rule, i) =>
    (rule.http?.paths ?? []).flatMap((entry, j) =>
      entry.pathType
        ? []
        : [pathTypeError(entry.pathType, index(child(index('spec.rules', i), 'http.paths'), j))],
    ),
  );
}

const pathTypeError = (pathType: string | undefined, path: string): FieldError =>
  pathType === undefined
    ? required(child(path, 'pathType'), 'pathType must be specified')
    : notSupported(child(path, 'pathType'), pathType, ['Exact', 'ImplementationSpecific', 'Prefix']);

function* portErrors({ name, number }: ServiceBackendPort, at: string): Findings {
  if (name && number) yield invalid(at, '', 'cannot set both port name & port number');
  else if (name) yield* problemsOf(child(at, 'service.port.name'), name, isPortName(name));
  else if (number) yield* problemsOf(child(at, 'service.port.number'), number, isPortNumber(number));
  else yield required(at, 'port name or number is required');
}

function* resourceErrors({ apiGroup, kind, name }: TypedLocalObjectReference, at: string): Findings {
  if (typeof apiGroup === 'string')
    yield* problemsOf(child(at, 'apiGroup'), apiGroup, isSubdomain1123(apiGroup));
  for (const [field, value] of Object.entries({ kind, name }))
    if (!value) yield required(child(at, field));
    else yield* problemsOf(child(at, field), value, isPathSegment(value));
}

/** The rules of this version's backends; the stored form has no room for all that can be wrong with them. */
function* backendErrors({ service, resource }: IngressBackendV1, at: string): Findings {
  if (service && resource) yield invalid(at, '', 'cannot set both resource and service backends');
  else if (resource) yield* resourceErrors(resource, child(at, 'resource'));
  else if (service) {
    const namePath = child(at, 'service.name');
    if (!service.name) yield required(namePath);
    else yield* problemsOf(namePath, service.name, isLabel1123(service.name));
    yield* portErrors(service.port ?? {}, at);
  } else yield invalid(at, '', 'resource or service backend is required');
}

function* allBackendErrors({ spec }: IngressV1): Findings {
  if (spec?.defaultBackend) yield* backendErrors(spec.defaultBackend, 'spec.defaultBackend');
  for (const [i, { http }] of (spec?.rules ?? []).entries())
    for (const [j, { backend = {} }] of (http?.paths ?? []).entries())
      yield* backendErrors(backend, child(index(child(index('spec.rules', i), 'http.paths'), j), 'backend'));
}

/** The stored kind's errors, without those about a missing path type and about backends, which are others here. */
function specErrors(object: IngressV1, old?: IngressV1): FieldError[] {
  const missing = pathTypeErrors(object);
  const others = (ingress.validate?.(toStored(object), old && toStored(old)) ?? []).map(renamed);
  const isSaid = ({ field }: FieldError): boolean =>
    /^spec\.(?:defaultBackend|rules\[\d+\]\.http\.paths\[\d+\]\.backend)\b/.test(field) ||
    missing.some((error) => error.field === field);
  return [...missing, ...collect(allBackendErrors(object)), ...others.filter((error) => !isSaid(error))];
}

export const networkingIngress = defineKind<IngressV1>({
  kind: 'Ingress',
  resource: 'ingresses',
  singular: 'ingress',
  shortNames: ['ing'],
  group: 'networking.k8s.io',
  version: 'v1',
  table: 'networking-v1-ingress',
  namespaced: true,
  stored: { kind: ingress, toStored, fromStored },
  subresources: [
    status({
      validate: (object, old) => ingress.changes.status?.validate?.(toStored(object), toStored(old)) ?? [],
    }),
  ],
  generationOf: 'spec',

  validate: specErrors,
  warnings: ingressClassWarnings,

  columns: ingress.columns,
  cells: (object) => ingress.cells?.(toStored(object)) ?? [],
});
