/**
 * Finalizing: which finalizers this server puts on objects. A finalizer keeps an object until a controller removes it,
 * so it is put on only where such a controller runs.
 */
export interface Finalizing {
  /** Whether claims and volumes are kept while they are in use. */
  readonly protection: boolean;
  /** Whether owners are kept until their dependents are orphaned or deleted. */
  readonly collection: boolean;
  /**
   * As in Kubernetes 1.1, an object that need not be kept is removed within the delete request: a claim that no pod
   * uses, or a controller whose pods are to stay. Otherwise it is removed when a controller removes the finalizer, as
   * on a current server.
   */
  readonly prompt: boolean;
  /**
   * Whether a PUT without the finalizers of claims and volumes keeps them, because clients of Kubernetes 1.1 do not
   * know finalizers. On a current server such a PUT removes them.
   */
  readonly kept: boolean;
  /**
   * Whether clients may finalize a namespace that the server is about to remove, or has removed: see
   * `late-finalize.ts`.
   */
  readonly late?: boolean;
}

export const fullFinalizing: Finalizing = { protection: true, collection: true, prompt: true, kept: true };
