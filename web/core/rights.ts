/**
 * Who the user is, and what the user may do: the dashboard offers and requests only what the server would allow. The
 * local door allows everything; on the secure door rules are requested once per shown namespace.
 */
import { signal } from '@preact/signals';
import { allows, allowsPath, type Rules, unknownRules } from './access-rules.ts';
import { ask, UnreachableError } from './api.ts';
import { connectionLost } from './connection.ts';
import { type Kind, kindOf } from './kinds.ts';

/** An impossible namespace name: its rules are those that hold in all namespaces, and for cluster-scoped objects. */
const everywhere = '-';

/** Rules by namespace; undefined while they are requested. */
const rules = signal<ReadonlyMap<string, Rules | undefined>>(new Map());

/** The name of the user; undefined until the server has said it. */
export const userName = signal<string | undefined>(undefined);

/** Whether the server shows a copy of a cluster that cannot be changed. */
export const isReadOnly = signal(false);

const readingVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const isRefused = (verb: string): boolean => isReadOnly.value && !readingVerbs.has(verb);

const isFree = (): boolean => location.protocol !== 'https:';

/** Requests the rights in some namespaces, and everywhere; returns whether all are known. */
export function knowRights(namespaces: readonly string[]): boolean {
  if (isFree()) return true;
  const wanted = [everywhere, ...namespaces];
  const unasked = wanted.filter((namespace) => !rules.value.has(namespace));
  if (unasked.length > 0) {
    rules.value = new Map([...rules.value, ...unasked.map((namespace) => [namespace, undefined] as const)]);
    for (const namespace of unasked) void askRules(namespace);
  }
  return wanted.every((namespace) => rules.value.get(namespace) !== undefined);
}

/** Called when another user has signed in. */
export function forgetRights(): void {
  rules.value = new Map();
  userName.value = undefined;
}

async function askRules(namespace: string): Promise<void> {
  const found = await review<Rules>('authorization.k8s.io/v1', 'SelfSubjectRulesReview', { namespace });
  rules.value = new Map([...rules.value, [namespace, found ?? unknownRules]]);
}

export async function askUser(): Promise<void> {
  const found = await review<{ userInfo?: { username?: string } }>(
    'authentication.k8s.io/v1',
    'SelfSubjectReview',
  );
  userName.value = found?.userInfo?.username;
}

/** How often a review is sent whose answer is lost. Without an answer the page would request what is refused. */
const reviewsMax = 10;

async function review<Status>(apiVersion: string, kind: string, spec?: object): Promise<Status | undefined> {
  const body = { apiVersion, kind, spec };
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
  for (let sent = 1; ; sent++)
    try {
      return (await ask<{ status?: Status }>(path, { method: 'POST', body })).status;
    } catch (error) {
      if (!(error instanceof UnreachableError) || sent === reviewsMax) return undefined;
      await connectionLost();
    }
}

export interface Scope {
  /** The namespace; absent: all namespaces, or cluster-scoped objects. */
  readonly namespace?: string | undefined;
  readonly subresource?: string;
  readonly name?: string;
}

/** Whether the user may do something with a kind, as far as is known: see `knowRights`. */
export function may(verb: string, kind: Kind | undefined, { namespace, ...part }: Scope = {}): boolean {
  if (!kind || isRefused(verb)) return false;
  if (isFree()) return true;
  const { group, resource, namespaced } = kind;
  const wish = { verb, group, resource, ...part };
  const scopes = namespaced && namespace ? [everywhere, namespace] : [everywhere];
  return scopes.some((scope) => allows(rules.value.get(scope) ?? noRules, wish));
}

const noRules: Rules = { resourceRules: [], nonResourceRules: [], incomplete: false };

/** Whether all objects of a kind, by `pods` or `deployments.apps`, may be listed and watched. */
export const maySee = (id: string, namespace?: string): boolean =>
  ['list', 'watch'].every((verb) => may(verb, kindOf(id), { namespace }));

export const mayGetPath = (path: string): boolean =>
  isFree() || allowsPath(rules.value.get(everywhere) ?? noRules, 'get', path);

/** Whether the user may do something with snapshots, which are no kind of the API but have rights like one. */
export const maySnapshots = (verb: string): boolean =>
  !isRefused(verb) &&
  (isFree() ||
    allows(rules.value.get(everywhere) ?? noRules, { verb, group: 'wherry.dev', resource: 'snapshots' }));
