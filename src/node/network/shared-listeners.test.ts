/** Proves that the services of one namespace leave ports of the proxy to those of others. */
import { expect, it } from 'vitest';
import type { Service } from '../../api/generated/types.ts';
import type { ServiceDirectory } from '../../client/service-directory.ts';
import { ServiceProxy } from './service-proxy.ts';

const service = (namespace: string, count: number): Service => ({
  metadata: { namespace, name: 's' },
  spec: { clusterIP: '10.96.0.7', ports: Array.from({ length: count }, (_, i) => ({ port: i + 1 })) },
});

it('gives each namespace a quarter of them at most', async () => {
  const found = [service('greedy', 1_030), service('other', 20)];
  const directory = {
    onChange: () => undefined,
    services: () => found,
    service: (namespace: string) => found.find(({ metadata }) => metadata.namespace === namespace),
    slices: () => [],
  };
  const errors: string[] = [];
  const proxy = new ServiceProxy({
    ...{
      directory: directory as unknown as ServiceDirectory,
      sharedNetwork: true,
      serviceRange: '10.96.0.0/16',
    },
    ...{ nodeName: 'n', address: '10.1.1.1', nodePortHost: '10.1.1.1' },
    onError: ({ message }) => errors.push(message),
  });
  await proxy.start();
  expect(errors).toHaveLength(6);
  expect(errors[0]).toBe('service greedy/s:/TCP cannot answer: 1024 ports of its namespace do already');
  await proxy.close();
});
