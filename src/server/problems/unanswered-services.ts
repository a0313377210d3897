/**
 * Services that nobody answers for: their selector fits no pod, or none that is ready. Those whose pods were scaled to
 * zero are meant to be so, and pods that are not well are reported themselves.
 */
import { formatMapSelector, type Labels } from '../../api/kind/label-selector.ts';
import type { Any } from './finding.ts';
import type { Found } from './problem.ts';

/** How long nobody may answer. */
const waitMs = 60_000;
const serviceLabel = 'kubernetes.io/service-name';

interface Asked {
  readonly found: Found;
  readonly selector: readonly (readonly [key: string, value: string])[];
  /** When something about it last changed. */
  since: string;
  hasWorkload: boolean;
  readonly pods: string[];
}

export class UnansweredServices {
  readonly #asked = new Map<string, Map<string, Asked>>();

  constructor(services: readonly Found[]) {
    for (const found of services) {
      const { namespace = '', name } = found.object;
      const byName = this.#asked.get(namespace) ?? new Map<string, Asked>();
      this.#asked.set(namespace, byName);
      const { selects, since } = found.finding;
      byName.set(name, {
        found,
        selector: Object.entries(selects ?? {}),
        since,
        hasWorkload: false,
        pods: [],
      });
    }
  }

  /** Namespaces that still have such services. */
  get namespaces(): string[] {
    return [...this.#asked].filter(([, services]) => services.size > 0).map(([namespace]) => namespace);
  }

  takeSlice({ metadata, endpoints }: Any): void {
    const services = this.#asked.get(metadata.namespace);
    const name = metadata.labels?.[serviceLabel];
    const asked = services?.get(name);
    if (!asked) return;
    if (endpoints?.some(({ conditions }: Any) => conditions?.ready !== false)) services!.delete(name);
    else for (const { time } of metadata.managedFields ?? []) later(asked, time);
  }

  takeWorkload(namespace: string, { spec }: Any): void {
    for (const asked of this.#fitting(namespace, spec?.template?.metadata?.labels)) asked.hasWorkload = true;
  }

  /** `read` parses the pod, which few need. */
  takePod(namespace: string, labels: Labels | undefined, read: () => Any): void {
    const fitting = this.#fitting(namespace, labels);
    if (fitting.length === 0) return;
    const { metadata, status } = read();
    if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return;
    const ready = status?.conditions?.find(({ type }: Any) => type === 'Ready');
    for (const asked of fitting) {
      if (ready?.status === 'True') this.#asked.get(namespace)!.delete(asked.found.object.name);
      asked.pods.push(metadata.uid);
      later(asked, ready?.lastTransitionTime ?? metadata.creationTimestamp);
    }
  }

  /** What is left. `troubled` are objects that something is known to be wrong with. */
  found(nowMs: number, troubled: ReadonlySet<string>): Found[] {
    return [...this.#asked.values()]
      .flatMap((services) => [...services.values()])
      .filter(
        ({ since, pods, hasWorkload }) =>
          nowMs >= (Date.parse(since) || 0) + waitMs &&
          (pods.length === 0 ? !hasWorkload : !pods.some((uid) => troubled.has(uid))),
      )
      .map(({ found, since, pods }) => {
        const text =
          pods.length > 0
            ? 'the selector fits no pod that is ready'
            : `the selector ${formatMapSelector(found.finding.selects)} fits no pod`;
        return { ...found, finding: { cause: text, text, severity: 'warning', since } };
      });
  }

  #fitting(namespace: string, labels: Labels | undefined): Asked[] {
    const services = labels && this.#asked.get(namespace);
    if (!services) return [];
    return [...services.values()].filter(({ selector }) =>
      selector.every(([key, value]) => labels[key] === value),
    );
  }
}

function later(asked: Asked, time: unknown): void {
  if (typeof time === 'string' && time > asked.since) asked.since = time;
}
