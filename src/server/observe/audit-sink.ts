/** Where audit events go. Sinks buffer events within bounds, count those they lose, and never throw. */

/**
 * Whether requests wait for their first event, that they were received, to be stored: `batch`: they do not. `blocking`:
 * they do. `blocking-strict`: they do, and fail when it cannot be stored.
 */
export type AuditMode = 'batch' | 'blocking' | 'blocking-strict';

export interface AuditSink {
  /** Events stored. */
  readonly written: number;
  /** Events lost, because the sink was too slow or failed. */
  readonly dropped: number;
  /** Buffers an event: a JSON object and a line feed. */
  append(line: string): void;
  /** Stores everything buffered at once. Resolves with whether that succeeded. */
  flushed(): Promise<boolean>;
  close(): Promise<void>;
}

/** A sink with the name it has in metrics. */
export interface AuditBackend {
  readonly plugin: 'log' | 'webhook';
  readonly sink: AuditSink;
  readonly mode: AuditMode;
}
