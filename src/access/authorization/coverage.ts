/**
 * Coverage: which parts of some rules the owner of other rules does not have. Rules are split into pieces, each with
 * one group, resource, verb and name, or one path and verb; every piece must be covered by one rule of the owner.
 */
import type { PolicyRule } from '../../api/generated/types.ts';
import { matchesPath } from './rule-set.ts';

/** Rules that break into more pieces are not compared: a small rule can stand for billions. */
const piecesMax = 50_000;
/** Maximum number of lines of one refusal. */
const linesMax = 1_000;

/** The rules have too many pieces to be compared. */
export class TooManyPieces extends Error {
  constructor() {
    super(`the rules stand for more than ${piecesMax} single permissions, which are too many to be compared`);
  }
}

/** Rules that grant everything. */
export const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** The pieces that no rule of the owner covers. Throws `TooManyPieces`. */
export function uncovered(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const open = wanted.filter((rule) => !owned.some((own) => covers(own, rule)));
  let count = 0;
  for (const rule of open) count += pieceCount(rule);
  if (count > piecesMax) throw new TooManyPieces();
  return open.flatMap((rule) => pieces(rule).filter((piece) => !owned.some((own) => covers(own, piece))));
}

const sizeOf = (list: readonly string[] | undefined): number => list?.length ?? 0;

const pieceCount = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number =>
  sizeOf(verbs) *
  (sizeOf(apiGroups) * sizeOf(resources) * Math.max(sizeOf(resourceNames), 1) + sizeOf(nonResourceURLs));

function pieces({
  verbs = [],
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): PolicyRule[] {
  const found: PolicyRule[] = [];
  for (const group of apiGroups)
    for (const resource of resources)
      for (const verb of verbs) {
        const piece = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (resourceNames.length === 0) found.push(piece);
        for (const name of resourceNames) found.push({ ...piece, resourceNames: [name] });
      }
  for (const url of nonResourceURLs)
    for (const verb of verbs) found.push({ verbs: [verb], nonResourceURLs: [url] });
  return found;
}

/** Whether one rule grants everything that another does. */
function covers(own: PolicyRule, wanted: PolicyRule): boolean {
  return (
    holdsAll(own.verbs, wanted.verbs) &&
    holdsAll(own.apiGroups, wanted.apiGroups) &&
    (wanted.resources ?? []).every((resource) => holdsResource(own.resources ?? [], resource)) &&
    holdsNames(own.resourceNames ?? [], wanted.resourceNames ?? []) &&
    (wanted.nonResourceURLs ?? []).every((url) =>
      own.nonResourceURLs?.some((pattern) => matchesPath(pattern, url)),
    )
  );
}

const holdsAll = (own: readonly string[] = [], wanted: readonly string[] = []): boolean =>
  own.includes('*') || wanted.every((one) => own.includes(one));

function holdsResource(own: readonly string[], wanted: string): boolean {
  if (own.includes('*') || own.includes(wanted)) return true;
  const slash = wanted.indexOf('/');
  return slash >= 0 && own.includes(`*${wanted.slice(slash)}`);
}

const holdsNames = (own: readonly string[], wanted: readonly string[]): boolean =>
  own.length === 0 || (wanted.length > 0 && wanted.every((name) => own.includes(name)));

/** Describes pieces as sorted lines; verbs of the same resource and name share a line. */
export function describePieces(found: readonly PolicyRule[]): string {
  const joined = new Map<string, PolicyRule>();
  for (const piece of found) {
    const { verbs, ...what } = piece;
    const key = JSON.stringify(what.nonResourceURLs ? piece : what);
    const known = joined.get(key);
    if (known) known.verbs!.push(...verbs!);
    else joined.set(key, { ...piece, verbs: [...verbs!] });
  }
  const lines = [...new Set([...joined.values()].map(describe))].sort();
  return lines.slice(0, linesMax).join('\n');
}

const goNames: readonly [keyof PolicyRule, string][] = [
  ['apiGroups', 'APIGroups'],
  ['resources', 'Resources'],
  ['nonResourceURLs', 'NonResourceURLs'],
  ['resourceNames', 'ResourceNames'],
  ['verbs', 'Verbs'],
];

function describe(rule: PolicyRule): string {
  const parts = goNames.flatMap(([field, name]) =>
    rule[field]?.length ? [`${name}:${quotedList(rule[field])}`] : [],
  );
  return `{${parts.join(', ')}}`;
}

/** A list as Go prints it with quotes: `["a" "b"]`. */
export const quotedList = (texts: readonly string[]): string =>
  `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
