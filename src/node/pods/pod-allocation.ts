/**
 * Pod allocation: the resources a node has allocated to the containers of a pod. They are those of its spec
 * at first; after a resize, the new ones as soon as the node has room for them.
 */
import type { Container, Pod } from '../../api/generated/types.ts';
import { sameAmounts } from './container-resize.ts';
import type { PodContainer } from './pod-container.ts';
import type { ResizeState } from './pod-status.ts';

/** Why a node cannot grant a resize: `Infeasible`, or `Deferred` when it may be able to later. */
export interface ResizeRefusal {
  readonly reason: string;
  readonly message: string;
}

export class PodAllocation {
  #refusal: ResizeRefusal | undefined;

  constructor(
    private readonly refusalOf: (pod: Pod) => ResizeRefusal | undefined,
    private readonly containerOf: (name: string) => PodContainer | undefined,
  ) {}

  /** Takes a newer spec of the containers; its resources are allocated later, by `give`. */
  take(pod: Pod): void {
    for (const spec of lastingOf(pod)) {
      const container = this.containerOf(spec.name!);
      container?.update({ ...spec, resources: container.spec.resources });
    }
  }

  /** Allocates the resources that the spec asks for, if the node has them. Returns whether to try again later. */
  give(pod: Pod): boolean {
    const open = lastingOf(pod).filter(
      ({ name, resources }) => !sameAmounts(resources, this.containerOf(name!)?.spec.resources),
    );
    this.#refusal = open.length ? this.refusalOf(pod) : undefined;
    if (!this.#refusal) for (const spec of open) this.containerOf(spec.name!)?.update(spec);
    for (const { name } of lastingOf(pod)) this.containerOf(name!)?.resize();
    return this.#refusal?.reason === 'Deferred';
  }

  /** The pod with its allocated resources in place of the requested ones. */
  of(pod: Pod): Pod {
    const given = (list: readonly Container[] | undefined): Container[] | undefined =>
      list?.map((one) => this.containerOf(one.name!)?.spec ?? one);
    const { spec = {} } = pod;
    return {
      ...pod,
      spec: { ...spec, containers: given(spec.containers), initContainers: given(spec.initContainers) },
    };
  }

  /** The pod's resize condition; undefined when no resize is pending or in progress. */
  state(pod: Pod): ResizeState | undefined {
    if (this.#refusal) return { type: 'PodResizePending', ...this.#refusal };
    const underWay = lastingOf(pod).flatMap(({ name }) => this.containerOf(name!)?.resizing ?? []);
    if (!underWay.length) return undefined;
    const message = underWay.find(({ problem }) => problem !== undefined)?.problem;
    return { type: 'PodResizeInProgress', ...(message ? { reason: 'Error', message } : {}) };
  }
}

const lastingOf = ({ spec }: Pod): Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];
