/**
 * `wherry.yaml`: options of a cluster in a file. Keys are the names of flags, with the values that these take, and the
 * parts that only a file can say. What may be in it comes from the declarations of options; an error names the file, the
 * line and the column.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { type Path, PlacedError, PlacedYaml } from '../../api/text/placed-yaml.ts';
import { type FileForm, fileFormsOf, flagsOf, type Members, type Option } from '../options/option.ts';
import type { Found } from '../options/shape.ts';
import { StartError } from '../shared/start-error.ts';
import { nearestName } from '../shared/suggestion.ts';

/** The file that is looked for in the current folder. */
export const configName = 'wherry.yaml';

const fileBytesMax = 1024 * 1024;
/** Errors of a file that are shown. */
const errorsMax = 20;
/** Key by which editors find the schema. */
const schemaKey = '$schema';

export type Form = NonNullable<Option<unknown>['form']>;

/** What a file may say. */
export interface ConfigForms {
  /** By the name of the flag. */
  readonly flags: ReadonlyMap<string, Form>;
  readonly parts: ReadonlyMap<string, FileForm<unknown> & { readonly text?: string }>;
}

/** What a file says. */
export interface ConfigFile {
  readonly file: string;
  /** Values of flags, as a command line would give them. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
  /** Options that are more than the text of a flag, by their key. */
  readonly parts: ReadonlyMap<string, unknown>;
}

/** Options of `up` and `serve` among the declarations. @param without flags that no file gives */
export function configForms(topics: readonly Members[], without: ReadonlySet<string>): ConfigForms {
  const taken = topics
    .flatMap(flagsOf)
    .filter(
      ({ flag, for: takers }) => !without.has(flag) && (takers.includes('up') || takers.includes('serve')),
    );
  return {
    flags: new Map(taken.map((form) => [form.flag, form])),
    parts: new Map(topics.flatMap(fileFormsOf).map((form) => [form.key, form])),
  };
}

/**
 * The file that is asked for, or the one in the current folder; undefined when there is no such file. Throws a
 * `StartError` with every error that it has.
 * @param asked undefined: the file of the current folder, if there is one
 */
export function readConfigFile(asked: string | undefined, forms: () => ConfigForms): ConfigFile | undefined {
  const file = asked ?? configName;
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found && asked === undefined) return undefined;
  const fail = (why: string): never => {
    throw new StartError(`${file} cannot be read: ${why}`);
  };
  if (!found) fail('there is no such file');
  else if (!found.isFile()) fail('it is no file');
  else if (found.size > fileBytesMax) fail(`it has more than ${fileBytesMax} bytes`);
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    fail((error as NodeJS.ErrnoException).code ?? (error as Error).message);
  }
  return readConfigText(text, file, forms());
}

/** The same of the text of a file. */
export function readConfigText(text: string, file: string, forms: ConfigForms): ConfigFile {
  const problems: string[] = [];
  const flags = new Map<string, readonly string[]>();
  const parts = new Map<string, unknown>();
  const yaml = parsed(text, file);
  const { value } = yaml;
  if (value !== null && (typeof value !== 'object' || Array.isArray(value)))
    throw new StartError(
      `${file}:1:1: the file must be a map from options to their values, such as port: 8080`,
    );
  for (const key of Object.keys(value ?? {})) {
    if (key === schemaKey) continue;
    const found = new FoundValue(yaml, [key], (value as Record<string, unknown>)[key], file);
    try {
      if (found.value !== null) readKey(found, key, forms, flags, parts);
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > errorsMax)
    problems.splice(
      errorsMax,
      problems.length,
      `${file}: there are ${problems.length - errorsMax} more errors`,
    );
  if (problems.length) throw new StartError(problems.join('\n'));
  return { file, flags, parts };
}

/** The value of a whole file, which a shape reads. */
export const fileValue = (text: string, file: string): Found => {
  const yaml = parsed(text, file);
  return new FoundValue(yaml, [], yaml.value, file);
};

function parsed(text: string, file: string): PlacedYaml {
  try {
    return new PlacedYaml(text);
  } catch (error) {
    if (!(error instanceof PlacedError)) throw error;
    const { line, column } = error.place;
    throw new StartError(`${file}:${line}:${column}: ${error.message}`, { cause: error });
  }
}

function readKey(
  found: Found,
  key: string,
  { flags: known, parts: shaped }: ConfigForms,
  flags: Map<string, readonly string[]>,
  parts: Map<string, unknown>,
): void {
  const form = known.get(key);
  const part = shaped.get(key);
  const isScalar = typeof found.value !== 'object';
  if (part && (!form || !isScalar)) parts.set(key, part.shape.read(found));
  else if (form) {
    const given = flagValues(found, form);
    if (given === undefined) return;
    form.value.read(given, key, (message) => found.refuse(message));
    flags.set(key, given);
  } else {
    const meant = nearestName(key, [...known.keys(), ...shaped.keys()]);
    const advice =
      meant === undefined ? 'wherry config schema lists all' : `did you mean ${JSON.stringify(meant)}?`;
    found.refuse(`there is no option ${JSON.stringify(key)}; ${advice}`, 'key');
  }
}

/** The values of a flag, as a command line would give them; undefined for a switch that is off. */
function flagValues(found: Found, form: Form): readonly string[] | undefined {
  const { form: kind, joins, shown } = form.value;
  const key = form.flag;
  if (Array.isArray(found.value)) {
    if (kind !== 'list' && kind !== 'repeated' && joins === undefined)
      return found.refuse(`${key} takes one value, not a list`);
    const items = found.value.map((_, i) => {
      const item = found.at(i);
      return item.source === undefined ? item.refuse(`${key}[${i}] must be a text`) : item.source;
    });
    const given = joins === undefined ? items : [items.join(joins)];
    return given.length ? located(given, found, form) : undefined;
  }
  if (found.source === undefined)
    return found.refuse(`${key} takes ${form.shown ?? (shown || 'true or false')}, not a map`);
  if (kind !== 'switch' && kind !== 'truth') return located([found.source], found, form);
  if (typeof found.value !== 'boolean') return found.refuse(`${key} must be true or false`);
  return kind === 'switch' && !found.value ? undefined : [String(found.value)];
}

const pathForms: ReadonlySet<string> = new Set(['FILE', 'FOLDER', 'PATH']);

/** Relative paths begin at the folder of the file. */
function located(
  given: readonly string[],
  found: Found,
  { value, shown = value.shown }: Form,
): readonly string[] {
  if (!pathForms.has(shown)) return given;
  return given.map((one) => (one === 'off' || one === '-' || one === '' ? one : found.near(one)));
}

class FoundValue implements Found {
  constructor(
    private readonly yaml: PlacedYaml,
    readonly path: Path,
    readonly value: unknown,
    private readonly file: string,
  ) {}

  get source(): string | undefined {
    return this.yaml.source(this.path);
  }

  at(part: string | number): FoundValue {
    const value = (this.value as Record<string | number, unknown>)[part];
    return new FoundValue(this.yaml, [...this.path, part], value, this.file);
  }

  near(place: string): string {
    const folder = path.dirname(this.file);
    return folder === '.' ? place : path.resolve(folder, place);
  }

  refuse(message: string, of?: 'key'): never {
    const { line, column } = this.yaml.place(this.path, of);
    throw new StartError(`${this.file}:${line}:${column}: ${message}`);
  }
}
