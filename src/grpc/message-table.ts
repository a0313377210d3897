/**
 * Messages of protocol buffers by tables: `{ name: [field number, type] }`, with `'*'` behind the type for a list. Types
 * of values come from the tables. Fields that a table does not have are skipped when a message is read. A field whose
 * value is 0, false or empty is not written, as it is the same as none; a message is, even if it has no fields.
 */
import { MessageReader } from '../api/protobuf/message-reader.ts';
import { MessageWriter } from '../api/protobuf/message-writer.ts';

/**
 * `text`; `flag`: true or false; `int`: a number below 2^53, or a negative one that is only written; `nanoseconds`: a time,
 * read as milliseconds; `bytes`; `map`: of texts; or the table of a message.
 */
type FieldType = 'text' | 'flag' | 'int' | 'nanoseconds' | 'bytes' | 'map' | MessageTable;
type Field = readonly [number: number, type: FieldType, repeated?: '*'];
export interface MessageTable {
  readonly [name: string]: Field;
}

type ValueOf<T> = T extends 'text'
  ? string
  : T extends 'flag'
    ? boolean
    : T extends 'int' | 'nanoseconds'
      ? number
      : T extends 'bytes'
        ? Buffer
        : T extends 'map'
          ? Readonly<Record<string, string>>
          : T extends MessageTable
            ? MessageOf<T>
            : never;

/** A message as an object; absent fields have their default. */
export type MessageOf<T extends MessageTable> = {
  readonly [N in keyof T]?:
    | (T[N][2] extends '*' ? readonly ValueOf<T[N][1]>[] : ValueOf<T[N][1]>)
    | undefined;
};

export const encode = <T extends MessageTable>(table: T, message: MessageOf<T>): Buffer =>
  writerOf(table, message).finish();

export const decode = <T extends MessageTable>(table: T, bytes: Buffer): MessageOf<T> =>
  read(table, new MessageReader(bytes)) as MessageOf<T>;

const mapEntry = { key: [1, 'text'], value: [2, 'text'] } as const;

function writerOf(table: MessageTable, message: Readonly<Record<string, unknown>>): MessageWriter {
  const writer = new MessageWriter();
  for (const [name, value] of Object.entries(message)) {
    const field = table[name];
    if (!field || value === undefined) continue;
    const [number, type, repeated] = field;
    if (type === 'map')
      for (const [key, text] of Object.entries(value as Record<string, string>))
        writer.message(number, writerOf(mapEntry, { key, value: text }));
    else if (!repeated) write(writer, number, type, value, false);
    else if (type === 'int') writer.numbers(number, value as number[]);
    else for (const one of value as unknown[]) write(writer, number, type, one, true);
  }
  return writer;
}

function write(
  writer: MessageWriter,
  number: number,
  type: FieldType,
  value: unknown,
  inList: boolean,
): void {
  if (typeof type === 'object')
    writer.message(number, writerOf(type, value as Readonly<Record<string, unknown>>));
  else if (type === 'bytes') writer.bytes(number, value as Buffer);
  else if (!value && !inList) return;
  else if (type === 'text') writer.text(number, value as string);
  else writer.signed(number, Number(value));
}

function read(table: MessageTable, reader: MessageReader): Record<string, unknown> {
  const fields = fieldsOf(table);
  const message: Record<string, unknown> = {};
  while (reader.next()) {
    const known = fields.get(reader.field);
    if (!known) {
      reader.skip();
      continue;
    }
    const { name, type, isList } = known;
    if (type === 'map') {
      const { key = '', value = '' } = read(mapEntry, reader.message()) as { key?: string; value?: string };
      // Defined as a property, so that a key such as __proto__ does not change the object.
      Object.defineProperty((message[name] ??= {}), key, { value, enumerable: true, configurable: true });
      continue;
    }
    const value = readValue(type, reader);
    if (isList) ((message[name] ??= []) as unknown[]).push(value);
    else message[name] = value;
  }
  return message;
}

function readValue(type: Exclude<FieldType, 'map'>, reader: MessageReader): unknown {
  if (typeof type === 'object') return read(type, reader.message());
  if (type === 'text') return reader.text();
  if (type === 'bytes') return reader.bytes();
  if (type === 'nanoseconds') return Number(BigInt.asIntN(64, BigInt(reader.id())) / 1_000n) / 1_000;
  const number = reader.number();
  return type === 'flag' ? number !== 0 : number;
}

interface KnownField {
  readonly name: string;
  readonly type: FieldType;
  readonly isList: boolean;
}

const known = new WeakMap<MessageTable, ReadonlyMap<number, KnownField>>();

/** The fields of a table by number. */
function fieldsOf(table: MessageTable): ReadonlyMap<number, KnownField> {
  let fields = known.get(table);
  if (!fields) {
    fields = new Map(
      Object.entries(table).map(([name, [number, type, list]]) => [
        number,
        { name, type, isList: list === '*' },
      ]),
    );
    known.set(table, fields);
  }
  return fields;
}
