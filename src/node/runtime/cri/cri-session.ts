/**
 * Sessions with a container. The engine answers with a URL of its own streaming server, which speaks SPDY like a kubelet.
 * Commands of the agent itself, such as probes, need no stream: one call returns their output.
 */
import { dialTcp } from '../../../streams/dial/dialing.ts';
import type { Session, SessionResult, SessionWish } from '../../../streams/session/session.ts';
import { openRemoteCommand, remoteCommand } from '../../../streams/spdy/remote-command-client.ts';
import type { CriApi } from './cri-api.ts';

/** Runs a command and returns all its output at once; when the session is given up, the command is killed. */
export async function execSync(
  api: CriApi,
  id: string,
  command: readonly string[],
  { stdout, stderr, gone }: Session,
): Promise<SessionResult> {
  const ran = await api.call('ExecSync', { id, command }, { timeoutMs: 0, signal: gone });
  if (ran.stdout?.length) stdout?.write(ran.stdout);
  if (ran.stderr?.length) stderr?.write(ran.stderr);
  return ran.exitCode ? { kind: 'exit', code: ran.exitCode } : { kind: 'success' };
}

export const wishOf = ({ tty, stdin, stdout, stderr }: Session): SessionWish => ({
  tty,
  stdin: stdin !== undefined,
  stdout: stdout !== undefined,
  // A terminal has one output; engines refuse a request for two.
  stderr: stderr !== undefined && !tty,
});

/** Runs a session at the URL that the engine has returned. */
export function serveAt(address: string, session: Session, wish: SessionWish): Promise<SessionResult> {
  const { hostname, port, pathname, search } = new URL(address);
  const open = () =>
    openRemoteCommand(
      // Old engines leave the host out of the URL.
      () => dialTcp([hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1'], Number(port || 80)),
      { method: 'POST', path: pathname + search, headers: [['Host', `${hostname}:${port}`]] },
      session.gone,
    );
  return remoteCommand(open, wish)(session);
}
