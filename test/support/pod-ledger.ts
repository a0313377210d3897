/**
 * A ledger of pods: all watch events of pods and their owners, in order. Afterwards it reports pods that were
 * created although their owner had enough.
 */
import type { Client, Json, WatchEvent, WatchReader } from './http.ts';

const ledgered = {
  pods: '/api/v1/pods',
  replicationcontrollers: '/api/v1/replicationcontrollers',
  jobs: '/apis/batch/v1/jobs',
};

type Resource = keyof typeof ledgered;

interface Line extends WatchEvent {
  readonly resource: Resource;
  readonly version: number;
}

const ended = ['Succeeded', 'Failed'];
const isActive = ({ metadata, status }: Json): boolean =>
  !metadata.deletionTimestamp && !ended.includes(status.phase);
const controllerOf = ({ metadata }: Json): string | undefined =>
  metadata.ownerReferences?.find((one: Json) => one.controller)?.uid;

export class PodLedger {
  readonly #lines: Line[] = [];
  readonly #reading: Promise<void>[];

  private constructor(private readonly watches: readonly [Resource, WatchReader][]) {
    this.#reading = watches.map(([resource, watch]) => this.#read(resource, watch));
  }

  /** Starts with the current version. */
  static async open(api: Client): Promise<PodLedger> {
    const { resourceVersion } = (await api.get('/api/v1/pods')).body.metadata;
    const query = `?watch=true&resourceVersion=${resourceVersion}`;
    const watches: [Resource, WatchReader][] = [];
    for (const [resource, path] of Object.entries(ledgered))
      watches.push([resource as Resource, await api.watch(path + query)]);
    return new PodLedger(watches);
  }

  get created(): number {
    return this.#lines.filter(({ resource, type }) => resource === 'pods' && type === 'ADDED').length;
  }

  /** Ends the watches; returns every pod that was created although there were enough. */
  async close(): Promise<string[]> {
    for (const [, watch] of this.watches) watch.close();
    await Promise.all(this.#reading);
    const audit = new Audit();
    for (const line of this.#lines.sort((a, b) => a.version - b.version)) audit.take(line);
    return audit.surplus;
  }

  async #read(resource: Resource, watch: WatchReader): Promise<void> {
    let closed = false;
    void watch.ended.then(() => {
      closed = true;
    });
    while (!closed) {
      try {
        const event = await watch.next();
        this.#lines.push({ ...event, resource, version: Number(event.object.metadata.resourceVersion) });
      } catch {
        // No event within the time limit, or the end of the stream.
      }
    }
  }
}

/** The replicas an owner asked for over time, and up to which generation it has certainly acted. */
interface Owner {
  readonly kind: string;
  readonly wishes: Map<number, number>;
  selector: Json;
  namespace: string;
  generation: number;
  observed: number;
}

class Audit {
  readonly surplus: string[] = [];
  readonly #pods = new Map<string, Json>();
  readonly #owners = new Map<string, Owner>();

  take({ resource, type, object }: Line): void {
    if (resource !== 'pods') return this.#ask(resource, object);
    const { uid } = object.metadata;
    if (type === 'DELETED') this.#pods.delete(uid);
    else this.#pods.set(uid, object);
    const owner = this.#owners.get(controllerOf(object) ?? '');
    if (type === 'ADDED' && owner) this.#judge(object, owner);
  }

  #ask(kind: string, { metadata, spec, status }: Json): void {
    const { uid, namespace, generation } = metadata;
    const owner = this.#owners.get(uid) ?? {
      kind,
      wishes: new Map<number, number>(),
      selector: spec.selector,
      namespace,
      generation,
      observed: generation,
    };
    this.#owners.set(uid, owner);
    owner.wishes.set(generation, kind === 'jobs' ? spec.completions : spec.replicas);
    owner.generation = generation;
    owner.observed = status.observedGeneration ?? owner.observed;
  }

  /** A controller acts on the state it saw last, which is at least as new as its observedGeneration. */
  #judge(pod: Json, owner: Owner): void {
    let most = 0;
    for (const [generation, wish] of owner.wishes)
      if (generation >= Math.min(owner.observed, owner.generation)) most = Math.max(most, wish);
    const uid = controllerOf(pod);
    const there = [...this.#pods.values()].filter((one) => {
      if (one.metadata.namespace !== owner.namespace) return false;
      const mine = controllerOf(one) ?? (matches(owner, one) ? uid : undefined);
      return mine === uid && (isActive(one) || (owner.kind === 'jobs' && one.status.phase === 'Succeeded'));
    });
    if (there.length > most)
      this.surplus.push(`${pod.metadata.name}: ${there.length} where ${most} were asked for`);
  }
}

/** Matching pods without a controller must be adopted before others are created. */
const matches = ({ kind, selector }: Owner, { metadata }: Json): boolean =>
  kind === 'replicationcontrollers' &&
  Object.entries(selector).every(([key, value]) => metadata.labels?.[key] === value);
