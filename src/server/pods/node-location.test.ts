/** Proves which address and port of a node are dialled, according to the Node object. */
import { describe, expect, it } from 'vitest';
import type { Node, NodeStatus } from '../../api/generated/types.ts';
import { locateNode } from './node-location.ts';

const node = (status?: NodeStatus): Node => ({ metadata: { name: 'n1' }, status });
const addresses = [
  { type: 'ExternalIP', address: '8.8.8.8' },
  { type: 'InternalIP', address: '10.0.0.1' },
  { type: 'InternalIP', address: '10.0.0.2' },
  { type: 'Hostname', address: 'n1.example' },
];

describe('the address of a node', () => {
  it('is the first of the first type there is, in the usual order or a given one', () => {
    expect(locateNode(node({ addresses })).host).toBe('n1.example');
    expect(locateNode(node({ addresses: addresses.slice(0, 3) })).host).toBe('10.0.0.1');
    expect(locateNode(node({ addresses }), ['ExternalDNS', 'ExternalIP']).host).toBe('8.8.8.8');
    expect(locateNode(node({ addresses: [{ type: 'Hostname', address: '' }, addresses[1]!] })).host).toBe(
      '10.0.0.1',
    );
  });

  it('is the only one that nodes of 1.1 may have, where there is no other', () => {
    const legacy = { type: 'LegacyHostIP', address: '10.0.0.9' };
    expect(locateNode(node({ addresses: [legacy] })).host).toBe('10.0.0.9');
    expect(locateNode(node({ addresses: [legacy, addresses[0]!] })).host).toBe('8.8.8.8');
  });

  it('is missing when no type is known, and the error lists what there is', () => {
    const failure = (status?: NodeStatus) => {
      try {
        return locateNode(node(status)).host;
      } catch (error) {
        return (error as { status: unknown }).status;
      }
    };
    expect(
      failure({
        addresses: [
          { type: 'Other', address: 'x' },
          { type: 'Odd', address: 'y' },
        ],
      }),
    ).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'no preferred addresses found; known addresses: [{Other x} {Odd y}]',
      code: 500,
    });
    expect(failure()).toMatchObject({ message: 'no preferred addresses found; known addresses: []' });
  });
});

describe('the port of a node', () => {
  it.each([
    [undefined, 10_250],
    [0, 10_250],
    [-1, 10_250],
    [70_000, 10_250],
    [12_345, 12_345],
  ])('%s is dialled as %s', (Port, port) => {
    expect(locateNode(node({ addresses, daemonEndpoints: { kubeletEndpoint: { Port } } })).port).toBe(port);
  });
});

it('a node that declares it serves WebSockets itself', () => {
  expect(locateNode(node({ addresses })).servesWebSockets).toBe(false);
  expect(
    locateNode(node({ addresses, declaredFeatures: ['A', 'ExtendWebSocketsToKubelet'] })).servesWebSockets,
  ).toBe(true);
});
