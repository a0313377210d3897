/** Messages that a client sends on a connection of watches: one JSON object each, which starts or ends a watch. */
import { badRequest, notAcceptable } from '../../api/errors/errors.ts';

/** Maximum length of a path with its query, and of an `accept`. */
const pathCharsMax = 16_384;
const acceptCharsMax = 1_024;
/** How many characters of an unknown field an error shows. */
const shownCharsMax = 64;

/** Ids need no escaping in JSON, so they can be written in front of an event as they are. */
const validId = /^[\w.-]{1,64}$/;
/** Characters allowed in the first line of a request, and in a header. */
const validPath = /^\/[\x21-\x7e]*$/;
const validAccept = /^[\x20-\x7e]+$/;

export interface WatchMessage {
  readonly does: 'start' | 'end';
  readonly id: string;
  /** Path and query of the watch to start, unchecked. */
  readonly path: unknown;
  readonly accept: unknown;
}

/** Parses a message; throws a 400 when it does not name a watch. */
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

/** The path of a watch to start; throws a 400 when it is not a valid path. */
export function pathOf({ path }: WatchMessage): string {
  if (typeof path === 'string' && path.length <= pathCharsMax && validPath.test(path)) return path;
  throw badRequest(
    `"path" is a path with its query, such as /api/v1/pods?watch=true, encoded and of at most ${pathCharsMax} characters`,
  );
}

/**
 * The `accept` of a watch to start, without protobuf, which does not fit into JSON messages. Throws a 400 for text that
 * is not a valid header, and a 406 when nothing is left.
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
