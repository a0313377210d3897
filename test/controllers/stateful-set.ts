/**
 * Helpers for tests of stateful sets and their claims: a set to create and scale, and pods whose status the
 * test writes.
 */
import type { StartOptions } from '../../src/cluster/index.ts';
import type { Json } from '../support/http.ts';
import type { Mirror } from './mirror.ts';
import { type Place, template } from './sets.ts';

/** No controller starts or removes the pods, or binds their claims: they stay as the test reports them. */
export const byHand: StartOptions = {
  controllers: ['-scheduler', '-node', '-pod-collector', '-volume-binder'],
};

export const make = (place: Place, replicas: number, spec: object = {}): Promise<Json> =>
  place.make('statefulsets', {
    metadata: { name: 'web' },
    spec: {
      replicas,
      serviceName: 'db',
      selector: { matchLabels: { app: 'web' } },
      template: template(),
      ...spec,
    },
  });

export const scale = (place: Place, replicas: number): Promise<Json> =>
  place.change('statefulsets', 'web', { spec: { replicas } });

/** Makes the pods of the set run, one by one. */
export async function run(place: Place, pods: Mirror, count: number, first = 0): Promise<void> {
  for (let i = first; i < first + count; i++) {
    await pods.object(`web-${i}`);
    await place.ready(`web-${i}`);
  }
}
