/** What tests of stateful sets and of their claims share: a set to make and to scale, and its pods run by hand. */
import type { StartOptions } from '../../src/cluster/index.ts';
import type { Json } from '../http.ts';
import type { Mirror } from './mirror.ts';
import { type Place, template } from './sets.ts';

/** Pods stay as the test reports them: no controller starts or removes them, or binds their claims. */
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

/** Gets the pods of the set going one by one. */
export async function run(place: Place, pods: Mirror, count: number, first = 0): Promise<void> {
  for (let i = first; i < first + count; i++) {
    await pods.object(`web-${i}`);
    await place.ready(`web-${i}`);
  }
}
