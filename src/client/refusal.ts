/** Refusals: what a server answered instead of what was asked for. */
import { type Status, StatusError } from '../api/errors.ts';

/** The error a refusal stands for, also when something between here and the server has worded it. */
export function refusal(code: number, text: string): StatusError {
  try {
    const { kind, message, reason, details } = JSON.parse(text) as Status;
    if (kind === 'Status') return new StatusError(code, reason, message ?? '', details);
  } catch {
    // Not JSON: the text is the message.
  }
  return new StatusError(code, undefined, text.slice(0, 1000) || `HTTP ${code}`);
}
