/** Options of the secure door, each group declared where it is read. */
import type { ListenOptions } from './listenoptions.ts';

export interface SecureOptions extends ListenOptions {}

/** A user that a cluster is started with. */
export interface ClusterUser {
  readonly name: string;
  readonly groups?: readonly string[];
}
