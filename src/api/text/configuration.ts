/**
 * Configuration documents, such as an audit policy: YAML or JSON with the names that Kubernetes gives their fields. Read
 * strictly, because a misspelt field would silently be ignored; errors are sentences that name the place.
 */
import { isJsonObject, type JsonObject } from './object.ts';
import { readYaml } from './yaml.ts';

/** A value of a document, and where it stands. */
export class ConfigurationValue {
  constructor(
    readonly value: unknown,
    /** `rules[0].level`; '' for the document itself. */
    readonly path: string,
  ) {}

  get isSet(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  #wrong(expected: string): Error {
    return new Error(`${this.path || 'the document'} must be ${expected}`);
  }

  /** The fields of an object, all of which must be known. An absent object has none. */
  fields<const Name extends string>(...names: readonly Name[]): Readonly<Record<Name, ConfigurationValue>> {
    if (this.isSet && !isJsonObject(this.value)) throw this.#wrong('an object');
    const object = (this.value ?? {}) as JsonObject;
    const unknown = Object.keys(object).find((name) => !(names as readonly string[]).includes(name));
    if (unknown !== undefined)
      throw new Error(
        `there is no field ${JSON.stringify(this.#at(unknown))}; there are ${names.join(', ')}`,
      );
    const entries = names.map((name) => [
      name,
      new ConfigurationValue(Object.hasOwn(object, name) ? object[name] : undefined, this.#at(name)),
    ]);
    return Object.fromEntries(entries) as Record<Name, ConfigurationValue>;
  }

  #at = (name: string): string => (this.path ? `${this.path}.${name}` : name);

  /** The items of a list; none when it is absent. */
  items(): ConfigurationValue[] {
    if (!this.isSet) return [];
    if (!Array.isArray(this.value)) throw this.#wrong('a list');
    return this.value.map((item, i) => new ConfigurationValue(item, `${this.path}[${i}]`));
  }

  texts(): string[] {
    return this.items().map((item) => item.text());
  }

  text(): string {
    if (typeof this.value !== 'string') throw this.#wrong('text');
    return this.value;
  }

  /** undefined when it is absent or empty. */
  optionalText(): string | undefined {
    return this.isSet && this.value !== '' ? this.text() : undefined;
  }

  requiredText(): string {
    const text = this.optionalText();
    if (text === undefined) throw new Error(`${this.path} is required`);
    return text;
  }

  flag(otherwise: boolean): boolean {
    if (!this.isSet) return otherwise;
    if (typeof this.value !== 'boolean') throw this.#wrong('true or false');
    return this.value;
  }

  oneOf<const Choice extends string>(choices: readonly Choice[]): Choice {
    const text = this.text();
    if (!(choices as readonly string[]).includes(text))
      throw new Error(`${this.path} must be one of ${choices.join(', ')}, not ${JSON.stringify(text)}`);
    return text as Choice;
  }
}

/** Reads a document of a kind, in one of some versions, with these fields beside `apiVersion` and `kind`. */
export function readConfiguration<const Name extends string>(
  text: string,
  kind: string,
  versions: readonly string[],
  ...names: readonly Name[]
): Readonly<Record<Name, ConfigurationValue>> {
  return configurationFields(new ConfigurationValue(readYaml(text).value, ''), kind, versions, ...names);
}

/** The same of a document that is a part of another. */
export function configurationFields<const Name extends string>(
  document: ConfigurationValue,
  kind: string,
  versions: readonly string[],
  ...names: readonly Name[]
): Readonly<Record<Name, ConfigurationValue>> {
  const fields = document.fields<Name | 'apiVersion' | 'kind' | 'metadata'>(
    'apiVersion',
    'kind',
    'metadata',
    ...names,
  );
  fields.apiVersion.oneOf(versions);
  fields.kind.oneOf([kind]);
  return fields;
}
