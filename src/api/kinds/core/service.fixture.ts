/** Services for tests, run through the hooks in the order of the registry. */

import type { FieldError } from '../../errors/field-error.ts';
import type { Service, ServiceSpec, ServiceStatus } from '../../generated/types.ts';
import { decodeObject } from '../../model/decode.ts';
import { service as kind } from './service.ts';

const context = { now: '2026-01-01T00:00:00Z' };

/** A service after decoding and defaulting. */
export function decoded(spec: object, status?: object): Service {
  const body = { metadata: { name: 'x' }, spec, ...(status ? { status } : {}) };
  const service = decodeObject(kind.model, body) as unknown as Service;
  kind.defaults!(service);
  return service;
}

/** The spec of a new service before it is validated. */
export function prepared(spec: object): Service {
  const service = decoded(spec);
  kind.prepareForCreate!(service, context);
  return service;
}

export const specOf = (spec: object): ServiceSpec => prepared(spec).spec!;

/** `field: message` of each error, in order. */
export const texts = (errors: readonly FieldError[]): string[] =>
  errors.map(({ field, message }) => `${field}: ${message}`);

/** The errors of a new service. */
export const problems = (spec: object): string[] => texts(kind.validate!(prepared(spec)));

/** A stored service, and the result of an update. */
export function updated(before: object, spec: object, status?: ServiceStatus): Service {
  const service = decoded(spec);
  service.status = status;
  kind.prepareForUpdate!(service, { metadata: {}, spec: before }, context);
  return service;
}

export const updateProblems = (before: object, spec: object): string[] =>
  texts(kind.validateUpdate!(updated(before, spec), { metadata: {}, spec: before }));

/** A valid port. */
export const port = { port: 80, protocol: 'TCP', targetPort: 80 };
