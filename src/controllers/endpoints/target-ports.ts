/**
 * The ports of pods behind the ports of a service. Pods of one template have the same, which are worked out once: a
 * service may have thousands of ports, and select thousands of pods.
 */
import type { Service, ServicePort } from '../../api/generated/types.ts';
import { composedKey } from '../../composed-key.ts';
import { Memo } from '../../memo.ts';
import type { IndexedPod, NamedPort } from '../shared/indexed-pod.ts';

/** For each port of the service that of the pod; undefined where the pod has none of that name. */
export type PodPorts = readonly (number | undefined)[];

const layouts = new Memo((ports: readonly NamedPort[]) => JSON.stringify(ports));

export class TargetPorts {
  readonly #ports: readonly ServicePort[];
  readonly #asksForNames: boolean;
  /** By the named ports of pods. */
  readonly #known = new Map<string, PodPorts>();

  constructor({ spec = {} }: Service) {
    this.#ports = spec.ports ?? [];
    this.#asksForNames = this.#ports.some(({ targetPort }) => typeof targetPort === 'string');
  }

  /** The ports of a pod: the same list for all pods that have the same. */
  of({ ports }: IndexedPod): PodPorts {
    const layout = this.#asksForNames ? layouts.of(ports) : '';
    let known = this.#known.get(layout);
    if (!known) {
      known = this.#workedOut(ports);
      this.#known.set(layout, known);
    }
    return known;
  }

  #workedOut(ports: readonly NamedPort[]): PodPorts {
    const numbers = new Map<string, number>();
    if (this.#asksForNames)
      for (const { name, protocol, port } of ports) {
        const key = composedKey(protocol, name);
        // The first of a name counts.
        if (!numbers.has(key)) numbers.set(key, port);
      }
    return this.#ports.map(({ port, targetPort = port, protocol = 'TCP' }) =>
      typeof targetPort === 'number'
        ? targetPort || port
        : numbers.get(composedKey(protocol, targetPort ?? '')),
    );
  }
}
