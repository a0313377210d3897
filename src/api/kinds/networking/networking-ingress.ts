/**
 * Ingress in networking.k8s.io/v1: a version of the stored extensions/v1beta1 with a more detailed backend. It shares
 * the rules of the stored kind, with field names of this version in the errors.
 */
import { child, type FieldError, index, invalid, required } from '../../errors/field-error.ts';
import type {
  HTTPIngressPath,
  HTTPIngressPathV1,
  Ingress,
  IngressBackend,
  IngressBackendV1,
  IngressRule,
  IngressRuleV1,
  IngressV1,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { ingressClassWarnings } from '../../rules/service/ingress-class-name.ts';
import type { ApiObject } from '../../text/object.ts';
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
    field: field
      .replace(/^spec\.backend/, 'spec.defaultBackend')
      .replace(/ackend\.serviceName$/, 'ackend.service.name')
      .replace(/ackend\.servicePort$/, 'ackend.service.port'),
    message: message.replace('either `backend`', 'either `defaultBackend`'),
  };
}

function pathTypeErrors({ spec }: IngressV1): FieldError[] {
  return (spec?.rules ?? []).flatMap((rule, i) =>
    (rule.http?.paths ?? []).flatMap((entry, j) =>
      entry.pathType
        ? []
        : [
            required(
              child(index(child(index('spec.rules', i), 'http.paths'), j), 'pathType'),
              'pathType must be specified',
            ),
          ],
    ),
  );
}

/** Backends with a port by name and by number, of which the stored kind has room for one. */
function portErrors({ spec }: IngressV1): FieldError[] {
  const error = ({ service }: IngressBackendV1 = {}, path: string): FieldError[] =>
    service?.port?.name && service.port.number
      ? [invalid(path, '', 'cannot set both port name & port number')]
      : [];
  const paths = (spec?.rules ?? []).flatMap(({ http }, i) =>
    (http?.paths ?? []).flatMap(({ backend }, j) =>
      error(backend, child(index(child(index('spec.rules', i), 'http.paths'), j), 'backend')),
    ),
  );
  return [...error(spec?.defaultBackend, 'spec.defaultBackend'), ...paths];
}

/** The stored kind's errors, without those about a missing path type, which has another message here. */
function specErrors(object: IngressV1, old?: IngressV1): FieldError[] {
  const missing = pathTypeErrors(object);
  const doubled = portErrors(object);
  const others = (ingress.validate?.(toStored(object), old && toStored(old)) ?? []).map(renamed);
  const isSaid = ({ field }: FieldError): boolean =>
    missing.some((error) => error.field === field) ||
    doubled.some((error) => field === `${error.field}.service.port`);
  return [...missing, ...doubled, ...others.filter((error) => !isSaid(error))];
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
