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
