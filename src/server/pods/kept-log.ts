/** Logs of containers that ran elsewhere, which a copy of a cluster has kept. */
import { badRequest } from '../../api/errors/errors.ts';
import { apiHeaders } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';

export interface KeptLogSource {
  /** @param query the options of the request. Throws the error for the client when there is no such log */
  read(namespace: string, pod: string, container: string, query: URLSearchParams): Buffer;
}

export function answerKeptLog(context: RequestContext, log: Buffer): void {
  if (context.upgrade) throw badRequest('logs of a copy are read over HTTP, not over a WebSocket');
  context.http.response
    .writeHead(200, { ...apiHeaders(context, 'text/plain'), 'Content-Length': log.length })
    .end(log);
}
