/** Logs: the output of a container, streamed from the kubelet API of its node over HTTP or a WebSocket. */
import { type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { WebSocket } from 'ws';
import { badRequest, internal, plain, StatusError } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';

import { boundInterim } from '../../interim-answers.ts';
import { bodySink } from '../../streams/bytes/body-sink.ts';
import { clientGone, departures } from '../../streams/dial/departures.ts';
import { hostPort, readError } from '../../streams/dial/net-error.ts';
import type { NodeLocation } from '../../streams/dial/node-connector.ts';
import { ClientGone, type Upgrade } from '../../streams/dial/tunnel.ts';
import { negotiateWebSocket, refuseUpgrade } from '../../streams/dial/upgrade-request.ts';
import { apiHeaders } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import type { ResourceInfo } from '../http/request-info.ts';
import type { Connecting } from './connecting.ts';
import { answerKeptLog } from './kept-log.ts';
import { logOptions } from './log-options.ts';
import { chooseContainer, findPod, kubeletPath, locatePod } from './pod-target.ts';

/** The status and headers of a kubelet's answer. */
const headBytesMax = 64 * 1024;
/** Bytes of a kubelet's error that are read. */
const refusalBytesMax = 50_000;
const refusalMs = 10_000;
/** Largest WebSocket message, as in Kubernetes. */
const messageBytesMax = 2048;
/** Bytes a WebSocket may buffer before back-pressure is applied to the kubelet. */
const backlogBytesMax = 256 * 1024;
/** Timeout of the close handshake. */
const closeMs = 10_000;

export async function serveLog(
  connecting: Connecting,
  context: RequestContext,
  pods: Kind,
  info: ResourceInfo,
): Promise<void> {
  const options = logOptions(context.query, info.name!);
  const pod = await findPod(connecting, pods, info);
  const container = chooseContainer(pod, options.container);
  if (connecting.keptLogs) {
    const query = new URLSearchParams(options.kubeletQuery);
    return answerKeptLog(context, connecting.keptLogs.read(info.namespace!, info.name!, container, query));
  }
  const node = locatePod(connecting, pod);
  const path = kubeletPath('containerLogs', info.namespace, info.name, container);
  const log: LogRequest = {
    node,
    path: options.kubeletQuery ? `${path}?${options.kubeletQuery}` : path,
    insecure: options.insecure,
    pod: info.name!,
  };
  return context.upgrade
    ? logOverWebSocket(connecting, context, log, context.upgrade)
    : logOverHttp(connecting, context, log);
}

interface LogRequest {
  /** Undefined: the pod is not scheduled yet, and so has no log. */
  readonly node: NodeLocation | undefined;
  readonly path: string;
  readonly insecure: boolean;
  readonly pod: string;
}

async function logOverHttp(
  connecting: Connecting,
  context: RequestContext,
  { node, ...log }: LogRequest,
): Promise<void> {
  const { response } = context.http;
  if (!node) {
    const { 'Content-Type': _, ...headers } = apiHeaders(context);
    response.writeHead(204, headers).end();
    return;
  }
  const release = connecting.open.add(() => response.destroy());
  const gone = new AbortController();
  const onClose = (): void => departures.add(() => gone.abort(clientGone));
  response.on('close', onClose);
  // The client disconnected while the pod was looked up.
  if (response.destroyed) gone.abort(clientGone);
  try {
    const kubelet = await open(connecting, { node, ...log }, gone.signal);
    response.writeHead(200, { ...apiHeaders(context, 'text/plain'), 'Transfer-Encoding': 'chunked' });
    // Send the header now, so that a log without output does not look like a hanging server.
    response.flushHeaders();
    // The answer has started, so a failure of either side can only close the connection.
    await pipeline(kubelet, bodySink(response)).catch(() => undefined);
  } catch (error) {
    if (!(error instanceof ClientGone)) throw error;
  } finally {
    response.off('close', onClose);
    gone.abort(clientGone);
    release();
  }
}

/** How a subprotocol carries text. */
const carriers: ReadonlyMap<string, BufferEncoding | undefined> = new Map([
  ['', undefined],
  ['binary.k8s.io', undefined],
  ['base64.binary.k8s.io', 'base64' as const],
]);

async function logOverWebSocket(
  connecting: Connecting,
  { http: { request } }: RequestContext,
  { node, ...log }: LogRequest,
  { socket, head }: Upgrade,
): Promise<void> {
  const { acceptWebSocket, webSocketRefusal } = await import('../../streams/websocket/websocket-upgrade.ts');
  const bad = webSocketRefusal(request);
  if (bad) return refuseUpgrade(socket, bad);
  const chosen = negotiateWebSocket(request, [...carriers.keys()]);
  if (chosen.refusal) return refuseUpgrade(socket, chosen.refusal);
  if (!node) return refuseUpgrade(socket, { status: 204, text: '' });
  const release = connecting.open.add(() => socket.destroy());
  const gone = new AbortController();
  const onClose = (): void => departures.add(() => gone.abort(clientGone));
  socket.on('close', onClose);
  if (socket.destroyed) gone.abort(clientGone);
  try {
    const kubelet = await open(connecting, { node, ...log }, gone.signal);
    const webSocket = acceptWebSocket(request, socket, head, chosen.protocol);
    if (webSocket) await sendLog(kubelet, webSocket, carriers.get(chosen.protocol));
  } finally {
    socket.off('close', onClose);
    gone.abort(clientGone);
    release();
  }
}

async function sendLog(
  kubelet: IncomingMessage,
  webSocket: WebSocket,
  encoding: BufferEncoding | undefined,
): Promise<void> {
  const closed = new Promise<void>((resolve) => webSocket.once('close', () => resolve()));
  const send = (bytes: Buffer, sent?: () => void): void =>
    webSocket.send(encoding ? bytes.toString(encoding) : bytes, { binary: !encoding }, sent);
  // An empty message tells the client that the connection works.
  send(Buffer.alloc(0));
  try {
    for await (const chunk of kubelet as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; at += messageBytesMax)
        send(chunk.subarray(at, at + messageBytesMax));
      if (webSocket.bufferedAmount > backlogBytesMax)
        await Promise.race([
          closed,
          new Promise<void>((resolve) => webSocket.ping(undefined, false, () => resolve())),
        ]);
      if (webSocket.readyState !== webSocket.OPEN) break;
    }
  } catch {
    // The log broke off: closing normally would look like its end.
    webSocket.terminate();
  }
  webSocket.close(1000);
  const timer = setTimeout(() => webSocket.terminate(), closeMs);
  await closed;
  clearTimeout(timer);
}

/** The kubelet's answer, if it is a success. Errors are thrown as a Status for the client. */
async function open(
  { nodes }: Connecting,
  { node, path, insecure, pod }: LogRequest & { node: NodeLocation },
  gone: AbortSignal,
): Promise<IncomingMessage> {
  const host = hostPort(node.host, node.port);
  const failed = (why: string): StatusError => plain(`Get "https://${host}${path}": ${why}`);
  const backend = await nodes.connect(node, { insecure }).catch((error: unknown) => {
    throw error instanceof StatusError ? error : failed((error as Error).message);
  });
  if (gone.aborted) {
    backend.destroy();
    throw new ClientGone();
  }
  const answer = await ask(backend, host, path, gone).catch((error: unknown) => {
    backend.destroy();
    throw gone.aborted ? new ClientGone() : failed(readError(error));
  });
  const code = answer.statusCode!;
  if (code >= 200 && code <= 206) return answer;
  try {
    if (isRedirect(code)) throw failed('redirects forbidden');
    throw refusal(code, await refusalText(answer), pod);
  } finally {
    backend.destroy();
  }
}

function ask(backend: Duplex, host: string, path: string, gone: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // When the client disconnects, abort the request to the kubelet, and later its answer.
    gone.addEventListener('abort', () => backend.destroy());
    const sent = request({
      createConnection: () => backend,
      path,
      headers: { Host: host, 'User-Agent': 'wherry' },
      maxHeaderSize: headBytesMax,
    });
    boundInterim(sent);
    sent
      .on('response', resolve)
      .on('upgrade', () => reject(new Error('malformed HTTP response')))
      .on('error', reject)
      .end();
  });
}

const isRedirect = (code: number): boolean => [301, 302, 303, 307, 308].includes(code);

async function refusalText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => answer.destroy(), refusalMs);
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= refusalBytesMax) break;
    }
  } catch {
    // Use the part of the error text that was read.
  }
  clearTimeout(timer);
  return Buffer.concat(chunks).subarray(0, refusalBytesMax).toString('utf8');
}

/** Kubernetes has its own message for most codes, which names the object. */
const refusals: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  401: ['Unauthorized', 'the server has asked for the client to provide credentials'],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  422: ['Invalid', 'the server rejected our request due to an error in our request'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: [
    'Timeout',
    'the server was unable to return a response in the time allotted, but may still be processing the request',
  ],
};

function refusal(code: number, text: string, pod: string): StatusError {
  if (code === 400) return badRequest(text);
  if (code === 500) return internal(text);
  const [reason, message] = refusals[code] ?? otherRefusal(code, text);
  return new StatusError(code, reason, `${message} ( pods/log ${pod})`, { name: pod, kind: 'pods/log' });
}

function otherRefusal(code: number, text: string): readonly [string | undefined, string] {
  if (code === 403) return ['Forbidden', text];
  if (code >= 500)
    return [
      'InternalError',
      `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`,
    ];
  return [undefined, `the server responded with the status code ${code} but did not return more information`];
}
