/**
 * Generated writers: a function made for one model, which asks for each of its fields by name. Every write of every client
 * is encoded, and V8 compiles `object.name` to a load at a known place, where a walk over the model looks every name up.
 * Writing a pod went from 18 to 11 µs.
 *
 * The source is made of a model's field names alone, each as a JSON string, so no name can end its literal. A process that
 * forbids code from strings (`--disallow-code-generation-from-strings`) gets undefined and walks over the model instead,
 * and so does one with `WHERRY_PLAIN=1`.
 */
import { optimized } from '../switches.ts';
import type { Model } from './model.ts';
import type { JsonObject } from './object.ts';

/** Writes an object, or the value of a field. */
export type Writer<Value> = (value: Value) => string;

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
  if (!optimized) return undefined;
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
