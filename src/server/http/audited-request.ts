/**
 * What handlers report about a request to the audit log, and what they ask of it; implemented by
 * `observe/audit-record.ts`.
 */
import type { Kind } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';

export interface AuditedRequest {
  /** Uid and version of the object that was sent. */
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** Whether an object was left out because it is too long. */
  readonly isCut: boolean;
  /** Whether the server failed unexpectedly. */
  isBroken: boolean;
  /** Records the request body as it was sent. */
  takeValue(value: unknown): void;
  /** Records an object of a kind. */
  takeObject(kind: Kind, object: ApiObject): void;
  /** Records an answer that is not JSON. */
  takeAnswer(bytes: number, value: () => unknown): void;
}
