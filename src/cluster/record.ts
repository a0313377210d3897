/** Records a live cluster: what `wherry record` does. The recorder is loaded with its first use. */
import type { SecretMode } from '../recorder/source/secret-values.ts';
import type { Cluster, StartOptions } from './cluster.ts';
import type { RecordStatus } from './shared/record-status.ts';

/** What is recorded, from where and to where, and how it is shown meanwhile. */
export interface RecordOptions
  extends Pick<StartOptions, 'port' | 'host' | 'ui' | 'onError' | 'onWarning' | 'log'> {
  /** Folder of the recording. One that holds a recording of the same cluster goes on. */
  readonly dataDir: string;
  /** Default: those of `KUBECONFIG`, or `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  /** Default: the current one. */
  readonly context?: string | undefined;
  /** Record only these resources, such as `pods` or `deployments.apps`. Default: all that can be listed and watched. */
  readonly kinds?: readonly string[] | undefined;
  /** What is kept of secrets: names and keys with other values (`keys`), nothing (`none`), or all (`values`). Default `keys`. */
  readonly secrets?: SecretMode | undefined;
  /** Record metadata alone. Default false. */
  readonly metadataOnly?: boolean | undefined;
  /** How long changes are kept, in milliseconds. Default a day. */
  readonly historyMs?: number | undefined;
  /** How large the data file may become, in bytes; the oldest changes go first. Default 2 GiB. */
  readonly historyBytes?: number | undefined;
  /** Requests a second. Default 20. */
  readonly requestsPerSecond?: number | undefined;
  /** Called while everything is listed for the first time. */
  readonly progress?: ((progress: RecordProgress) => void) | undefined;
}

export interface RecordProgress {
  /** What is being listed. */
  readonly resource: string;
  readonly kinds: number;
  readonly kindsTotal: number;
}

/** A cluster that is being recorded, and shown read-only. */
export interface RecordedCluster extends Cluster {
  /** The server that is recorded. */
  readonly source: string;
  status(): RecordStatus;
}

/**
 * Follows a live cluster by watches, with GET requests alone, and writes every change into a data folder. What was recorded
 * is served meanwhile, read-only. Ends with `close()`. Rejects with a `StartError`.
 */
export async function record(options: RecordOptions): Promise<RecordedCluster> {
  const { startRecorder } = await import('./recorder.ts');
  return startRecorder(options);
}
