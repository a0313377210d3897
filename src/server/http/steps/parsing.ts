/** Parsing, the first step: what the method and the URL ask for. Error exit: 400 for a URL that cannot be read. */
import type { RequestContext } from '../context.ts';
import { parseRequest, unreadInfo } from '../requestinfo.ts';

export function parse(context: RequestContext): void {
  const { method, url } = context.request;
  try {
    context.info = parseRequest(method!, url!);
  } catch (error) {
    context.info = unreadInfo(method!);
    throw error;
  }
}
