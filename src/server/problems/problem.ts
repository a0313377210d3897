/** Problems: findings of one cause together, in a sentence. */
import { composedKey } from '../../composed-key.ts';
import type { Finding } from './finding.ts';

/** Objects and workloads that are named with a problem; `count` says how many there are. */
const objectsMax = 100;
const affectedMax = 20;

export interface ObjectName {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

interface AffectedName extends ObjectName {
  /** What is known of it beside that. */
  readonly note?: string;
}

/** A finding about an object. */
export interface Found {
  readonly object: ObjectName;
  readonly finding: Finding;
  /** The workload that the object belongs to. */
  readonly owner?: ObjectName | undefined;
}

export interface Problem {
  readonly severity: Finding['severity'];
  /** A sentence: which objects, and what is wrong with them. */
  readonly message: string;
  /** When it last changed. */
  readonly changed?: string;
  readonly count: number;
  readonly objects: readonly ObjectName[];
  /** Workloads that the objects belong to. */
  readonly affects?: readonly AffectedName[];
}

/** A problem and the latest of what it was made from. */
export interface Grouped {
  readonly problem: Problem;
  readonly newest: Found;
}

/** The newest change first, and what is past after all others. What follows from other findings is reported with those. */
export function problemsOf(found: readonly Found[]): Grouped[] {
  const owners = new Set(
    found.flatMap(({ owner, finding }) => (owner && finding.severity !== 'past' ? [owner.uid] : [])),
  );
  const notes = new Map<string, string>();
  const own: Found[] = [];
  for (const each of found)
    if (each.finding.followsFromPods && owners.has(each.object.uid))
      notes.set(each.object.uid, each.finding.text);
    else own.push(each);
  const groups = new Map<string, Found[]>();
  for (const each of own) {
    const when = each.finding.severity === 'past' ? 'past' : 'now';
    const key = composedKey(when, each.object.kind, each.finding.cause);
    const group = groups.get(key);
    if (group) group.push(each);
    else groups.set(key, [each]);
  }
  return [...groups.values()].map((group) => problemOf(group, notes)).sort(newestFirst);
}

function problemOf(group: readonly Found[], notes: ReadonlyMap<string, string>): Grouped {
  const newest = group.reduce((a, b) => (b.finding.since > a.finding.since ? b : a));
  const { text, since, severity } = newest.finding;
  const affected = new Map(group.flatMap(({ owner }) => (owner ? [[owner.uid, owner] as const] : [])));
  const problem: Problem = {
    severity: group.find(({ finding }) => finding.severity === 'error')?.finding.severity ?? severity,
    message: `${subjectOf(group)}: ${text}`,
    ...(since ? { changed: since } : {}),
    count: group.length,
    objects: group.slice(0, objectsMax).map(({ object }) => object),
    ...(affected.size > 0
      ? {
          affects: [...affected.values()].slice(0, affectedMax).map((owner) => {
            const note = notes.get(owner.uid);
            return note ? { ...owner, note } : owner;
          }),
        }
      : {}),
  };
  return { problem, newest };
}

/** `23 pods`, or `Pod shop/web-1`. */
function subjectOf(group: readonly Found[]): string {
  const { kind, namespace, name } = group[0]!.object;
  if (group.length === 1) return `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
  return `${group.length} ${pluralOf(kind)}`;
}

function pluralOf(kind: string): string {
  const words = kind.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  if (/(s|x|ch)$/.test(words)) return `${words}es`;
  return /[^aeiou]y$/.test(words) ? `${words.slice(0, -1)}ies` : `${words}s`;
}

/** Those that do not say when they changed come last of those that count, and of those that are past. */
const newestFirst = ({ problem: a }: Grouped, { problem: b }: Grouped): number =>
  Number(a.severity === 'past') - Number(b.severity === 'past') ||
  (b.changed ?? '').localeCompare(a.changed ?? '') ||
  a.message.localeCompare(b.message);
