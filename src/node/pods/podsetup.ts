/** Pod setup: what the containers of a pod need before they can start: volumes, variables, a command line. */
import type { Container } from '../../api/generated/types.ts';
import type { ContainerLaunch, ImageCommand, PodPlace } from '../runtime/runtime.ts';

export type LaunchParts = Pick<ContainerLaunch, 'command' | 'env' | 'workingDir' | 'mounts'>;

export interface PodSetup {
  /** Sets up the volumes; throws `MountError` when one cannot be, and may be called again then. */
  prepare(place: PodPlace): Promise<void>;
  /** Throws `ConfigError` when the container cannot be made as its pod describes it. */
  parts(container: Container, image: ImageCommand | undefined): Promise<LaunchParts>;
  /** Brings volumes in line with the objects they show. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** For pods that are only pretended. */
export const emptySetup: PodSetup = {
  prepare: async () => undefined,
  parts: async () => ({ command: [], env: {}, workingDir: undefined, mounts: [] }),
  refresh: async () => undefined,
  close: async () => undefined,
};
