/**
 * Finalizing: which finalizers of its own a server puts on objects. A finalizer holds an object until something takes
 * it off, so it is put on only where something does.
 */
export interface Finalizing {
  /** Claims and volumes are held while they are in use. */
  readonly protection: boolean;
  /** Owners are held until their dependents are orphaned, or deleted before them. */
  readonly collection: boolean;
  /**
   * As in Kubernetes 1.1, what need not be held goes with the request: a claim that no pod uses, a controller whose
   * pods are to stay. Otherwise it goes when a controller takes the finalizer off, as a current server has it.
   */
  readonly prompt: boolean;
  /**
   * A PUT that leaves out the finalizers that hold claims and volumes does not take them off, because clients of
   * Kubernetes 1.1 do not know finalizers. On a current server it does.
   */
  readonly kept: boolean;
  /** Clients may finalize a namespace that the server is about to remove, or has removed: see `late-finalize.ts`. */
  readonly late?: boolean;
}

export const fullFinalizing: Finalizing = { protection: true, collection: true, prompt: true, kept: true };
