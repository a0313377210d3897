/**
 * Proves which Host headers the local door accepts: those of this machine, and the names of the API service for pods.
 */
import { describe, expect, it } from 'vitest';
import type { ApiRequest } from '../http/context.ts';
import { LocalDoor } from './local-door.ts';

const ownPort = 8080;

const asked = (host: string, headers: Record<string, string> = {}, localPort = ownPort): ApiRequest =>
  ({ headers: { host, ...headers }, socket: { localPort } }) as unknown as ApiRequest;

const checkLocal = (request: ApiRequest, clusterIP?: string): void =>
  new LocalDoor({ host: '127.0.0.1', port: 0, clusterIP }).admit(request);

const names = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

describe('names of the API in the cluster', () => {
  it.each(names)('%s is let in, as pods name it', (name) => {
    for (const host of [`${name}:443`, name, name.toUpperCase()])
      expect(() => checkLocal(asked(host), '10.0.0.1'), host).not.toThrow();
  });

  it.each(names)('%s is refused with the port a browser would have to name', (name) => {
    // DNS rebinding: a foreign name may resolve to this machine, but the page's origin has the server's own port.
    expect(() => checkLocal(asked(`${name}:${ownPort}`))).toThrow(/local clients only/);
    expect(() => checkLocal(asked(name, {}, 80))).toThrow(/local clients only/);
    expect(() => checkLocal(asked(`${name}:443`, {}, 443))).toThrow(/local clients only/);
  });

  it.each([
    'kubernetes.',
    'kubernetes.default.svc.cluster.local.',
    'kubernetes.kube-system',
    'kubernetes.default.svc.cluster',
    'kubernetes.default.svc.cluster.local.evil.example',
    'kubernetes.evil.example',
    'xkubernetes',
    'kubernetes:443:443',
    'kubernetes:x',
    'kubernetes@evil.example',
  ])('%j is none of them', (host) => {
    expect(() => checkLocal(asked(host), '10.0.0.1')).toThrow(/local clients only/);
  });

  it('are no origins of pages', () => {
    expect(() => checkLocal(asked('kubernetes:443', { origin: 'http://kubernetes:443' }))).toThrow(
      /local pages only/,
    );
  });
});

describe('addresses', () => {
  it('of this machine and of the service are let in', () => {
    for (const host of ['127.0.0.1:8080', 'localhost', '[::1]:8080', '10.0.0.1', '10.0.0.1:443'])
      expect(() => checkLocal(asked(host), '10.0.0.1'), host).not.toThrow();
    expect(() => checkLocal(asked('10.0.0.2'), '10.0.0.1')).toThrow(/local clients only/);
  });
});
