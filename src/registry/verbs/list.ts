/** Lists and single reads: consistent, at a version, or page by page. */
import { badRequest, continueExpired, listExpired } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { Registry } from '../registry.ts';
import type { Place } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import type { Filter } from '../view/filter.ts';
import type { Page } from '../view/page.ts';
import { filterOf, type Selection } from '../view/selection.ts';
import { awaitVersion, parseMatch, parseVersion } from './version.ts';

export interface ListQuery extends Selection {
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
}

export interface ListResult {
  readonly page: Page;
  readonly revision: number;
  readonly continue: string | undefined;
}

/** Reads an object: synchronously when the view is current; a promise when the read has to wait. */
export function read(
  registry: Registry,
  place: Place,
  resourceVersion: string | undefined,
  deadlineMs?: number,
): Entry | Promise<Entry> {
  const view = registry.view.of(place.kind);
  view.assertFed();
  const version = parseVersion(resourceVersion, 'get');
  const ready = version ? awaitVersion(view, version) : version === undefined && view.caughtUp();
  if (!ready) return registry.find(place);
  return ready.then(() => {
    registry.assertInTime(deadlineMs);
    return registry.find(place);
  });
}

export async function list(
  registry: Registry,
  kind: Kind,
  query: ListQuery,
  deadlineMs?: number,
): Promise<ListResult> {
  const filter = filterOf(kind, query);
  const version = parseVersion(query.resourceVersion, 'list');
  const match = parseMatch(query.resourceVersionMatch, query.resourceVersion, Boolean(query.continue));
  const limit = query.limit && query.limit > 0 ? query.limit : undefined;
  if (query.continue) return continued(registry, kind, filter, query.continue, version, limit);
  const view = registry.view.of(kind);
  const waiting = version === undefined ? view.caughtUp() : awaitVersion(view, version);
  if (waiting) await registry.inTime(waiting, deadlineMs);
  const exact = match === 'Exact' || (match === undefined && version && limit) ? version! : undefined;
  if (exact !== undefined && exact < view.collection(kind).since) throw listExpired();
  return page(registry, kind, filter, { limit: version === 0 ? undefined : limit, revision: exact });
}

interface PageQuery {
  readonly limit: number | undefined;
  /** The revision to read; undefined is the current state. */
  readonly revision: number | undefined;
  readonly start?: string;
}

function page(
  registry: Registry,
  kind: Kind,
  filter: Filter,
  query: PageQuery,
): ListResult | Promise<ListResult> {
  const view = registry.view.of(kind);
  view.assertFed();
  const shown = query.revision ?? view.revision;
  const revision = shown < view.revision ? shown : undefined;
  const collection = view.collection(kind);
  const preparing = collection.prepared(filter, revision);
  if (preparing) return preparing.then(() => page(registry, kind, filter, query));
  const found = collection.select(filter, { start: query.start, limit: query.limit, revision });
  return {
    page: found,
    revision: shown,
    continue: found.next === undefined ? undefined : writeToken(shown, found.next),
  };
}

function continued(
  registry: Registry,
  kind: Kind,
  filter: Filter,
  text: string,
  version: number | undefined,
  limit: number | undefined,
): ListResult | Promise<ListResult> {
  if (version) throw badRequest('specifying resource version is not allowed when using continue');
  const token = readToken(text);
  // A token without a revision continues with the current state.
  if (token.rv === -1)
    return page(registry, kind, filter, { limit, revision: undefined, start: token.start });
  if (token.rv < registry.view.collection(kind).since) throw continueExpired(writeToken(-1, token.start));
  if (token.rv > registry.view.of(kind).revision)
    throw badRequest(`invalid continue token: resource version ${token.rv} has not happened yet`);
  return page(registry, kind, filter, { limit, revision: token.rv, start: token.start });
}

// A continue token holds the revision of the list and the key at which the next page begins.

interface Token {
  readonly rv: number;
  readonly start: string;
}

const writeToken = (rv: number, start: string): string =>
  Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv, start })).toString('base64url');

const badToken = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`);

function readToken(text: string): Token {
  let token: unknown;
  try {
    token = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch (error) {
    throw badToken((error as Error).message);
  }
  const { v, rv, start } = (token ?? {}) as { v?: unknown; rv?: unknown; start?: unknown };
  if (v !== 'meta.k8s.io/v1') throw badToken('server does not recognize this encoded version');
  if (!Number.isSafeInteger(rv) || (rv as number) < -1 || rv === 0)
    throw badToken('incorrect encoded start resourceVersion');
  if (typeof start !== 'string') throw badToken('encoded start key empty or invalid');
  return { rv: rv as number, start };
}
