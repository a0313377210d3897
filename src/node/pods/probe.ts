/**
 * Probes: one check of a container, by a command, an HTTP request, a TCP connection or a call of gRPC. Hooks use the same
 * code. Messages are those of a Kubernetes node, so network errors are in Go's words.
 */
import { setMaxListeners } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect as secureConnect } from 'node:tls';
import type { Container, GRPCAction, HTTPGetAction, Probe } from '../../api/generated/types.ts';
import { boundInterim } from '../../interim-answers.ts';
import { HandshakeBytes } from '../../streams/bytes/handshake-bytes.ts';
import { dialTcp } from '../../streams/dial/dialing.ts';
import { timerMaxMs } from '../../timers.ts';
import type { RunningContainer } from '../runtime/runtime.ts';
import { capture } from './capture.ts';
import { checkHealth } from './grpc-probe.ts';

/** Maximum output of a probe that is read and shown. */
const outputBytesMax = 10 * 1024;
const redirectsMax = 10;

/** The container to probe. */
export interface ProbeTarget {
  readonly container: Container;
  readonly running: RunningContainer;
  readonly podIP: string;
  /** A connection to a port at the address of the pod. */
  readonly reach: (port: number) => Promise<Duplex>;
}

export interface ProbeResult {
  readonly outcome: 'success' | 'failure' | 'error';
  readonly output: string;
}

type Action = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'>;

const success = (output: string): ProbeResult => ({ outcome: 'success', output });
const failure = (output: string): ProbeResult => ({ outcome: 'failure', output });
const broken = (output: string): ProbeResult => ({ outcome: 'error', output });

/** Probes once. Never throws; a probe that cannot be carried out is an `error`. */
export async function ask(action: Action, target: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
  const late = new AbortController();
  // Every redirect adds a listener.
  setMaxListeners(0, late.signal);
  const timer = setTimeout(() => late.abort(), Math.min(timeoutMs, timerMaxMs));
  try {
    if (action.exec) return await askCommand(action.exec.command ?? [], target, timeoutMs, late.signal);
    if (action.httpGet) return await askHttp(action.httpGet, target, late.signal);
    if (action.tcpSocket) {
      const { host, port } = action.tcpSocket;
      return await askConnection(host, portOf(target.container, port), target, late.signal);
    }
    if (action.grpc) return await askGrpc(action.grpc, target, timeoutMs, late.signal);
    return broken('missing probe handler');
  } catch (error) {
    return broken((error as Error).message);
  } finally {
    clearTimeout(timer);
    // Abort whatever is still under way.
    late.abort();
  }
}

/** A port by number, or by its name in the container. */
export function portOf(container: Container, port: number | string | undefined): number {
  const named = container.ports?.find(({ name }) => name !== undefined && name === port)?.containerPort;
  const number = named ?? Number(port);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new Error(
    typeof port === 'string' ? `couldn't find port: ${port}` : `invalid port number: ${port ?? 0}`,
  );
}

async function askCommand(
  command: readonly string[],
  { running }: ProbeTarget,
  timeoutMs: number,
  gone: AbortSignal,
): Promise<ProbeResult> {
  const tooLate = new Promise<'late'>((resolve) => {
    gone.addEventListener('abort', () => resolve('late'), { once: true });
  });
  const ran = capture(running, command, { bytesMax: outputBytesMax, gone });
  // Do not wait for a command that ignores its abort.
  ran.catch(() => undefined);
  const first = await Promise.race([ran, tooLate]);
  if (first === 'late' || gone.aborted)
    return failure(
      `command timed out: ${JSON.stringify(command.join(' '))} timed out after ${timeoutMs / 1000}s`,
    );
  const { result, output } = first;
  if (result.kind === 'success') return success(output);
  return result.kind === 'exit' ? failure(output) : broken(result.message);
}

async function askConnection(
  host: string | undefined,
  port: number,
  target: ProbeTarget,
  gone: AbortSignal,
): Promise<ProbeResult> {
  try {
    const socket = await reach(host, port, target, gone);
    socket.destroy();
    return success('');
  } catch (error) {
    return failure((error as Error).message);
  }
}

async function askGrpc(
  { port, service = '' }: GRPCAction,
  target: ProbeTarget,
  timeoutMs: number,
  gone: AbortSignal,
): Promise<ProbeResult> {
  const number = portOf(target.container, port);
  const { podIP } = target;
  const authority = `${podIP.includes(':') ? `[${podIP}]` : podIP}:${number}`;
  let socket: Duplex;
  try {
    socket = await reach(undefined, number, target, gone);
  } catch (error) {
    return failure(
      gone.aborted
        ? `timeout: failed to connect service "${authority}" within ${timeoutMs / 1000}s: context deadline exceeded`
        : `error: failed to connect service at "${authority}": ${(error as Error).message}`,
    );
  }
  const { healthy, output } = await checkHealth(socket, { authority, service, timeoutMs }, gone);
  return healthy ? success(output) : failure(output);
}

async function askHttp(action: HTTPGetAction, target: ProbeTarget, gone: AbortSignal): Promise<ProbeResult> {
  const port = portOf(target.container, action.port);
  const host = action.host || undefined;
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const shown = host ?? target.podIP;
  let url = new URL(
    `${scheme}://${shown.includes(':') ? `[${shown}]` : shown}:${port}${withSlash(action.path ?? '/')}`,
  );
  for (let redirects = 0; ; redirects++) {
    let response: IncomingMessage;
    try {
      response = await get(url, host, action, target, gone);
    } catch (error) {
      const late = gone.aborted
        ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        : (error as Error).message;
      return failure(`Get ${JSON.stringify(url.href)}: ${late}`);
    }
    const code = response.statusCode ?? 0;
    const { location } = response.headers;
    if (code < 300 || code >= 400 || !location) return judged(code, await bodyOf(response, gone));
    const next = new URL(location, url);
    // A redirect to another host counts as success and is not followed.
    if (next.hostname !== url.hostname)
      return success(`Probe terminated redirects, Response body: ${await bodyOf(response, gone)}`);
    response.destroy();
    if (redirects >= redirectsMax)
      return failure(`Get ${JSON.stringify(next.href)}: stopped after ${redirectsMax} redirects`);
    url = next;
  }
}

const withSlash = (path: string): string => (path.startsWith('/') ? path : `/${path}`);

const judged = (code: number, body: string): ProbeResult =>
  code >= 200 && code < 400 ? success(body) : failure(`HTTP probe failed with statuscode: ${code}`);

async function get(
  url: URL,
  host: string | undefined,
  { httpHeaders = [] }: HTTPGetAction,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:';
  const port = Number(url.port || (secure ? 443 : 80));
  const socket = await reach(host, port, target, signal);
  // Certificates are not verified: a pod is reached by its address, which no certificate names.
  const channel = secure ? secured(socket) : socket;
  const headers: Record<string, string | string[]> = { 'User-Agent': 'kube-probe/1.36', Accept: '*/*' };
  for (const { name = '', value = '' } of httpHeaders) {
    if (name.toLowerCase() === 'host') headers['Host'] = value;
    else headers[name] = [...[headers[name] ?? []].flat(), value];
  }
  headers['Host'] ??= url.host;
  headers['Connection'] = 'close';
  return new Promise((resolve, reject) => {
    channel.on('error', reject);
    const sent = (secure ? secureRequest : request)({
      method: 'GET',
      path: url.pathname + url.search,
      headers,
      setHost: false,
      signal,
      createConnection: () => channel,
    });
    boundInterim(sent);
    sent.on('response', resolve).on('error', (error) => {
      channel.destroy();
      reject(error);
    });
    sent.end();
  });
}

function secured(socket: Duplex): Duplex {
  const bytes = new HandshakeBytes(socket);
  return secureConnect({ socket: bytes, rejectUnauthorized: false }).once('secureConnect', () =>
    bytes.finish(),
  );
}

async function bodyOf(response: IncomingMessage, gone: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length >= outputBytesMax || gone.aborted) break;
    }
  } catch {
    // The status code decides, even if the body fails.
  }
  response.destroy();
  return Buffer.concat(chunks).subarray(0, outputBytesMax).toString('utf8');
}

/** A connection to a port of the pod, or of the host the probe names. */
async function reach(
  host: string | undefined,
  port: number,
  target: ProbeTarget,
  gone: AbortSignal,
): Promise<Duplex> {
  const dialled = host === undefined ? target.reach(port) : dialTcp([host], port);
  const late = new Promise<never>((_resolve, reject) => {
    gone.addEventListener('abort', () => reject(new Error('i/o timeout')), { once: true });
  });
  // When the timeout wins the race: close a late connection, and handle a late rejection.
  dialled.then(
    (socket) => {
      socket.on('error', () => undefined);
      if (gone.aborted) socket.destroy();
      else gone.addEventListener('abort', () => socket.destroy(), { once: true });
    },
    () => undefined,
  );
  late.catch(() => undefined);
  try {
    return await Promise.race([dialled, late]);
  } catch (error) {
    throw new Error(dialText(error as NodeJS.ErrnoException, host ?? target.podIP, port));
  }
}

const dialCauses: Partial<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'i/o timeout',
};

/** A failed dial in Go's words. */
export function dialText(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.message.startsWith('dial tcp')) return error.message;
  if (error.code === 'ENOTFOUND') return `dial tcp: lookup ${host}: no such host`;
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return `dial tcp ${where}: ${dialCauses[error.code ?? ''] ?? error.message}`;
}
