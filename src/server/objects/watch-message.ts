/** Messages that a client sends on a connection of watches: one JSON object each, which starts or ends a watch. */
import { badRequest, notAcceptable } from '../../api/errors/errors.ts';

/** Characters of a path with its query, and of an `accept`. */
const pathCharsMax = 16_384;
const acceptCharsMax = 1_024;
/** Characters of an unknown field that are shown. */
const shownCharsMax = 64;

/** No character needs to be escaped in JSON, so that the id can be written in front of an event. */
const validId = /^[\w.-]{1,64}$/;
/** What the first line of a request and a header may hold. */
const validPath = /^\/[\x21-\x7e]*$/;
const validAccept = /^[\x20-\x7e]+$/;

export interface WatchMessage {
  readonly does: 'start' | 'end';
  readonly id: string;
  /** The path and query of the watch to start, as they came. */
  readonly path: unknown;
  readonly accept: unknown;
}

/** Reads a message; throws a 400 when it does not say which watch it is about. */
export function readWatchMessage(text: string): WatchMessage {
  const { start, end, path, accept, ...others } = objectOf(text);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw badRequest(`a message has no field ${JSON.stringify(unknown.slice(0, shownCharsMax))}`);
  if ((start === undefined) === (end === undefined))
    throw badRequest('a message has either "start" or "end", with the id of a watch');
  const id = start ?? end;
  if (typeof id !== 'string' || !validId.test(id))
    throw badRequest('the id of a watch is text of 1 to 64 letters, digits, ".", "_" and "-"');
  if (end !== undefined && (path ?? accept) !== undefined)
    throw badRequest('a message with "end" has no other field');
  return { does: end === undefined ? 'start' : 'end', id, path, accept };
}

/** The path of a watch to start; throws a 400 for one that could not be that of a request. */
export function pathOf({ path }: WatchMessage): string {
  if (typeof path === 'string' && path.length <= pathCharsMax && validPath.test(path)) return path;
  throw badRequest(
    `"path" is a path with its query, such as /api/v1/pods?watch=true, encoded and of at most ${pathCharsMax} characters`,
  );
}

/**
 * What a watch to start accepts, without protobuf, which does not fit into messages of JSON. Throws a 400 for what could
 * not be a header, and a 406 when nothing is left.
 */
export function acceptOf({ accept }: WatchMessage): string | undefined {
  if (accept === undefined) return undefined;
  if (typeof accept !== 'string' || accept.length > acceptCharsMax || !validAccept.test(accept))
    throw badRequest(`"accept" is the text of an Accept header of at most ${acceptCharsMax} characters`);
  const kept = accept.split(',').filter((entry) => !/protobuf/i.test(entry));
  if (kept.length === 0) throw notAcceptable(['application/json']);
  return kept.join(',');
}

function objectOf(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest('a message is one JSON object');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('a message is one JSON object');
  return value as Record<string, unknown>;
}
