/** Drafts of edited texts, by object: visiting another part of the dashboard loses nothing. */
import type { ApiObject } from '../../core/objects.ts';

export interface Draft {
  /** The object that the edit began with. */
  readonly base: ApiObject;
  readonly baseText: string;
  readonly text: string;
}

const draftsMax = 20;
const drafts = new Map<string, Draft>();

export const draftOf = (uid: string): Draft | undefined => drafts.get(uid);

export function keepDraft(uid: string, draft: Draft): void {
  drafts.delete(uid);
  if (drafts.size >= draftsMax) drafts.delete(drafts.keys().next().value!);
  drafts.set(uid, draft);
}

export const dropDraft = (uid: string): void => void drafts.delete(uid);
