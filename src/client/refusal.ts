/** Refusals: turns an error answer into a `StatusError`. */
import { type Status, StatusError } from '../api/errors/errors.ts';

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
