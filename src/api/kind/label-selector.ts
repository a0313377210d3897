/**
 * Label selectors.
 *
 * They have two forms: the query text (`tier in (web,api),!legacy`) and the object with matchLabels and
 * matchExpressions. Grammar and error messages are Kubernetes'. The parsed selector has one predicate per
 * requirement, because a list evaluates it for every object of a collection.
 */
import { child, type FieldError, forbidden, index, invalid, required } from '../errors/field-error.ts';
import { isLabelValue, isQualifiedName, validateLabels } from '../values/names.ts';

/** Longest selector text, in characters; more than a URL can hold. */
const textCharsMax = 65_536;
/** Most requirements in one selector text. */
const requirementsMax = 1024;
/** More requirements than this are found by the labels of an object, instead of each being tested. */
const testedEachMax = 16;

type LabelOperator = '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, without repeats. */
  readonly values: readonly string[];
}

export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>> | null;
  readonly matchExpressions?: readonly LabelSelectorExpression[] | null;
}

interface LabelSelectorExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | null;
}

export type Labels = Readonly<Record<string, string>>;

/** An invalid selector. The message is the whole answer to the client. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

export class LabelSelector {
  /** In the order of their keys. */
  readonly requirements: readonly LabelRequirement[];
  /** Selects everything. */
  readonly empty: boolean;
  #tests: readonly ((labels: Labels) => boolean)[] | undefined;

  constructor(requirements: readonly LabelRequirement[], nothing = false) {
    this.requirements = [...requirements].sort((a, b) => compareTexts(a.key, b.key));
    this.empty = requirements.length === 0 && !nothing;
    if (nothing) this.#tests = [() => false];
  }

  matches(labels: Labels | null | undefined): boolean {
    // Many selectors are only shown or compared.
    this.#tests ??= testsOf(this.requirements);
    for (const test of this.#tests) if (!test(labels ?? noLabels)) return false;
    return true;
  }

  toString(): string {
    return this.requirements.map(formatRequirement).join(',');
  }
}

const noLabels: Labels = {};
const everything = new LabelSelector([]);
const nothing = new LabelSelector([], true);

/** Parses a selector of a query. Throws a SelectorError with Kubernetes' message. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.length > textCharsMax)
    throw new SelectorError(`label selector is too long: may not be more than ${textCharsMax} characters`);
  const requirements = new Parser(scan(text)).selector();
  return requirements.length === 0 ? everything : new LabelSelector(requirements);
}

/** The selector of an object field: null selects nothing, `{}` everything. The object has passed validation. */
export function selectorFromObject(object: LabelSelectorObject | null | undefined): LabelSelector {
  if (!object) return nothing;
  const requirements: LabelRequirement[] = [];
  for (const [key, value] of Object.entries(object.matchLabels ?? {}))
    requirements.push({ key, operator: '=', values: [value] });
  for (const { key, operator, values } of object.matchExpressions ?? []) {
    const known = objectOperators.get(operator);
    if (!known) throw new SelectorError(`${JSON.stringify(operator)} is not a valid label selector operator`);
    if (isSetOperator(known) && !values?.length)
      throw new SelectorError("for 'in', 'notin' operators, values set can't be empty");
    requirements.push({ key, operator: known, values: isSetOperator(known) ? sortedSet(values ?? []) : [] });
  }
  return requirements.length === 0 ? everything : new LabelSelector(requirements);
}

export function validateLabelSelectorObject(
  object: LabelSelectorObject | null | undefined,
  path: string,
): FieldError[] {
  if (!object) return [];
  const errors = validateLabels(object.matchLabels, child(path, 'matchLabels'));
  for (const [position, expression] of (object.matchExpressions ?? []).entries())
    errors.push(...validateExpression(expression, index(child(path, 'matchExpressions'), position)));
  return errors;
}

/** For a table cell. */
export function formatLabelSelectorObject(object: LabelSelectorObject | null | undefined): string {
  try {
    return selectorFromObject(object).toString() || '<none>';
  } catch (error) {
    if (error instanceof SelectorError) return '<error>';
    throw error;
  }
}

/** The text form of a map selector, as in Scale's status. */
export function formatMapSelector(map: Labels | null | undefined): string {
  return selectorFromObject({ matchLabels: map ?? {} }).toString();
}

const objectOperators = new Map<string, LabelOperator>([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

function isSetOperator(operator: LabelOperator): boolean {
  return operator === 'in' || operator === 'notin';
}

function validateExpression(expression: LabelSelectorExpression, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { key = '', operator = '' } = expression;
  const values = expression.values ?? [];
  const known = objectOperators.get(operator);
  if (!known) errors.push(invalid(child(path, 'operator'), operator, 'not a valid selector operator'));
  else if (isSetOperator(known) && values.length === 0)
    errors.push(required(child(path, 'values'), "must be specified when `operator` is 'In' or 'NotIn'"));
  else if (!isSetOperator(known) && values.length > 0)
    errors.push(
      forbidden(child(path, 'values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
    );
  for (const problem of isQualifiedName(key)) errors.push(invalid(child(path, 'key'), key, problem));
  for (const [position, value] of values.entries())
    for (const problem of isLabelValue(value))
      errors.push(invalid(index(child(path, 'values'), position), value, problem));
  return errors;
}

/** Own properties only: a label may be called `constructor`, which every object inherits. */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function predicate({ key, operator, values }: LabelRequirement): (labels: Labels) => boolean {
  const only = values[0];
  const several = values.length > 1 ? new Set(values) : undefined;
  const contains = (value: string): boolean => (several ? several.has(value) : value === only);
  switch (operator) {
    case '=':
    case 'in':
      return (labels) => {
        const value = labelOf(labels, key);
        return value !== undefined && contains(value);
      };
    case '!=':
    case 'notin':
      return (labels) => {
        const value = labelOf(labels, key);
        return value === undefined || !contains(value);
      };
    case 'exists':
      return (labels) => Object.hasOwn(labels, key);
    case '!':
      return (labels) => !Object.hasOwn(labels, key);
    default: {
      const bound = readInteger(only ?? '');
      return (labels) => {
        const value = readInteger(labelOf(labels, key) ?? '');
        if (value === undefined || bound === undefined) return false;
        return operator === '>' ? value > bound : value < bound;
      };
    }
  }
}

function testsOf(requirements: readonly LabelRequirement[]): ((labels: Labels) => boolean)[] {
  return requirements.length > testedEachMax ? [joined(requirements)] : requirements.map(predicate);
}

/**
 * One test for very many requirements, in the order of their keys. Its cost grows with the labels of an object, not with
 * the requirements; those of a key are read when an object has that label.
 */
function joined(requirements: readonly LabelRequirement[]): (labels: Labels) => boolean {
  const starts = new Map<string, number>();
  const asked = new Set<string>();
  for (const [at, { key, operator }] of requirements.entries()) {
    if (!starts.has(key)) starts.set(key, at);
    if (operator !== '!' && operator !== '!=' && operator !== 'notin') asked.add(key);
  }
  const tests = new Map<string, ((labels: Labels) => boolean)[]>();
  const testsOfKey = (key: string): ((labels: Labels) => boolean)[] => {
    const start = starts.get(key);
    if (start === undefined) return [];
    let end = start;
    while (requirements[end]?.key === key) end++;
    const found = merged(key, requirements.slice(start, end)).map(predicate);
    tests.set(key, found);
    return found;
  };
  return (labels) => {
    // Keys are asked for once each: one that is missing is met after as many as there are labels.
    for (const key of asked) if (!Object.hasOwn(labels, key)) return false;
    return Object.keys(labels).every((key) =>
      (tests.get(key) ?? testsOfKey(key)).every((test) => test(labels)),
    );
  };
}

/** The requirements of one key as few: one set of values that it may have, and one that it may not. */
function merged(key: string, list: readonly LabelRequirement[]): LabelRequirement[] {
  let allowed: Set<string> | undefined;
  const refused = new Set<string>();
  const others = new Map<string, LabelRequirement>();
  for (const requirement of list) {
    const { operator, values } = requirement;
    if (operator === '=' || operator === 'in')
      allowed = new Set(allowed ? values.filter((value) => allowed!.has(value)) : values);
    else if (operator === '!=' || operator === 'notin') for (const value of values) refused.add(value);
    else others.set(operator + values.join(), requirement);
  }
  return [
    ...(allowed ? [{ key, operator: 'in' as const, values: [...allowed] }] : []),
    ...(refused.size ? [{ key, operator: 'notin' as const, values: [...refused] }] : []),
    ...others.values(),
  ];
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  if (operator === 'exists') return key;
  if (operator === '!') return `!${key}`;
  return isSetOperator(operator)
    ? `${key} ${operator} (${values.join(',')})`
    : `${key}${operator}${values[0]}`;
}

/** A 64-bit integer; a label has at most 63 characters, so longer texts need no check. */
function readInteger(text: string): bigint | undefined {
  if (text.length > 63 || !/^[-+]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

function sortedSet(values: Iterable<string>): string[] {
  return [...new Set(values)].sort(compareTexts);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

type TokenKind = 'word' | 'symbol' | 'end';

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

/** Tokens: symbols and words. Blanks are separators. */
function scan(text: string): Token[] {
  const tokens: Token[] = [];
  for (const [found] of text.matchAll(/==|!=|[=!(),<>]|[^=!(),<>\t\r\n ]+/g))
    tokens.push({ kind: /^[=!(),<>]/.test(found) ? 'symbol' : 'word', text: found });
  tokens.push({ kind: 'end', text: '' });
  return tokens;
}

const operators = new Map<string, LabelOperator>([
  ['in', 'in'],
  ['notin', 'notin'],
  ['=', '='],
  ['==', '='],
  ['!=', '!='],
  ['>', '>'],
  ['<', '<'],
]);

/**
 * Errors inside a requirement get the prefix `unable to parse requirement:`, errors about commas between requirements
 * do not. `in` and `notin` are plain words except right after a key.
 */
class Parser {
  #position = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  selector(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    if (this.#peek().kind === 'end') return requirements;
    if (!this.#atRequirement()) throw this.#unexpected(", expected: !, identifier, or 'end of string'");
    for (;;) {
      if (requirements.length === requirementsMax)
        throw new SelectorError(`label selector may not have more than ${requirementsMax} requirements`);
      requirements.push(this.#requirement());
      if (this.#peek().kind === 'end') return requirements;
      if (!this.#takeSymbol(',')) throw this.#unexpected(", expected: ',' or 'end of string'");
      if (!this.#atRequirement()) throw this.#unexpected(", expected: identifier after ','");
    }
  }

  #requirement(): LabelRequirement {
    const absent = this.#takeSymbol('!');
    if (this.#peek().kind !== 'word') throw this.#badRequirement(', expected: identifier');
    const key = this.#take().text;
    const keyProblems = isQualifiedName(key);
    if (keyProblems.length > 0) throw requirementError(fieldText('<nil>', key, keyProblems.join('; ')));
    if (absent) return { key, operator: '!', values: [] };
    if (this.#peek().kind === 'end' || this.#atSymbol(',')) return { key, operator: 'exists', values: [] };
    const operator = operators.get(this.#peek().text);
    if (!operator) throw this.#badRequirement(', expected: in, notin, =, ==, !=, gt, lt');
    this.#take();
    const values = isSetOperator(operator) ? this.#values() : [this.#value()];
    checkValues(key, operator, values);
    return { key, operator, values };
  }

  /** The value of `=`, `==` or `!=`; nothing before the next comma or the end is the empty value. */
  #value(): string {
    if (this.#peek().kind === 'end' || this.#atSymbol(',')) return '';
    if (this.#peek().kind !== 'word') throw this.#badRequirement(', expected: identifier');
    return this.#take().text;
  }

  #values(): string[] {
    if (!this.#takeSymbol('(')) throw this.#badRequirement(" expected: '('");
    const values = new Set<string>();
    for (;;) {
      if (this.#peek().kind === 'word') values.add(this.#take().text);
      else if (this.#atSymbol(',') || this.#atSymbol(')')) values.add('');
      else throw this.#badRequirement(`, expected: ',', ${values.size === 0 ? "')' or" : 'or'} identifier`);
      if (this.#takeSymbol(')')) return sortedSet(values);
      if (!this.#takeSymbol(',')) throw this.#badRequirement(", expected: ',' or ')'");
    }
  }

  #peek(): Token {
    return this.tokens[this.#position]!;
  }

  #take(): Token {
    return this.tokens[this.#position++]!;
  }

  #atSymbol(text: string): boolean {
    return this.#peek().kind === 'symbol' && this.#peek().text === text;
  }

  #takeSymbol(text: string): boolean {
    const found = this.#atSymbol(text);
    if (found) this.#position += 1;
    return found;
  }

  #atRequirement(): boolean {
    return this.#peek().kind === 'word' || this.#atSymbol('!');
  }

  #unexpected(expected: string): SelectorError {
    return new SelectorError(`found '${this.#peek().text}'${expected}`);
  }

  #badRequirement(expected: string): SelectorError {
    return requirementError(this.#unexpected(expected).message);
  }
}

function checkValues(key: string, operator: LabelOperator, values: readonly string[]): void {
  const problems: string[] = [];
  for (const [position, value] of values.entries()) {
    const path = index('values', position);
    if ((operator === '>' || operator === '<') && readInteger(value) === undefined)
      problems.push(fieldText(path, value, "for 'Gt', 'Lt' operators, the value must be an integer"));
    const valueProblems = isLabelValue(value);
    if (valueProblems.length > 0)
      problems.push(fieldText(`${path}[${key}]`, value, valueProblems.join('; ')));
  }
  if (problems.length > 0)
    throw requirementError(problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`);
}

function fieldText(path: string, value: string, detail: string): string {
  return `${path}: ${invalid(path, value, detail).message}`;
}

function requirementError(problem: string): SelectorError {
  return new SelectorError(`unable to parse requirement: ${problem}`);
}
