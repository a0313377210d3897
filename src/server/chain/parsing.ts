/** Parsing, the first step: reads method and URL. Error exit: 400 for an invalid URL. */
import type { RequestContext } from '../http/context.ts';
import { parseRequest, unreadInfo } from '../http/request-info.ts';

export function parse(context: RequestContext): void {
  const { method, url } = context.request;
  try {
    context.info = parseRequest(method!, url!);
  } catch (error) {
    context.info = unreadInfo(method!);
    throw error;
  }
}
