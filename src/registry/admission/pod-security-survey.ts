/**
 * Surveys the existing pods of a namespace that gets a stricter policy: which of them violate it, as texts for
 * warnings.
 */
import type { Pod } from '../../api/generated/types.ts';
import { type PolicyLevel, policyText } from '../../api/rules/pod-security/policy.ts';
import { reasonsText, violations } from '../../api/rules/pod-security/standard.ts';
import type { Registry } from '../registry.ts';
import type { Entry } from '../view/entry.ts';
import { Filter } from '../view/filter.ts';

/** Bounds of one survey; the warnings say when not all pods were checked. */
const podsMax = 3_000;
const timeMaxMs = 1_000;
/** After this many pods, other requests get their turn. */
const sliceSize = 100;

interface Group {
  first: string;
  count: number;
}

/** The pods and the policy of one survey. */
interface Survey {
  readonly namespace: string;
  readonly policy: PolicyLevel;
  readonly exemptRuntimeClasses: ReadonlySet<string>;
}

export async function existingPodWarnings(
  registry: Registry,
  survey: Survey,
  deadlineMs: number | undefined,
): Promise<string[]> {
  const { namespace, policy } = survey;
  const { entries } = registry.view
    .collection('core/pods')
    .select(new Filter(namespace, undefined, undefined, undefined));
  const endMs = performance.now() + timeFor(registry, deadlineMs);
  /** Pods by violation: replicas usually have the same. */
  const groups = new Map<string, Group>();
  let looked = 0;
  for (const entry of oneOfEachFirst(entries).slice(0, podsMax)) {
    note(survey, entry, groups);
    looked++;
    if (looked % sliceSize === 0) await new Promise(setImmediate);
    if (performance.now() > endMs) break;
  }
  return texts(namespace, policy, groups, looked, entries.length);
}

/** At most half of the time that the request has left. */
function timeFor({ sources }: Registry, deadlineMs: number | undefined): number {
  if (deadlineMs === undefined) return timeMaxMs;
  return Math.min(timeMaxMs, (deadlineMs - sources.nowMs()) / 2);
}

/** Orders pods so that one of each controller comes first, and the others, which are like it, at the end. */
function oneOfEachFirst(entries: readonly Entry[]): Entry[] {
  const seen = new Set<string>();
  const replicas: Entry[] = [];
  const first = entries.filter((entry) => {
    const owner = entry.mayHaveOwners
      ? entry.peek().metadata.ownerReferences?.find(({ controller }) => controller)?.uid
      : undefined;
    if (owner === undefined || !seen.has(owner)) {
      if (owner !== undefined) seen.add(owner);
      return true;
    }
    replicas.push(entry);
    return false;
  });
  return [...first, ...replicas];
}

function note({ policy, exemptRuntimeClasses }: Survey, entry: Entry, groups: Map<string, Group>): void {
  const { metadata, spec } = entry.peek() as Pod;
  if (exemptRuntimeClasses.has(spec?.runtimeClassName ?? '')) return;
  const reasons = reasonsText(violations(policy, metadata, spec));
  if (!reasons) return;
  const group = groups.get(reasons) ?? { first: entry.name, count: 0 };
  if (entry.name < group.first) group.first = entry.name;
  group.count++;
  groups.set(reasons, group);
}

function texts(
  namespace: string,
  policy: PolicyLevel,
  groups: ReadonlyMap<string, Group>,
  looked: number,
  all: number,
): string[] {
  const warnings: string[] = [];
  if (looked < all)
    warnings.push(
      `new PodSecurity enforce level only checked against the first ${looked} of ${all} existing pods`,
    );
  if (groups.size)
    warnings.push(
      `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(policyText(policy))}`,
    );
  const lines = [...groups].map(([reasons, { first, count }]) => `${first}${others(count - 1)}: ${reasons}`);
  return [...warnings, ...lines.sort()];
}

function others(count: number): string {
  if (count === 0) return '';
  return count === 1 ? ' (and 1 other pod)' : ` (and ${count} other pods)`;
}
