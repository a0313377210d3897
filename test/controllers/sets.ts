/**
 * Helpers for tests of daemon sets and stateful sets: a namespace per test, mirrors of it, and pods whose
 * status the test writes.
 */
import { afterEach, beforeEach, expect } from 'vitest';
import type { Client, Json, WatchEvent } from '../support/http.ts';
import { Mirror } from './mirror.ts';

export class Place {
  namespace = '';
  readonly opened: Mirror[] = [];

  constructor(readonly api: Client) {}

  path(resource: string, name = ''): string {
    const prefix =
      resource.endsWith('sets') || resource === 'controllerrevisions' ? '/apis/apps/v1' : '/api/v1';
    return `${prefix}/namespaces/${this.namespace}/${resource}${name && `/${name}`}`;
  }

  async mirror(resource: string): Promise<Mirror> {
    const made = await Mirror.open(this.api, this.path(resource));
    this.opened.push(made);
    return made;
  }

  async make(resource: string, object: Json): Promise<Json> {
    const reply = await this.api.post(this.path(resource), object);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  }

  async change(resource: string, name: string, patch: object): Promise<Json> {
    const reply = await this.api.patch(this.path(resource, name), patch);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  }

  async get(resource: string, name: string): Promise<Json> {
    return (await this.api.get(this.path(resource, name))).body;
  }

  async list(resource: string): Promise<Json[]> {
    return (await this.api.get(this.path(resource))).body.items;
  }

  async remove(resource: string, name: string, options?: object): Promise<void> {
    const reply = await this.api.delete(this.path(resource, name), options);
    expect(reply.status, reply.text).toBe(200);
  }

  /** Writes the status of a pod, as its node would. */
  async report(pod: string, status: object): Promise<void> {
    const reply = await this.api.patch(`${this.path('pods', pod)}/status`, { status });
    expect(reply.status, reply.text).toBe(200);
  }

  ready(pod: string, at = new Date().toISOString(), status = 'True'): Promise<void> {
    const conditions = [{ type: 'Ready', status, lastTransitionTime: at.replace(/\.\d+/, '') }];
    return this.report(pod, { phase: 'Running', conditions });
  }
}

/** A namespace per test. */
export function usePlace(api: Client, prefix: string): Place {
  const place = new Place(api);
  let count = 0;
  beforeEach(async () => {
    place.namespace = `${prefix}-${++count}`;
    const reply = await api.post('/api/v1/namespaces', { metadata: { name: place.namespace } });
    expect(reply.status).toBe(200);
  });
  afterEach(() => {
    for (const mirror of place.opened.splice(0)) mirror.close();
  });
  return place;
}

export const template = (image = 'i:1', spec: object = {}, metadata: object = {}): Json => ({
  metadata: { labels: { app: 'web' }, ...metadata },
  spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'c', image }], ...spec },
});

export const imagePatch = (image: string): object => ({
  spec: { template: { spec: { containers: [{ name: 'c', image }] } } },
});

export const imageOf = (pod: Json): string => pod.spec.containers[0].image;
export const names = (objects: Json[]): string[] => objects.map(({ metadata }) => metadata.name).sort();
export const isMarked = ({ metadata }: Json): boolean => metadata.deletionTimestamp !== undefined;
export const isReady = (pod: Json): boolean =>
  !isMarked(pod) &&
  pod.status.phase === 'Running' &&
  pod.status.conditions?.some((one: Json) => one.type === 'Ready' && one.status === 'True');

/** The objects after each event, by name. */
export function* moments(
  events: readonly WatchEvent[],
): Iterable<{ event: WatchEvent; objects: Map<string, Json> }> {
  const objects = new Map<string, Json>();
  for (const event of events) {
    const { name } = event.object.metadata;
    if (event.type === 'DELETED') objects.delete(name);
    else objects.set(name, event.object);
    yield { event, objects: new Map(objects) };
  }
}
