/**
 * Message plans: what `text-message.ts` has to know of a model: under which number and how each of its fields is written.
 */
import type { Field, FieldType, Model } from '../model/model.ts';

/** Wire types. */
const VARINT = 0;
const BYTES = 2;

export const tagOf = (number: number, wire = BYTES): number => number * 8 + wire;

/** A value: of a field, of an item or of an entry of a map. */
export class ValuePlan {
  readonly type: FieldType;
  readonly wire: number;
  /** How many bytes the length of the last one took, if it has one: that many are kept for the next. */
  lead = 1;
  /** The items of a list that is a message of its own. */
  readonly items: ValuePlan | undefined;
  #message: MessagePlan | undefined;

  constructor(private readonly field: Field) {
    this.type = field.type;
    this.wire = this.type === 'boolean' || this.type === 'integer' ? VARINT : BYTES;
    this.items = field.items && new ValuePlan(field.items);
  }

  /** Made at its first use: models may be recursive. */
  get message(): MessagePlan {
    this.#message ??= planOf(this.field.model);
    return this.#message;
  }
}

export class FieldPlan {
  /** Its name as it stands in the text: `"name":`. */
  readonly mark: Buffer;
  /** The field that came behind it in the last object: mostly, it does in the next one, too. */
  next: FieldPlan | undefined;
  readonly shape: 'one' | 'list' | 'map';
  readonly value: ValuePlan;
  readonly tag: number;
  /** Whether zero is written, because it is not the same as unset. */
  readonly keepsZero: boolean;

  constructor(
    field: Field,
    /** Its place among the fields of the message. */
    readonly rank: number,
  ) {
    const isList = field.type === 'array' && String(field.definition.pb?.at(-1)).startsWith('repeated ');
    this.mark = Buffer.from(`"${field.name}":`);
    this.shape = field.type === 'map' ? 'map' : isList ? 'list' : 'one';
    this.value = new ValuePlan(field.values ?? (isList ? field.items! : field));
    this.tag = tagOf(field.pb.at(-1)!, this.shape === 'map' ? BYTES : this.value.wire);
    this.keepsZero = field.ptr;
  }
}

export class MessagePlan {
  /** For each rank, the field's number, behind those of the messages that it is embedded in. */
  readonly paths: readonly (readonly number[])[];
  readonly hasEmbedded: boolean;
  /** The field that the last object began with. */
  next: FieldPlan | undefined;
  readonly #fields: ReadonlyMap<string, FieldPlan>;

  constructor(model: Model) {
    const fields = [...model.fields.values()].filter(({ pb }) => pb.length > 0);
    fields.sort((a, b) => comparePaths(a.pb, b.pb));
    this.paths = fields.map(({ pb }) => pb);
    this.hasEmbedded = this.paths.some(({ length }) => length > 1);
    this.#fields = new Map(fields.map((field, rank) => [field.name, new FieldPlan(field, rank)]));
  }

  field(name: string): FieldPlan | undefined {
    return this.#fields.get(name);
  }
}

function comparePaths(a: readonly number[], b: readonly number[]): number {
  let level = 0;
  while (a[level] === b[level] && level < a.length) level++;
  return (a[level] ?? 0) - (b[level] ?? 0);
}

const plans = new WeakMap<Model, MessagePlan>();

export function planOf(model: Model): MessagePlan {
  let plan = plans.get(model);
  if (!plan) {
    plan = new MessagePlan(model);
    plans.set(model, plan);
  }
  return plan;
}
