/** What lifecycles of simulated pods decide about their containers. */
export interface PodLives {
  /** Resolves when the containers of a pod may start; undefined: now. */
  waiting(uid: string): Promise<void> | undefined;
  /** A container runs. @param end ends it with a code */
  running(uid: string, end: (code: number) => void): void;
  /** It has ended. */
  ended(uid: string, end: (code: number) => void): void;
}
