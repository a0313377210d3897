/** Endpoints objects, which tests write by hand: programs of the cluster read the slices that are made of them. */
import type { Endpoints } from '../api/generated/types.ts';
import type { Client } from './client.ts';
import { endpointSlices, type Resource } from './resources.ts';

export const endpoints: Resource<Endpoints> = { apiVersion: 'v1', resource: 'endpoints' };

/** The controllers that a cluster needs for that. */
export const mirroring = ['endpointslicemirroring'];

/** The addresses and ports that the slices of a service have. */
export async function mirrored(client: Client, namespace: string, name: string): Promise<string[]> {
  const labelSelector = `kubernetes.io/service-name=${name}`;
  const { items } = await client.list(endpointSlices, { namespace, labelSelector });
  return items.flatMap(({ endpoints, ports }) =>
    (endpoints ?? []).flatMap(({ addresses = [] }) =>
      (ports ?? []).map(({ port }) => `${addresses[0]}:${port}`),
    ),
  );
}
