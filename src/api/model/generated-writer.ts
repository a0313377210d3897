/**
 * Generated writers: a function made for one model, which accesses each field by name. Every write is encoded, and V8
 * compiles `object.name` to a load at a fixed offset, while a loop over the model looks every name up. Writing a pod
 * went from 18 to 11 µs.
 *
 * The source contains only a model's field names, each as a JSON string, so no name can end its literal. The function
 * is undefined in a process that forbids code from strings (`--disallow-code-generation-from-strings`) and with
 * `WHERRY_PLAIN=1`; the encoder then loops over the model.
 */
import { optimized } from '../../switches.ts';
import type { JsonObject } from '../text/object.ts';
import type { Model } from './model.ts';

/**
 * Fields of a model for which code is generated. Models of our own have fewer; compiling a function of a user's ten
 * thousand takes a second, and one of a hundred thousand is refused by V8.
 */
export const generatedFieldsMax = 500;

/** Writes an object, or the value of a field. */
export type Writer<Value> = (value: Value) => string;

/**
 * Calls of a writer before code is generated for it, which takes a tenth of a millisecond: a start writes with many models,
 * and with most of them a few objects only.
 */
const callsBefore = 16;

/** A writer that loops at first; `generate` returns undefined when it is to go on with that. */
export function generatedLater<Value>(
  looping: Writer<Value>,
  generate: () => Writer<Value> | undefined,
): Writer<Value> {
  let write = looping;
  let calls = 0;
  return (value) => {
    if (calls < callsBefore && ++calls === callsBefore) write = generate() ?? looping;
    return write(value);
  };
}

/**
 * `writers` write the values of the fields, in the model's order; '' leaves a field out.
 *
 *   let text = '', value;
 *   if ((value = object.name) !== undefined && (value = write0(value)) !== '')
 *     text += (text === '' ? '{"name":' : ',"name":') + value;
 *   …
 */
export function generatedWriter(
  model: Model,
  writers: readonly Writer<unknown>[],
): Writer<JsonObject> | undefined {
  if (!optimized || model.order.length > generatedFieldsMax) return undefined;
  const steps = model.order.map((field, i) => {
    const name = JSON.stringify(field.name);
    const [first, next] = [`{${name}:`, `,${name}:`].map((text) => JSON.stringify(text));
    const isSet = field.empty === undefined ? `(value = object[${name}]) !== undefined` : 'true';
    const value = field.empty === undefined ? 'value' : `object[${name}]`;
    return `if (${isSet} && (value = write${i}(${value})) !== '') text += (text === '' ? ${first} : ${next}) + value;`;
  });
  const source = `return (object) => { let text = '', value; ${steps.join('\n')} return text === '' ? '{}' : text + '}'; };`;
  try {
    return new Function(...writers.map((_, i) => `write${i}`), source)(...writers) as Writer<JsonObject>;
  } catch (error) {
    if (error instanceof EvalError) return undefined;
    throw error;
  }
}
