/**
 * Looks for problems in the view. What is found about an object is kept as long as the object is unchanged, so that
 * asking again costs little; those who do not ask pay nothing.
 */
import type { Kind } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { Memo } from '../../memo.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything, Filter } from '../../registry/view/filter.ts';
import { inSlices } from '../../time-slices.ts';
import { EventReasons } from './event-reasons.ts';
import { examinerOf } from './examined-kinds.ts';
import { FailedJobPods } from './failed-job-pods.ts';
import type { Any, Finding } from './finding.ts';
import { ingressFindings } from './ingress-findings.ts';
import type { Found, ObjectName } from './problem.ts';
import type { ReadableScope } from './readable-scope.ts';
import { asPast, isWhole, workloadKindOf } from './replaced-pods.ts';
import { UnansweredServices } from './unanswered-services.ts';
import { type Backends, webhookFindings } from './webhook-findings.ts';

/** Findings that are kept of one answer. */
const foundMax = 20_000;
/** Steps of the event loop's slices that a byte of an object takes to parse, and one that is known. */
const byteSteps = 4;
const knownSteps = 5;

interface Examined {
  readonly object: ObjectName;
  readonly owner: Any;
  readonly findings: readonly Finding[];
}

const examined = new Memo((entry: Entry): Examined => {
  const object = parsed(entry);
  const { apiVersion = '', kind = '', metadata } = object;
  const { namespace, name = '', uid = '' } = metadata;
  return {
    object: { apiVersion, kind, ...(namespace ? { namespace } : {}), name, uid },
    owner: metadata.ownerReferences?.find(({ controller }) => controller),
    findings: examinerOf(entry.kind)!(object as Any),
  };
});

const parsed = (entry: Entry): ApiObject => JSON.parse(entry.document.toString('utf8')) as ApiObject;

export class ProblemSearch {
  readonly #found: Found[] = [];
  readonly #reasons = new EventReasons();
  readonly #jobPods = new FailedJobPods();
  /** Services whose pods are looked for. */
  readonly #asked: Found[] = [];
  /** There was more than is kept. */
  isCut = false;

  constructor(
    private readonly registry: Registry,
    private readonly scope: ReadableScope,
    private readonly nowMs: number,
  ) {}

  async all(): Promise<readonly Found[]> {
    for (const kind of this.registry.kinds) {
      if (kind.storage !== kind || !examinerOf(kind)) continue;
      await this.#walk(kind, (entry) => this.#take(entry));
    }
    await this.#webhooks();
    await this.#ingresses();
    await this.#services();
    await this.#explain();
    this.#jobPods.addTo(this.#found);
    await this.#lift();
    await this.#settle();
    return this.#found;
  }

  /** Visits all objects of a kind that the user may read, in slices; those of some namespaces, or of all. */
  async #walk(kind: Kind, visit: (entry: Entry) => void, within?: readonly string[]): Promise<void> {
    const collection = this.registry.view.findCollection(kind.id);
    if (!collection || collection.size === 0) return;
    const readable = await this.scope.of(kind);
    const namespaces = within?.filter((name) => readable?.includes(name) ?? true) ?? readable;
    const filters = namespaces?.map(
      (namespace) => new Filter(namespace, undefined, undefined, undefined),
    ) ?? [everything];
    const work = function* (): Generator<number, void> {
      for (const filter of filters)
        for (const entry of collection.select(filter).entries) {
          const isKnown = known.has(entry);
          visit(entry);
          known.add(entry);
          yield isKnown ? knownSteps : entry.document.length * byteSteps;
        }
    };
    await inSlices(work());
  }

  #take(entry: Entry): void {
    const { object, owner, findings } = examined.of(entry);
    for (const finding of findings) {
      const { afterMs = 0, untilMs = Infinity, isExplainedByEvents, isOnlyInEvents } = finding;
      if (this.nowMs < afterMs || this.nowMs > untilMs) continue;
      const found = { object, finding, owner: owner && { ...nameOf(owner), namespace: object.namespace } };
      if (finding.selects) this.#asked.push(found);
      else if (finding.explainsJob) this.#jobPods.take(found);
      else if (isOnlyInEvents) this.#reasons.ask(found, undefined);
      else if (this.#found.length >= foundMax) this.isCut = true;
      else {
        if (isExplainedByEvents) this.#reasons.ask(found, this.#found.length);
        this.#found.push(found);
      }
    }
  }

  /** Events are read when something needs them. */
  async #explain(): Promise<void> {
    const kind = this.registry.kinds.resource('v1', 'events');
    if (this.#reasons.isEmpty || !kind) return;
    const { wantsNormal } = this.#reasons;
    await this.#walk(kind.storage, (entry) => {
      if (wantsNormal || entry.document.includes('"Warning"')) this.#reasons.take(parsed(entry));
    });
    this.#reasons.addTo(this.#found);
  }

  /** Webhooks whose service answers nobody: what they should look at cannot be written. */
  async #webhooks(): Promise<void> {
    const { kinds, view } = this.registry;
    const services = kinds.resource('v1', 'services');
    const slices = kinds.resource('discovery.k8s.io/v1', 'endpointslices');
    if (
      !services ||
      !slices ||
      (await this.scope.of(services)) !== undefined ||
      (await this.scope.of(slices)) !== undefined
    )
      return;
    const backends: Backends = {
      exists: (namespace, name) => view.findCollection('core/services')?.get(namespace, name) !== undefined,
      slices: (namespace) =>
        (
          view
            .findCollection('discovery.k8s.io/endpointslices')
            ?.select(new Filter(namespace, undefined, undefined, undefined)).entries ?? []
        ).map(parsed) as Any[],
    };
    for (const resource of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
      const kind = kinds.resource('admissionregistration.k8s.io/v1', resource);
      if (!kind) continue;
      await this.#walk(kind.storage, (entry) => {
        const { object } = examined.of(entry);
        for (const finding of webhookFindings(parsed(entry) as Any, backends))
          this.#found.push({ object, finding });
      });
    }
  }

  /** Ingresses of namespaces whose services the user may read. */
  async #ingresses(): Promise<void> {
    const { kinds, view } = this.registry;
    const kind = kinds.resource('networking.k8s.io/v1', 'ingresses');
    const services = kinds.resource('v1', 'services');
    if (!kind || !services) return;
    const collection = view.findCollection(services.storage.id);
    const namespaces = await this.scope.of(services);
    const visit = (entry: Entry): void => {
      // They are stored in an older version.
      const shown = entry.object(kind);
      const object = nameOf({ ...shown, ...shown.metadata });
      const exists = (name: string): boolean => collection?.get(entry.namespace, name) !== undefined;
      for (const finding of ingressFindings(shown, exists))
        if (this.nowMs >= (finding.afterMs ?? 0))
          this.#found.push({ object: { ...object, namespace: entry.namespace }, finding });
    };
    await this.#walk(kind.storage, visit, namespaces);
  }

  /** Services that nobody answers for. None is reported to users who may not see all that could answer. */
  async #services(): Promise<void> {
    const { kinds } = this.registry;
    const [slices, pods, ...workloads] = answering.map(([version, name]) => kinds.resource(version, name));
    if (this.#asked.length === 0 || !slices || !pods) return;
    const needed = [slices, pods, ...workloads].filter((kind) => kind !== undefined);
    const scopes = await Promise.all(needed.map((kind) => this.scope.of(kind)));
    const services = new UnansweredServices(
      this.#asked.filter(({ object }) =>
        scopes.every((namespaces) => namespaces?.includes(object.namespace!) ?? true),
      ),
    );
    await this.#walk(slices.storage, (entry) => services.takeSlice(parsed(entry)), services.namespaces);
    const { namespaces } = services;
    await this.#walk(
      pods.storage,
      (entry) => services.takePod(entry.namespace, entry.labels, () => parsed(entry)),
      namespaces,
    );
    for (const kind of workloads)
      if (kind)
        await this.#walk(
          kind.storage,
          (entry) => services.takeWorkload(entry.namespace, parsed(entry)),
          services.namespaces,
        );
    const troubled = new Set(this.#found.map(({ object }) => object.uid));
    this.#found.push(...services.found(this.nowMs, troubled));
  }

  /** Replica sets of deployments stand for these, where the user may read them. */
  async #lift(): Promise<void> {
    const { kinds, view } = this.registry;
    const sets = kinds.resource('apps/v1', 'replicasets');
    const collection = sets && view.findCollection(sets.storage.id);
    if (!sets || !collection) return;
    const namespaces = await this.scope.of(sets);
    for (const [i, found] of this.#found.entries()) {
      const { owner } = found;
      if (owner?.kind !== 'ReplicaSet' || (namespaces && !namespaces.includes(owner.namespace!))) continue;
      const entry = collection.get(owner.namespace!, owner.name);
      const above = entry && examined.of(entry).owner;
      if (above) this.#found[i] = { ...found, owner: { ...nameOf(above), namespace: owner.namespace } };
    }
  }

  /** Pods that were replaced are past where their workload is whole, as far as the user may read it. */
  async #settle(): Promise<void> {
    const { kinds, view } = this.registry;
    for (const [i, found] of this.#found.entries()) {
      const { owner, finding } = found;
      const kind = finding.isOverOnceReplaced && owner ? workloadKindOf(owner, kinds) : undefined;
      if (!kind || !owner) continue;
      const namespaces = await this.scope.of(kind);
      if (namespaces && !namespaces.includes(owner.namespace!)) continue;
      const entry = view.findCollection(kind.storage.id)?.get(owner.namespace!, owner.name);
      const workload = entry && (parsed(entry) as Any);
      if (workload?.metadata.uid === owner.uid && isWhole(workload)) this.#found[i] = asPast(found);
    }
  }
}

/** What can answer for a service, and what makes it. */
const answering = [
  ['discovery.k8s.io/v1', 'endpointslices'],
  ['v1', 'pods'],
  ['apps/v1', 'deployments'],
  ['apps/v1', 'statefulsets'],
  ['apps/v1', 'daemonsets'],
  ['apps/v1', 'replicasets'],
  ['v1', 'replicationcontrollers'],
] as const;

/** Entries whose findings are known, which cost nothing more. */
const known = new WeakSet<Entry>();

const nameOf = ({ apiVersion, kind, name, uid }: Any): ObjectName => ({ apiVersion, kind, name, uid });
