/**
 * Descriptions of kinds and fields, as shown by `kubectl explain`.
 *
 * They are data, written for Wherry, and loaded only when a document needs them: `<table>.descriptions.json` beside each
 * table, and `shared-descriptions.json` for what many models have.
 * Tables that are added at run time contain their own.
 */
import type { Field, Model } from './model.ts';

/** One model as the files write it. The `legend` in the shared file explains every key. */
export interface ModelDescription {
  about?: string;
  like?: string;
  fields?: Record<string, string>;
}

/** Models by name. */
export type TableDescriptions = Record<string, ModelDescription>;

export interface SharedDescriptions {
  legend: Record<string, string>;
  /** Fields of every kind. */
  kind: Record<string, string>;
  /** Lists, and the fields of every list; `{kind}` stands for the item's kind. */
  list: ModelDescription;
  /** Scalar types: quantities, times. */
  types: Record<string, string>;
}

export class Descriptions {
  static async load(): Promise<Descriptions> {
    const [{ default: shared }, { tableDescriptions }] = await Promise.all([
      import('./shared-descriptions.json', { with: { type: 'json' } }),
      import('../generated/descriptions.ts'),
    ]);
    return new Descriptions(shared, tableDescriptions);
  }

  private constructor(
    private readonly shared: SharedDescriptions,
    /** By table. */
    private readonly tables: Readonly<Record<string, TableDescriptions>>,
  ) {}

  model(model: Model): string | undefined {
    const about = model.definition.description ?? this.#of(model.file, model.name)?.about;
    if (about !== undefined || !isList(model)) return about;
    return this.shared.list.about?.replaceAll('{kind}', model.name.replace(/List$/, ''));
  }

  field(model: Model, field: Field): string | undefined {
    const { name } = field;
    const own = this.#of(model.file, model.name);
    const text =
      field.definition.description ?? own?.fields?.[name] ?? this.#like(model, own)?.fields?.[name];
    if (text !== undefined) return text;
    if (isList(model) && this.shared.list.fields?.[name]) return this.shared.list.fields[name];
    return isKind(model) ? this.shared.kind[name] : undefined;
  }

  /** A scalar type, such as a quantity. */
  type(name: string): string | undefined {
    return this.shared.types[name];
  }

  #of(table: string, name: string): ModelDescription | undefined {
    return this.tables[table]?.[name];
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
