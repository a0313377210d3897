/** Expectations for refused requests: an HTTP code and a matching Status. */
import { expect } from 'vitest';
import type { Json, Reply } from '../support/http.ts';

/** Expects exactly this Status. Without reason and details, the Status must have none. */
export function expectFailure(
  reply: Reply,
  code: number,
  reason: string | undefined,
  message: string | RegExp,
  details?: Json,
): void {
  expect(reply.body, reply.text).toEqual({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: message instanceof RegExp ? expect.stringMatching(message) : message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  });
  expect(reply.status).toBe(code);
  expect(reply.headers['content-type']).toBe('application/json');
}

const reasons: Record<string, string> = {
  'Required value': 'FieldValueRequired',
  'Invalid value': 'FieldValueInvalid',
  'Unsupported value': 'FieldValueNotSupported',
  Forbidden: 'FieldValueForbidden',
  'Too long': 'FieldValueTooLong',
};

/** Expects that a write was refused for one value of a field. */
export function expectInvalid(reply: Reply, kind: string, name: string, field: string, text: string): void {
  const [bare, ...rest] = kind.split('.');
  const group = rest.join('.');
  expectFailure(reply, 422, 'Invalid', `${kind} "${name}" is invalid: ${field}: ${text}`, {
    ...(name ? { name } : {}),
    ...(group ? { group } : {}),
    kind: bare,
    causes: [{ reason: reasons[text.split(':')[0]!], message: text, field }],
  });
}

/** Expects that the options of a request were refused, for one of them. */
export function expectInvalidOptions(reply: Reply, kind: string, field: string, text: string): void {
  expectFailure(reply, 422, 'Invalid', `${kind}.meta.k8s.io "" is invalid: ${field}: ${text}`, {
    group: 'meta.k8s.io',
    kind,
    causes: [{ reason: reasons[text.split(':')[0]!], message: text, field }],
  });
}
