/** Refusals: turns an error answer into a `StatusError`. */
import { type Status, StatusError } from '../api/errors/errors.ts';

/** Whether a server does not have the resource at all; where an object is missing, its answer names the object. */
export const isUnserved = (error: unknown): boolean =>
  error instanceof StatusError && error.code === 404 && !error.status.details?.name;

/** The error for an answer, also if a proxy in between has written it. */
export function refusal(code: number, text: string): StatusError {
  try {
    const { kind, message, reason, details } = JSON.parse(text) as Status;
    if (kind === 'Status') return new StatusError(code, reason, message ?? '', details);
  } catch {
    // Not JSON: use the text as message.
  }
  return new StatusError(code, undefined, text.slice(0, 1000) || `HTTP ${code}`);
}
