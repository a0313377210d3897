/** What a started cluster offers. Its options are declared in `options/`. */
import type { SimulatedPower } from './node/simulated-nodes.ts';

export type { StartOptions } from './options/start-options.ts';

export interface Cluster {
  /** Where the API answers, such as `http://127.0.0.1:43121`. */
  readonly url: string;
  /** Where the secure door answers, such as `https://127.0.0.1:43122`; undefined when that door is closed. */
  readonly secureUrl: string | undefined;
  /** File that holds the administrator's kubeconfig for the secure door; undefined when none was written. */
  readonly kubeconfigFile: string | undefined;
  /** A kubeconfig for the local door or, when that is closed, for the administrator at the secure one; YAML text. */
  readonly kubeconfig: string;
  /** A kubeconfig for a user of the secure door: one of the option `users`, or the administrator, `wherry-admin`. */
  readonly kubeconfigFor: (user: string) => string;
  /**
   * Resolves when the nodes of this process are registered and the manifests applied, with a few lines about them for
   * people.
   */
  readonly nodesReady: Promise<string | undefined>;
  /** How many pods run as processes of the node of this process, and end with it. */
  readonly podsRunning: number;
  /** Stops and starts single simulated nodes. */
  readonly simulated: SimulatedPower;
  /** The part that `close()` waits for now, in words; undefined while it is not under way. */
  readonly closingPart: string | undefined;
  /** Stops serving, and resolves when everything is closed. Safe to call twice. */
  close(): Promise<void>;
}
