/**
 * Coverage: which parts of some rules the owner of other rules does not have. Rules are split into pieces, each with
 * one group, resource, verb and name, or one path and verb; every piece must be covered by one rule of the owner.
 */
import type { PolicyRule } from '../../api/generated/types.ts';
import { givenAtOnce } from '../../time-slices.ts';
import { holds, matchesPath, RuleSet } from './rule-set.ts';

/** Rules that break into more pieces are not compared: a small rule can stand for billions. */
const piecesMax = 50_000;
/** Maximum number of comparisons, some seconds of work: rules can be made so alike that no index tells them apart. */
const usualMax = 100_000_000;
/** Approximate numbers of steps of finding or describing a piece, and of finding a list of rules. */
const pieceSteps = 50;
const listSteps = 5;
/** After so many, other work may come. */
const turnSteps = 10_000;
/** Maximum number of lines of one refusal. */
const linesMax = 1_000;

/** The rules have too many pieces to be compared. */
export class TooManyPieces extends Error {
  constructor(
    text = `the rules stand for more than ${piecesMax} single permissions, which are too many to be compared`,
  ) {
    super(text);
  }
}

/** Rules that grant everything. */
export const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** The rules of an owner by roles, each with whether it grants its paths, too. */
export type Owned = ReadonlyMap<RuleSet, boolean>;

/** The pieces that no rule of the owner covers. Throws `TooManyPieces`. */
export function uncovered(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return givenAtOnce(uncoveredBy(new Map([[RuleSet.of(owned), true]]), wanted));
}

/** The same, in parts. */
export function* uncoveredBy(
  owned: Owned,
  wanted: readonly PolicyRule[],
  comparisonsMax = usualMax,
): Generator<number, PolicyRule[]> {
  const search = new Search(owned, comparisonsMax);
  const open: PolicyRule[] = [];
  let count = 0;
  for (const rule of wanted) {
    // A rule that one of the owner's covers as a whole is not broken up, since it may have very many pieces.
    if (yield* search.finds(firstPiece(rule), rule)) continue;
    open.push(rule);
    count += pieceCount(rule);
    if (count > piecesMax) throw new TooManyPieces();
  }
  const found: PolicyRule[] = [];
  for (const rule of open)
    for (const piece of pieces(rule)) if (!(yield* search.finds(piece, piece))) found.push(piece);
  return found;
}

/** Looks for rules of an owner, and counts how many it looks at. */
class Search {
  #comparisons = 0;

  constructor(
    private readonly owned: Owned,
    private readonly comparisonsMax: number,
  ) {}

  /** Whether a rule of the owner covers another one, of which this is a piece. */
  *finds(piece: PolicyRule, wanted: PolicyRule): Generator<number, boolean> {
    const length = goNames.reduce((sum, [list]) => sum + sizeOf(wanted[list]), 0);
    let steps = pieceSteps;
    for (const [set, hasPaths] of this.owned)
      for (const rules of candidatesIn(set, hasPaths, piece)) {
        for (const own of rules) {
          if ((hasPaths || !own.nonResourceURLs?.length) && covers(own, wanted)) return true;
          steps += length;
          if (steps < turnSteps) continue;
          this.#count(steps);
          yield steps;
          steps = 0;
        }
        steps += listSteps;
      }
    this.#count(steps);
    yield steps;
    return false;
  }

  #count(comparisons: number): void {
    this.#comparisons += comparisons;
    if (this.#comparisons > this.comparisonsMax)
      throw new TooManyPieces('the rules and those of the user are too many to be compared');
  }
}

/** Lists of rules that may cover a piece. */
function candidatesIn(set: RuleSet, hasPaths: boolean, piece: PolicyRule): Iterable<readonly PolicyRule[]> {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [] } = piece;
  const [verb = '', group = '', resource] = [verbs[0], apiGroups[0], resources[0]];
  if (resource === undefined) return hasPaths ? [set.pathRules] : [];
  return set.candidates({ verb, group, resources: entriesFor(resource), name: resourceNames[0] });
}

/** One of the pieces of a rule. */
const firstPiece = (rule: PolicyRule): PolicyRule => pieces(rule).next().value ?? {};

const sizeOf = (list: readonly string[] | undefined): number => list?.length ?? 0;

const pieceCount = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number =>
  sizeOf(verbs) *
  (sizeOf(apiGroups) * sizeOf(resources) * Math.max(sizeOf(resourceNames), 1) + sizeOf(nonResourceURLs));

function* pieces({
  verbs = [],
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): Generator<PolicyRule, undefined> {
  for (const group of apiGroups)
    for (const resource of resources)
      for (const verb of verbs) {
        const piece = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (resourceNames.length === 0) yield piece;
        for (const name of resourceNames) yield { ...piece, resourceNames: [name] };
      }
  for (const url of nonResourceURLs)
    for (const verb of verbs) yield { verbs: [verb], nonResourceURLs: [url] };
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
  holds(own, '*') || wanted.every((one) => holds(own, one));

const holdsResource = (own: readonly string[], wanted: string): boolean =>
  entriesFor(wanted).some((entry) => holds(own, entry));

/** The entries of `resources` that grant one. */
function entriesFor(wanted: string): string[] {
  const slash = wanted.indexOf('/');
  return slash < 0 ? ['*', wanted] : ['*', wanted, `*${wanted.slice(slash)}`];
}

const holdsNames = (own: readonly string[], wanted: readonly string[]): boolean =>
  own.length === 0 || (wanted.length > 0 && wanted.every((name) => holds(own, name)));

/** Describes pieces as sorted lines, in parts; verbs of the same resource and name share a line. */
export function* describePieces(found: readonly PolicyRule[]): Generator<number, string> {
  const joined = new Map<string, PolicyRule>();
  for (const piece of found) {
    const { verbs, ...what } = piece;
    const key = JSON.stringify(what.nonResourceURLs ? piece : what);
    const known = joined.get(key);
    if (known) known.verbs!.push(...verbs!);
    else joined.set(key, { ...piece, verbs: [...verbs!] });
    yield pieceSteps;
  }
  let lines: string[] = [];
  for (const rule of joined.values()) {
    lines.push(describe(rule));
    if (lines.length > 4 * linesMax) lines = firstOf(lines);
    yield pieceSteps;
  }
  return firstOf(lines).join('\n');
}

const firstOf = (lines: readonly string[]): string[] => [...new Set(lines)].sort().slice(0, linesMax);

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
