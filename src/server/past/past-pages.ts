/**
 * The past, for people and scripts: `GET /wherry/history` names the versions that can be listed and watched, and the one of
 * a time; `GET /wherry/changes` tells what was changed, when, and by whom.
 */
import { badRequest, methodNotAllowed, StatusError } from '../../api/errors/errors.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import { parseDurationMs } from '../../api/values/duration.ts';
import type { Registry } from '../../registry/registry.ts';
import type { HistoryGap } from '../../registry/view/history-gap.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { historyPath } from '../http/request-info.ts';
import { readableScope } from '../problems/readable-scope.ts';
import { type ChangeQuestion, changesOf } from './changes.ts';

/** Changes in one answer; `continue` asks for those after them. */
const changesMax = 5_000;
const changesUsually = 500;
const textCharsMax = 300;

/** What is special in a server that shows another cluster. */
interface PastInstruments {
  readonly gaps?: (() => readonly HistoryGap[]) | undefined;
  readonly copy?: { readonly about: string; readonly isWritable: boolean } | undefined;
}

/** Answers a request for one of the two paths. `rights` decides about users who are impersonated. */
export async function answerPast(
  context: RequestContext,
  registry: Registry,
  rights: Authorizer,
  { gaps: findGaps, copy }: PastInstruments,
): Promise<boolean> {
  const gaps = findGaps?.() ?? [];
  if (context.info.method !== 'GET') throw methodNotAllowed();
  await registry.view.caughtUp();
  const value =
    context.info.path === historyPath
      ? { ...historyRange(context, registry, gaps), ...(copy ? { copy } : {}) }
      : await changes(context, registry, rights, gaps);
  await answerValue(context, 200, value, { ...context.negotiate('none'), transform: undefined });
  return true;
}

function historyRange(context: RequestContext, { view, sources }: Registry, gaps: readonly HistoryGap[]) {
  const { knownSinceMs } = view;
  const askedMs = timeOf(context, 'time', sources.nowMs());
  return {
    kind: 'HistoryRange',
    apiVersion: 'wherry.dev/v1',
    // 0 would ask for the newest state.
    oldest: String(Math.max(1, view.compacted)),
    newest: String(view.revision),
    ...(knownSinceMs === undefined ? {} : { oldestTime: written(knownSinceMs) }),
    now: written(sources.nowMs()),
    ...(askedMs === undefined ? {} : { time: written(askedMs), version: String(versionAt(view, askedMs)) }),
    ...(gaps.length ? { gaps: gaps.map(gapShown) } : {}),
  };
}

function versionAt(view: Registry['view'], timeMs: number): number {
  const { knownSinceMs } = view;
  if (knownSinceMs !== undefined && timeMs >= knownSinceMs) return Math.max(1, view.revisionAt(timeMs));
  const why =
    knownSinceMs === undefined
      ? 'no change is kept, so there is one state alone, that of now'
      : `history begins at ${written(knownSinceMs)}`;
  throw new StatusError(410, 'Expired', `The time ${written(timeMs)} is not kept: ${why}`);
}

async function changes(
  context: RequestContext,
  registry: Registry,
  rights: Authorizer,
  gaps: readonly HistoryGap[],
) {
  const nowMs = registry.sources.nowMs();
  const namespace = textOf(context, 'namespace');
  const { scope } = readableScope(context, registry, rights, namespace);
  const { scope: whole } = readableScope(context, registry, rights, undefined);
  const resources = textOf(context, 'resource')?.split(',').filter(Boolean);
  const name = textOf(context, 'name');
  const sinceMs = timeOf(context, 'since', nowMs);
  const untilMs = timeOf(context, 'until', nowMs);
  const question: ChangeQuestion = {
    resources,
    // A kind that is named and has no namespaces is meant wherever the question is about.
    readable: (kind) => {
      const meant = resources && !kind.namespaced ? whole : scope;
      return resources && name !== undefined ? meant.ofObject(kind, name) : meant.of(kind);
    },
    name,
    sinceMs,
    untilMs,
    limit: limitOf(textOf(context, 'limit')),
    continues: textOf(context, 'continue'),
    withObjects: textOf(context, 'objects') === 'true',
    gaps,
  };
  const { items, continues } = await changesOf(registry, question);
  const { view } = registry;
  const isAsked = (gap: HistoryGap): boolean =>
    gap.fromMs <= (untilMs ?? Number.POSITIVE_INFINITY) && (gap.toMs ?? nowMs) >= (sinceMs ?? 0);
  const shownGaps = gaps.filter(isAsked).map(gapShown);
  return {
    kind: 'ChangeList',
    apiVersion: 'wherry.dev/v1',
    metadata: { resourceVersion: String(view.revision), ...(continues ? { continue: continues } : {}) },
    ...(view.knownSinceMs === undefined ? {} : { oldestTime: written(view.knownSinceMs) }),
    now: written(nowMs),
    ...(shownGaps.length ? { gaps: shownGaps } : {}),
    ...(scope.isCut ? { incomplete: true } : {}),
    items,
  };
}

function gapShown({ fromMs, toMs, why, resources, versions }: HistoryGap) {
  return {
    from: written(fromMs),
    ...(toMs === undefined ? {} : { to: written(toMs) }),
    why,
    ...(resources ? { resources } : {}),
    ...(versions ? { versions: { first: String(versions.first), last: String(versions.last) } } : {}),
  };
}

const written = (timeMs: number): string => new Date(timeMs).toISOString();

function textOf({ query }: RequestContext, name: string): string | undefined {
  const text = query.get(name) || undefined;
  if (text !== undefined && text.length > textCharsMax)
    throw badRequest(`${name}: at most ${textCharsMax} characters`);
  return text;
}

/** A time of day, or how long ago: `2026-01-02T15:04:05Z` or `15m`. */
function timeOf(context: RequestContext, name: string, nowMs: number): number | undefined {
  const text = textOf(context, name);
  if (text === undefined) return undefined;
  const agoMs = parseDurationMs(text);
  if (agoMs !== undefined && agoMs >= 0 && agoMs <= nowMs) return nowMs - agoMs;
  const timeMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(timeMs))
    throw badRequest(
      `${name}: ${JSON.stringify(text)} is neither a time such as 2026-01-02T15:04:05Z nor how long ago, such as 15m`,
    );
  return timeMs;
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return changesUsually;
  if (!/^\d{1,6}$/.test(text)) throw badRequest(`limit: ${JSON.stringify(text)} is not a number`);
  return Math.min(changesMax, Math.max(1, Number(text)));
}
