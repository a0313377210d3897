/** The status a client gets at the end of a session: an object, or plain text for old protocols. */
import type { SessionResult } from './session.ts';

/** Longer messages are cut, so that a status fits into one frame. */
const messageCharsMax = 4000;
const exitCodeMax = 255;

/** The fields of a Status that are sent. Kind and apiVersion are left out, as Kubernetes does here. */
export interface SessionStatus {
  readonly metadata: Record<string, never>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes: readonly { readonly reason?: string; readonly message: string }[] };
  readonly code?: number;
}

export type SessionKind = 'exec' | 'attach';

const doing: Record<SessionKind, string> = {
  exec: 'error executing command in container',
  attach: 'error attaching to container',
};

const success: SessionStatus = { metadata: {}, status: 'Success' };

/** The status for a result. An attached session succeeds whatever the exit code of the process. */
export function sessionStatus(kind: SessionKind, result: SessionResult): SessionStatus {
  if (result.kind === 'failure') return internalError(`${doing[kind]}: ${result.message}`);
  return result.kind === 'exit' && kind === 'exec' ? exitStatus(result.code) : success;
}

/** Clients accept only codes that fit into a byte, and report others as protocol errors. */
function exitStatus(code: number): SessionStatus {
  if (code === 0) return success;
  const shown = Number.isInteger(code) && code > 0 && code <= exitCodeMax ? code : exitCodeMax;
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${shown}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: `${shown}` }] },
  };
}

const internalError = (text: string): SessionStatus => ({
  metadata: {},
  status: 'Failure',
  message: `Internal error occurred: ${text}`.slice(0, messageCharsMax),
  reason: 'InternalError',
  code: 500,
});

/** The bytes for the error stream. Protocols before v4 send only failures, and only the text. */
export function statusBytes(status: SessionStatus, asObject: boolean): Buffer {
  if (asObject) return Buffer.from(JSON.stringify(status));
  return Buffer.from(status.status === 'Success' ? '' : (status.message ?? ''));
}
