/** The containers of a pod with their states: init and ephemeral ones, too. */
import type { ApiObject, Json } from '../../core/objects.ts';

export interface Container {
  readonly name: string;
  readonly type: 'init' | 'main' | 'ephemeral';
  /** Whether it runs now. */
  readonly running: boolean;
  /** Whether it ran, now or before; what it waits for when it never did. */
  readonly started: boolean;
  readonly waitsFor: string | undefined;
  /** Whether there was a run before this one. */
  readonly ranBefore: boolean;
  /** Another one for every run and state of the container. */
  readonly signature: string;
  readonly ports: readonly {
    readonly containerPort: number;
    readonly name?: string;
    readonly protocol?: string;
  }[];
}

const lists = [
  ['init', 'initContainers', 'initContainerStatuses'],
  ['main', 'containers', 'containerStatuses'],
  ['ephemeral', 'ephemeralContainers', 'ephemeralContainerStatuses'],
] as const;

export function containersOf({ spec, status }: ApiObject): readonly Container[] {
  return lists.flatMap(([type, field, statuses]) =>
    listOf(spec?.[field]).map((container) => {
      const state = listOf(status?.[statuses]).find(({ name }) => name === container.name);
      return {
        type,
        name: String(container.name),
        running: state?.state?.running !== undefined,
        started: Boolean(state?.state?.running ?? state?.state?.terminated ?? state?.lastState?.terminated),
        waitsFor: state?.state?.waiting?.reason,
        ranBefore: state?.lastState?.terminated !== undefined,
        signature: JSON.stringify([state?.containerID, state?.restartCount, Object.keys(state?.state ?? {})]),
        ports: listOf(container.ports),
      };
    }),
  );
}

const listOf = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);
