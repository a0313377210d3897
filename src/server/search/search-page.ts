/** `GET /wherry/search?q=WORDS`: objects of every kind, as far as the user may list them, now or at a version of the past. */
import { badRequest, listExpired, methodNotAllowed } from '../../api/errors/errors.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import type { Registry } from '../../registry/registry.ts';
import { awaitVersion, parseVersion } from '../../registry/verbs/version.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { readableScope } from '../problems/readable-scope.ts';
import { ObjectSearch, wordsOf } from './object-search.ts';
import { SearchIndex } from './search-index.ts';

/** Objects in one answer; `remainingItemCount` says how many more fit. */
const foundMax = 100;
const foundUsually = 30;

const indexes = new WeakMap<Registry, SearchIndex>();

function indexOf(registry: Registry): SearchIndex {
  let index = indexes.get(registry);
  if (!index) {
    index = new SearchIndex();
    indexes.set(registry, index);
  }
  return index;
}

/** Answers a request for the path. `rights` decides about users who are impersonated. */
export async function answerSearch(
  context: RequestContext,
  registry: Registry,
  rights: Authorizer,
): Promise<boolean> {
  if (context.info.method !== 'GET') throw methodNotAllowed();
  const { view } = registry;
  const version = parseVersion(context.query.get('resourceVersion') || undefined, 'list');
  await (version ? awaitVersion(view, version) : view.caughtUp());
  if (version && version < view.compacted) throw listExpired();
  const revision = version && version < view.revision ? version : undefined;
  const resourceVersion = String(revision ?? view.revision);
  const limit = limitOf(context.query.get('limit'));
  const words = wordsOf(context.query.get('q') ?? '');
  const namespace = context.query.get('namespace') || undefined;
  const { scope } = readableScope(context, registry, rights, namespace);
  const search = new ObjectSearch(registry, scope, indexOf(registry), words, limit, revision);
  const items = await search.all();
  const left = search.count - items.length;
  const list = {
    kind: 'SearchResultList',
    apiVersion: 'wherry.dev/v1',
    metadata: { resourceVersion, ...(left > 0 ? { remainingItemCount: left } : {}) },
    ...(scope.isCut ? { incomplete: true } : {}),
    items,
  };
  await answerValue(context, 200, list, { ...context.negotiate('none'), transform: undefined });
  return true;
}

function limitOf(text: string | null | undefined): number {
  if (!text) return foundUsually;
  if (!/^\d{1,6}$/.test(text)) throw badRequest(`limit: "${text.slice(0, 20)}" is not a number`);
  return Math.min(foundMax, Math.max(1, Number(text)));
}
