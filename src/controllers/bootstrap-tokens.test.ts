/** Bootstrap tokens sign what joining machines read, and go when their time has come. */
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ConfigMap } from '../api/generated/types.ts';
import { readYaml } from '../api/text/yaml.ts';
import { plantClusterInfo } from '../registry/system/cluster-info.ts';
import { Harness } from './shared/harness.fixture.ts';

const clock = { nowMs: Date.parse('2030-06-01T12:00:00Z') };
let harness: Harness;
beforeEach(async () => {
  clock.nowMs = Date.parse('2030-06-01T12:00:00Z');
  harness = await Harness.open(['kube-system', 'kube-public'], { nowMs: () => clock.nowMs });
});
afterEach(async () => {
  await harness.close();
  expect(harness.errors).toEqual([]);
});

const secret = '0123456789abcdef';
async function token(id: string, more: Record<string, string> = {}): Promise<void> {
  const data = { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-signing': 'true', ...more };
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  await harness.seed('v1', 'secrets', 'kube-system', {
    metadata: { name: `bootstrap-token-${id}` },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(encoded),
  });
}

const info = (): Record<string, string> =>
  (
    harness
      .all('core/configmaps')
      .find(({ name }) => name === 'cluster-info')
      ?.object() as ConfigMap | undefined
  )?.data ?? {};
const tokens = (): string[] => harness.all('core/secrets').map(({ name }) => name);
const address = { server: 'https://10.1.2.3:6443', certificateAuthority: 'PEM' };

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await harness.settled();
}

it('sign the address of the cluster, and only those that may', async () => {
  await plantClusterInfo(harness.writing, address);
  await token('aaaaaa');
  await token('bbbbbb', { 'usage-bootstrap-signing': 'false' });
  await token('cccccc', { expiration: '2030-06-01T11:00:00Z' });
  harness.start(['bootstrapsigner']);
  await settled();
  const { kubeconfig, ...signatures } = info();
  expect(readYaml(kubeconfig!).value).toMatchObject({
    clusters: [{ cluster: { server: address.server, 'certificate-authority-data': 'UEVN' } }],
    users: [],
  });
  expect(Object.keys(signatures)).toEqual(['jws-kubeconfig-aaaaaa']);
  const [header, content, mac] = signatures['jws-kubeconfig-aaaaaa']!.split('.');
  expect(JSON.parse(Buffer.from(header!, 'base64url').toString())).toEqual({ alg: 'HS256', kid: 'aaaaaa' });
  expect(content).toBe('');
  const input = `${header}.${Buffer.from(kubeconfig!).toString('base64url')}`;
  expect(mac).toBe(createHmac('sha256', secret).update(input).digest('base64url'));
});

it('sign again when the address changes, and signatures go with their tokens', async () => {
  harness.start(['bootstrapsigner', 'tokencleaner']);
  await token('aaaaaa', { expiration: '2030-06-01T12:30:00Z' });
  await plantClusterInfo(harness.writing, address);
  await settled();
  const before = info()['jws-kubeconfig-aaaaaa'];
  expect(before).toBeDefined();
  await plantClusterInfo(harness.writing, { ...address, server: 'https://10.9.9.9:6443' });
  await settled();
  expect(info()['jws-kubeconfig-aaaaaa']).not.toBe(before);
  clock.nowMs += 3_600_000;
  await token('dddddd');
  await settled();
  expect(Object.keys(info())).toEqual(['jws-kubeconfig-dddddd', 'kubeconfig']);
});

it('are deleted when their time has come, and not before', async () => {
  await token('aaaaaa', { expiration: '2030-06-01T11:59:59Z' });
  await token('bbbbbb', { expiration: '2030-06-01T12:00:02Z' });
  await token('cccccc');
  await token('dddddd', { expiration: 'tomorrow' });
  harness.start(['tokencleaner']);
  await settled();
  expect(tokens()).toEqual(['bootstrap-token-bbbbbb', 'bootstrap-token-cccccc']);
  clock.nowMs += 2_000;
  await expect.poll(tokens).toEqual(['bootstrap-token-cccccc']);
});
