/** What handlers tell the audit log of a request, and what it asks of it; `observe/audit-record.ts` keeps it. */
import type { Kind } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';

export interface AuditedRequest {
  /** The uid and version of the object that was sent. */
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** Whether an object was left out because it is too long. */
  readonly isCut: boolean;
  /** The server failed, in a way that it was not made for. */
  isBroken: boolean;
  /** Takes what was sent, as it was sent. */
  takeValue(value: unknown): void;
  /** Takes an object of a kind. */
  takeObject(kind: Kind, object: ApiObject): void;
  /** Takes what is answered in another form than JSON. */
  takeAnswer(bytes: number, value: () => unknown): void;
}
