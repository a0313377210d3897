/** Pod setup: what the containers of a pod need before they start: volumes, variables, a command line. */
import type { Container, Pod } from '../../api/generated/types.ts';
import type { ContainerLaunch, ImageCommand, PodPlace } from '../runtime/runtime.ts';

export type LaunchParts = Pick<ContainerLaunch, 'command' | 'env' | 'workingDir' | 'mounts'>;

export interface PodSetup {
  /** Sets up the volumes; throws `MountError` when one cannot be set up, and may be repeated. */
  prepare(place: PodPlace): Promise<void>;
  /**
   * The parts of a container; `pod` is its newest state, because annotations and labels change. Throws `ConfigError`
   * when the container cannot be created as its pod describes it.
   */
  parts(pod: Pod, container: Container, image: ImageCommand | undefined): Promise<LaunchParts>;
  /** Called with a newer state of the pod: volumes may show its labels and annotations. */
  update(pod: Pod): void;
  /** Updates volumes from the API objects they show. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** A setup that does nothing, for simulated pods. */
export const emptySetup: PodSetup = {
  prepare: async () => undefined,
  parts: async () => ({ command: [], env: {}, workingDir: undefined, mounts: [] }),
  update: () => undefined,
  refresh: async () => undefined,
  close: async () => undefined,
};
