/** Proves the host names of pods, and their hosts files. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Pod, PodSpec } from '../../api/generated/types.ts';
import { hostsFile, ownHostname, podHostname } from './hosts-file.ts';

const pod = (spec: PodSpec = {}, name = 'web-1'): Pod => ({
  metadata: { name, namespace: 'shop', uid: 'u' },
  spec,
});
const node = { metadata: { name: 'n1', labels: { 'kubernetes.io/hostname': 'laptop' } } };

describe('the name of a pod', () => {
  it.each<[string, PodSpec, string | undefined]>([
    ['its own', {}, 'web-1'],
    ['the one it asks for', { hostname: 'db' }, 'db'],
    [
      'the full one, if it asks for that',
      { hostname: 'db', subdomain: 'data', setHostnameAsFQDN: true },
      'db.data.shop.svc.cluster.local',
    ],
    [
      'its own, if the full one is too long for the kernel',
      { hostname: 'd'.repeat(40), subdomain: 'data', setHostnameAsFQDN: true },
      'd'.repeat(40),
    ],
    ['its own, if there is no full one', { setHostnameAsFQDN: true }, 'web-1'],
    ['that of the node on its network', { hostNetwork: true, hostname: 'db' }, undefined],
  ])('is %s', (_, spec, name) => {
    expect(ownHostname(pod(spec))).toBe(name);
    expect(podHostname(pod(spec), node)).toBe(name ?? 'laptop');
  });

  it('is cut to what a machine may be called', () => {
    expect(ownHostname(pod({}, `${'x'.repeat(62)}-y`))).toBe('x'.repeat(62));
  });
});

describe('the hosts file', () => {
  const machine = readFileSync('/etc/hosts', 'utf8').trim();

  it('of a pod with a network of its own knows that pod alone, by its full name first', async () => {
    const text = await hostsFile(pod({ hostname: 'db', subdomain: 'data' }), '10.1.0.5', false);
    expect(text).toContain('127.0.0.1\tlocalhost\n');
    expect(text).toMatch(/^10\.1\.0\.5\tdb\.data\.shop\.svc\.cluster\.local\tdb$/m);
  });

  it('of a pod that shares the network of the machine knows what the machine knows, and the pod', async () => {
    const text = await hostsFile(pod(), '192.168.0.9', true);
    expect(text).toContain(machine);
    expect(text.trimEnd().split('\n').at(-1)).toBe('192.168.0.9\tweb-1');
  });

  it('of a pod on the network of the node is the machine’s', async () => {
    const text = await hostsFile(pod({ hostNetwork: true }), '192.168.0.9', false);
    expect(text).toContain(machine);
    expect(text).not.toContain('web-1');
  });
});
