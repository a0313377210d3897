/** Changes of the past, asked of a running server: `wherry history` and `wherry timeline`. */
import { StartError } from '../shared/start-error.ts';
import { terminalJson } from '../shared/terminal-text.ts';
import { AskedServer, type ServerChoice } from './asked-server.ts';
import { historyText, timelineText } from './change-text.ts';
import { momentText } from './moment.ts';

const pageChanges = 2_000;
/** Changes that are printed at most. */
const changesMax = 200_000;

/** A change, as `GET /wherry/changes` tells it. */
export interface ToldChange {
  readonly version: string;
  readonly time?: string;
  readonly type: 'STATE' | 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly gap?: { readonly from: string; readonly to?: string };
  readonly kind: string;
  readonly resource: string;
  readonly apiVersion: string;
  readonly namespace?: string;
  readonly name: string;
  readonly writer?: { readonly manager: string; readonly subresource?: string; readonly time?: string };
  readonly fields?: readonly { readonly path: string; readonly before?: unknown; readonly after?: unknown }[];
  readonly isCut?: true;
  readonly event?: {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
    readonly about: string;
  };
}

export interface ToldGap {
  readonly from: string;
  readonly to?: string;
  readonly why: string;
  readonly resources?: readonly string[];
}

export interface ToldList {
  readonly metadata: { readonly continue?: string; readonly resourceVersion: string };
  readonly oldestTime?: string;
  readonly now: string;
  readonly gaps?: readonly ToldGap[];
  readonly incomplete?: true;
  readonly items: readonly ToldChange[];
}

interface PastQuestion extends ServerChoice {
  readonly namespace?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly format?: 'text' | 'json';
}

export interface HistoryQuestion extends PastQuestion {
  readonly resource: string;
  readonly object: string;
  readonly diff?: boolean;
}

export interface TimelineQuestion extends PastQuestion {
  readonly kinds?: readonly string[];
}

/** The versions of one object. */
export async function askHistory(question: HistoryQuestion): Promise<string> {
  const { resource, object, namespace = 'default', diff = false, format } = question;
  const server = new AskedServer(question);
  const list = await asked(server, question, { resource, name: object, namespace });
  if (list.items.length === 0 && !list.gaps?.length)
    throw new StartError(
      `nothing is known of ${resource}/${object} in ${namespace}${list.oldestTime ? ` since ${list.oldestTime}` : ''}`,
    );
  return format === 'json' ? json(list) : historyText(list, diff);
}

/** What happened in a namespace, or in all. */
export async function askTimeline(question: TimelineQuestion): Promise<string> {
  const { namespace, kinds, since = '15m', format } = question;
  const server = new AskedServer(question);
  const list = await asked(server, { ...question, since }, { namespace, resource: kinds?.join(',') });
  const items = kinds ? list.items : list.items.filter(({ resource }) => resource !== 'leases');
  return format === 'json'
    ? json({ ...list, items })
    : timelineText({ ...list, items }, momentText(since, '--since'));
}

const json = (list: ToldList): string => terminalJson(list, 2);

/** All pages as one list. */
async function asked(
  server: AskedServer,
  { since, until }: PastQuestion,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<ToldList> {
  const query = new URLSearchParams({ limit: String(pageChanges) });
  if (since !== undefined) query.set('since', momentText(since, '--since'));
  if (until !== undefined) query.set('until', momentText(until, '--until'));
  for (const [name, value] of Object.entries(parameters)) if (value) query.set(name, value);
  const items: ToldChange[] = [];
  for (;;) {
    const list = (await server.get(`/wherry/changes?${query}`)) as ToldList;
    items.push(...list.items);
    const { continue: next, ...metadata } = list.metadata;
    if (next === undefined) return { ...list, metadata, items };
    if (items.length >= changesMax)
      throw new StartError(`there are more than ${changesMax} changes: name a time by --since and --until`);
    query.set('continue', next);
  }
}
