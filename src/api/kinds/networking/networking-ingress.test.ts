/** Ingress in its two versions: conversion keeps all fields, and errors name the fields of the requested version. */
import { describe, expect, test } from 'vitest';
import type { Ingress, IngressV1 } from '../../generated/types.ts';
import { networkingIngress } from './networking-ingress.ts';

const modern: IngressV1 = {
  metadata: { name: 'site' },
  spec: {
    ingressClassName: 'class',
    defaultBackend: { service: { name: 'web', port: { number: 80 } } },
    tls: [{ hosts: ['a.example.com'], secretName: 'cert' }],
    rules: [
      {
        host: 'a.example.com',
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { name: 'http' } } } },
            { path: '/r', pathType: 'Exact', backend: { resource: { kind: 'Bucket', name: 'files' } } },
          ],
        },
      },
    ],
  },
};

const old: Ingress = {
  metadata: { name: 'site' },
  spec: {
    ingressClassName: 'class',
    backend: { serviceName: 'web', servicePort: 80 },
    tls: [{ hosts: ['a.example.com'], secretName: 'cert' }],
    rules: [
      {
        host: 'a.example.com',
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { serviceName: 'web', servicePort: 'http' } },
            { path: '/r', pathType: 'Exact', backend: { resource: { kind: 'Bucket', name: 'files' } } },
          ],
        },
      },
    ],
  },
};

describe('conversion', () => {
  const { toStored, fromStored } = networkingIngress.stored!;

  test('to the stored form', () => {
    expect(toStored(modern, undefined)).toEqual(old);
  });

  test('and back', () => {
    expect(fromStored(old)).toEqual(modern);
  });

  test('of an ingress that says nothing', () => {
    expect(fromStored({ metadata: { name: 'x' } })).toEqual({ metadata: { name: 'x' }, spec: {} });
  });
});

describe('validation', () => {
  const errors = (spec: IngressV1['spec']) =>
    networkingIngress.validate?.({ metadata: { name: 'x' }, spec } as IngressV1);

  test('accepts what is right', () => {
    expect(networkingIngress.validate?.(modern)).toEqual([]);
  });

  test('names the fields of its version', () => {
    expect(errors({})).toEqual([
      {
        field: 'spec',
        reason: 'FieldValueInvalid',
        message: 'Invalid value: null: either `defaultBackend` or `rules` must be specified',
      },
    ]);
    expect(errors({ defaultBackend: { service: { port: { number: 80 } } } })).toEqual([
      { field: 'spec.defaultBackend.service.name', reason: 'FieldValueRequired', message: 'Required value' },
    ]);
  });

  test('wants a path type', () => {
    const paths = [{ path: '/', backend: { service: { name: 'web', port: { number: 80 } } } }];
    expect(errors({ rules: [{ http: { paths } }] })).toEqual([
      {
        field: 'spec.rules[0].http.paths[0].pathType',
        reason: 'FieldValueRequired',
        message: 'Required value: pathType must be specified',
      },
    ]);
  });
});

test('a backend has a port by name or by number', () => {
  const both = { service: { name: 'web', port: { name: 'http', number: 80 } } };
  const errors = networkingIngress.validate!({
    metadata: { name: 'site' },
    spec: {
      defaultBackend: both,
      rules: [{ http: { paths: [{ path: '/', pathType: 'Exact', backend: both }] } }],
    },
  } as IngressV1);
  const message = 'Invalid value: "": cannot set both port name & port number';
  expect(errors).toMatchObject([
    { field: 'spec.defaultBackend', message },
    { field: 'spec.rules[0].http.paths[0].backend', message },
  ]);
});

test.each<[what: string, backend: object, field: string, message: string]>([
  ['nothing', {}, '', 'Invalid value: "": resource or service backend is required'],
  [
    'an empty service beside a resource',
    { service: {}, resource: { kind: 'a', name: 'b' } },
    '',
    'Invalid value: "": cannot set both resource and service backends',
  ],
  [
    'a port of neither name nor number',
    { service: { name: 'web', port: {} } },
    '',
    'Required value: port name or number is required',
  ],
  [
    'a service without a port',
    { service: { name: 'web' } },
    '',
    'Required value: port name or number is required',
  ],
  [
    'a high port',
    { service: { name: 'web', port: { number: 70_000 } } },
    '.service.port.number',
    'Invalid value: 70000: must be between 1 and 65535, inclusive',
  ],
  [
    'a bad port name',
    { service: { name: 'web', port: { name: '80' } } },
    '.service.port.name',
    'Invalid value: "80": must contain at least one letter (a-z)',
  ],
  ['a resource without a kind', { resource: { name: 'b' } }, '.resource.kind', 'Required value'],
  ['a resource without a name', { resource: { kind: 'a' } }, '.resource.name', 'Required value'],
  [
    'a resource of a name with a slash',
    { resource: { kind: 'a', name: 'b/c' } },
    '.resource.name',
    `Invalid value: "b/c": may not contain '/'`,
  ],
])('a backend of %s is refused, by the names of this version', (_what, backend, field, message) => {
  const errors = networkingIngress.validate!({
    metadata: { name: 'site' },
    spec: {
      defaultBackend: backend,
      rules: [{ http: { paths: [{ path: '/', pathType: 'Exact', backend }] } }],
    },
  } as IngressV1);
  expect(errors).toMatchObject([
    { field: `spec.defaultBackend${field}`, message },
    { field: `spec.rules[0].http.paths[0].backend${field}`, message },
  ]);
});
