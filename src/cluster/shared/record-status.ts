/** What a recorder does now. */
export interface RecordStatus {
  /** Changes that were written since the start. */
  readonly changes: number;
  /** How long changes wait until they are written, in milliseconds. */
  readonly lagMs: number;
  /** Gaps that have begun since the start. */
  readonly gaps: number;
  /** Resources that are watched now. */
  readonly watched: number;
  /** Resources that are waited for: they could not be reached, or the server asked to wait. */
  readonly waiting: number;
  /** Resources that may not be read. */
  readonly refused: number;
  /** Objects that could not be written. */
  readonly skipped: number;
  /** Requests that were sent. */
  readonly requests: number;
  /** About as many bytes as the kept changes take. */
  readonly historyBytes: number;
}
