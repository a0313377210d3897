/**
 * Names, keys and small numbers: the grammars of field values.
 *
 * Each check returns Kubernetes' messages; an empty list means the value is valid. Lengths are counted in bytes of
 * UTF-8, as in Kubernetes, although its messages say characters. Values may be as large as a request body, so checks
 * search for invalid characters, which never backtracks, instead of matching a whole grammar.
 */
import { type FieldError, invalid, tooLong } from '../errors/field-error.ts';

const labelBytesMax = 63;
const subdomainBytesMax = 253;
const portNameBytesMax = 15;
const configKeyBytesMax = 253;
/** Bytes of all annotation keys and values of an object. */
const annotationsBytesMax = 262_144;
const idMax = 2 ** 31 - 1;
const fileModeMax = 0o777;
const portMax = 65_535;

/** Checks an object's name; with `prefix` it is a generateName, which gets a suffix. */
export type NameRule = (name: string, prefix: boolean) => string[];

const label1123 = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const qualified = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const label1123Text = regexText(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  label1123,
  ['my-name', '123-abc'],
);
const label1035Text = regexText(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  label1035,
  ['my-name', 'abc-123'],
);
const subdomain1123Text = regexText(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomain1123,
  ['example.com'],
);
const wildcardText = regexText(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  `\\*\\.${subdomain1123}`,
  ['*.example.com'],
);
const qualifiedText = regexText(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  qualified,
  ['MyName', 'my.name', '123-abc'],
);
const labelKeyText = `a valid label key ${qualifiedText} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
const labelValueText = regexText(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  `(${qualified})?`,
  ['MyValue', 'my_value', '12345'],
);
const configKeyText = regexText(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  '[-._a-zA-Z0-9]+',
  ['key.name', 'KEY_NAME', 'key-name'],
);
const headerText = regexText(
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  '[-A-Za-z0-9]+',
  ['X-Header-Name'],
);

export function isLabel1123(value: string): string[] {
  const problems = lengthProblems(value, labelBytesMax);
  if (!label1123Fits(value)) problems.push(subdomainFits(value) ? 'must not contain dots' : label1123Text);
  return problems;
}

/** Like a label of RFC 1123, but with a letter at the beginning. */
export function isLabel1035(value: string): string[] {
  const problems = lengthProblems(value, labelBytesMax);
  if (!label1123Fits(value) || /^[0-9]/.test(value)) problems.push(label1035Text);
  return problems;
}

export function isSubdomain1123(value: string): string[] {
  const problems = lengthProblems(value, subdomainBytesMax);
  if (!subdomainFits(value)) problems.push(subdomain1123Text);
  return problems;
}

export function isWildcardSubdomain(value: string): string[] {
  const problems = lengthProblems(value, subdomainBytesMax);
  if (!value.startsWith('*.') || !subdomainFits(value.slice(2))) problems.push(wildcardText);
  return problems;
}

/** A name that is valid as a segment of a URL path. */
export function isPathSegment(value: string): string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  return ['/', '%'].filter((char) => value.includes(char)).map((char) => `may not contain '${char}'`);
}

const pathText = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

/** A path below a domain, such as `example.com/controller`. A problem may be about one of its parts. */
export function isDomainPath(value: string): { value: string; problem: string }[] {
  const slash = value.indexOf('/');
  const [domain, path] = [value.slice(0, Math.max(slash, 0)), value.slice(slash + 1)];
  if (!domain || !path) return [{ value, problem: 'must be a domain-prefixed path (such as "acme.io/foo")' }];
  const problems = isSubdomain1123(domain).map((problem) => ({ value: domain, problem }));
  if (problems.length === 0 && /[^A-Za-z0-9/\-._~%!$&'()*+,;=:]/.test(path))
    problems.push({ value: path, problem: pathText });
  return problems;
}

/** Cache of valid keys, because the same few keys occur in most objects: number of entries, and longest key. */
const fineMax = 1_000;
const fineCharsMax = 100;
const fine = new Set<string>();

/** A label or annotation key, a finalizer, a resource name: `[prefix/]name`. */
export function isQualifiedName(value: string): string[] {
  if (fine.has(value)) return [];
  // Most keys have no prefix, and one test tells that they are valid.
  const problems = isShortName(value) ? [] : qualifiedProblems(value);
  if (problems.length === 0 && value.length <= fineCharsMax) {
    if (fine.size >= fineMax) fine.clear();
    fine.add(value);
  }
  return problems;
}

/** Whether it is a valid name without a prefix, and in ASCII, as long as a label may be at most. */
const isShortName = (value: string): boolean => value.length <= labelBytesMax && qualifiedFits(value);

function qualifiedProblems(value: string): string[] {
  const slash = value.indexOf('/');
  if (slash >= 0 && value.includes('/', slash + 1)) return [labelKeyText];
  const name = value.slice(slash + 1);
  const problems: string[] = [];
  if (slash === 0) problems.push('prefix part must be non-empty');
  else if (slash > 0)
    problems.push(...isSubdomain1123(value.slice(0, slash)).map((problem) => `prefix part ${problem}`));
  if (name === '') problems.push('name part must be non-empty');
  else problems.push(...lengthProblems(name, labelBytesMax).map((problem) => `name part ${problem}`));
  if (!qualifiedFits(name)) problems.push(`name part ${qualifiedText}`);
  return problems;
}

export function isLabelValue(value: string): string[] {
  if (value === '' || isShortName(value)) return [];
  const problems = lengthProblems(value, labelBytesMax);
  if (!qualifiedFits(value)) problems.push(labelValueText);
  return problems;
}

export function isPortName(value: string): string[] {
  const problems = lengthProblems(value, portNameBytesMax);
  if (value === '' || /[^-a-z0-9]/.test(value))
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) problems.push('must contain at least one letter (a-z)');
  if (value.includes('--')) problems.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
}

export function isEnvName(value: string): string[] {
  if (value === '') return ['environment variable name must be non-empty'];
  if (!/[^ -~]|=/.test(value)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

/** A key of a Secret or ConfigMap, which becomes a file name: it must not leave its folder. */
export function isConfigKey(value: string): string[] {
  const problems = lengthProblems(value, configKeyBytesMax);
  if (value === '' || /[^-._a-zA-Z0-9]/.test(value)) problems.push(configKeyText);
  if (value === '.' || value === '..') problems.push(`must not be '${value}'`);
  else if (value.startsWith('..')) problems.push("must not start with '..'");
  return problems;
}

export function isHttpHeaderName(value: string): string[] {
  return value === '' || /[^-A-Za-z0-9]/.test(value) ? [headerText] : [];
}

/**
 * A path inside a volume. `reserved` also refuses names that begin with `..`, which the node uses for its own files.
 */
export function isRelativePath(value: string, reserved = false): string[] {
  const problems: string[] = [];
  if (value.startsWith('/')) problems.push('must be a relative path');
  if (/(?:^|\/)\.\.(?:\/|$)/.test(value)) problems.push("must not contain '..'");
  else if (reserved && value.startsWith('..')) problems.push("must not start with '..'");
  return problems;
}

export function isUserId(value: number): string[] {
  return between(value, 0, idMax) ? [] : [`must be between 0 and ${idMax}, inclusive`];
}

export function isFileMode(value: number): string[] {
  return between(value, 0, fileModeMax)
    ? []
    : ['must be a number between 0 and 0777 (octal), both inclusive'];
}

export function isPortNumber(value: number): string[] {
  return between(value, 1, portMax) ? [] : [`must be between 1 and ${portMax}, inclusive`];
}

export const subdomainName: NameRule = (name, prefix) => isSubdomain1123(prefix ? maskDash(name) : name);
export const labelName: NameRule = (name, prefix) => isLabel1123(prefix ? maskDash(name) : name);
export const pathSegmentName: NameRule = (name, prefix) =>
  // A suffix follows, so a prefix of dots is valid.
  prefix && (name === '.' || name === '..') ? [] : isPathSegment(name);

export function validateLabels(
  labels: Record<string, string> | null | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (!labels) return errors;
  // Entries of an object with very many keys take three times as long as its keys.
  for (const key of Object.keys(labels)) {
    const value = labels[key]!;
    for (const problem of isQualifiedName(key)) errors.push(invalid(path, key, problem));
    for (const problem of isLabelValue(value)) errors.push(invalid(path, value, problem));
  }
  return errors;
}

export function validateAnnotations(
  annotations: Record<string, string> | null | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  if (!annotations) return errors;
  for (const key of Object.keys(annotations)) {
    for (const problem of isQualifiedName(key.toLowerCase())) errors.push(invalid(path, key, problem));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key]!);
  }
  if (bytes > annotationsBytesMax) errors.push(tooLong(path, annotationsBytesMax));
  return errors;
}

/** Kubernetes lists examples with two blanks before each `or`; clients compare these texts. */
function regexText(rule: string, regex: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${shown}regex used for validation is '${regex}')`;
}

function lengthProblems(value: string, bytesMax: number): string[] {
  const { length } = value;
  // A UTF-16 unit has at most three bytes in UTF-8: for short values the bytes need not be counted.
  const over = length > bytesMax || (length * 3 > bytesMax && Buffer.byteLength(value) > bytesMax);
  return over ? [`must be no more than ${bytesMax} characters`] : [];
}

function label1123Fits(value: string): boolean {
  return value !== '' && !/[^-a-z0-9]/.test(value) && !value.startsWith('-') && !value.endsWith('-');
}

/** DNS labels joined by dots: a letter or digit before and after each dot, and at both ends. */
function subdomainFits(value: string): boolean {
  return value !== '' && !/[^-.a-z0-9]|^[-.]|[-.]$|-\.|\.[-.]/.test(value);
}

const isMark = (char: string): boolean => char === '-' || char === '.' || char === '_';

function qualifiedFits(value: string): boolean {
  return value !== '' && !/[^-._A-Za-z0-9]/.test(value) && !isMark(value[0]!) && !isMark(value.at(-1)!);
}

function between(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

/** A generateName may end in a dash, because a suffix follows: a letter is appended for the check. */
function maskDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -1)}a` : name;
}
