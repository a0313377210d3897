/**
 * Descriptions of kinds and fields, as shown by `kubectl explain`.
 *
 * They are data (`field-tables/descriptions.json`), written for Wherry, and loaded only when a document needs them.
 * Tables that are added at run time contain their own.
 */
import type { Field, Model } from './model.ts';

/** One model as the file writes it. The `legend` in the file explains every key. */
export interface ModelDescription {
  about?: string;
  like?: string;
  fields?: Record<string, string>;
}

export interface DescriptionFile {
  legend: Record<string, string>;
  /** Fields of every kind. */
  kind: Record<string, string>;
  /** Lists, and the fields of every list; `{kind}` stands for the item's kind. */
  list: ModelDescription;
  /** Scalar types: quantities, times. */
  types: Record<string, string>;
  models: Record<string, Record<string, ModelDescription>>;
}

export class Descriptions {
  static async load(): Promise<Descriptions> {
    const { default: file } = await import('../field-tables/descriptions.json', { with: { type: 'json' } });
    return new Descriptions(file);
  }

  constructor(private readonly file: DescriptionFile) {}

  model(model: Model): string | undefined {
    const about = model.definition.description ?? this.#of(model.file, model.name)?.about;
    if (about !== undefined || !isList(model)) return about;
    return this.file.list.about?.replaceAll('{kind}', model.name.replace(/List$/, ''));
  }

  field(model: Model, field: Field): string | undefined {
    const { name } = field;
    const own = this.#of(model.file, model.name);
    const text =
      field.definition.description ?? own?.fields?.[name] ?? this.#like(model, own)?.fields?.[name];
    if (text !== undefined) return text;
    if (isList(model) && this.file.list.fields?.[name]) return this.file.list.fields[name];
    return isKind(model) ? this.file.kind[name] : undefined;
  }

  /** A scalar type, such as a quantity. */
  type(name: string): string | undefined {
    return this.file.types[name];
  }

  #of(table: string, name: string): ModelDescription | undefined {
    return this.file.models[table]?.[name];
  }

  #like(model: Model, own: ModelDescription | undefined): ModelDescription | undefined {
    if (own?.like === undefined) return undefined;
    const [table, name] = own.like.includes(':') ? own.like.split(':') : [model.file, own.like];
    return this.#of(table!, name!);
  }
}

/** The first fields of a kind are `kind` and `apiVersion`. */
const isKind = (model: Model): boolean =>
  model.order[0]?.name === 'kind' && model.order[1]?.name === 'apiVersion';

const isList = (model: Model): boolean =>
  isKind(model) && model.name.endsWith('List') && model.fields.get('items')?.type === 'array';
