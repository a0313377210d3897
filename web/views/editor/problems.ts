/** Maps the server's errors about a text to its lines. */
import { ApiError } from '../../core/api.ts';
import { lineOfField, type OutlineEntry, outlineOf } from './outline.ts';

export interface Problem {
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/**
 * The problems that a refusal names: its causes by their fields; unknown and duplicate fields, wrong types and errors of YAML by what the
 * message says.
 * @param added a line of what was sent that the text does not have
 */
export function problemsOf(error: Error, text: string, added?: number): readonly Problem[] {
  const entries = outlineOf(text);
  const causes = error instanceof ApiError ? error.causes : [];
  const found: Problem[] = [];
  for (const { field, message = '' } of causes)
    if (field) found.push({ line: lineOfField(entries, field), message: `${field}: ${message}` });
  if (found.length > 0) return found;
  for (const [whole, field] of error.message.matchAll(/(?:unknown|duplicate) field "([^"]+)"/g))
    found.push({ line: lineOfField(entries, field!), message: whole });
  const parse = /\bline (\d+): (.*)/.exec(error.message);
  if (parse) {
    const line = Number(parse[1]);
    found.push({ line: added !== undefined && line >= added ? line - 1 : line, message: parse[2]! });
  }
  const type = /cannot unmarshal (.*) into Go struct field \w+\.([\w.]+) of type (\S+)/.exec(error.message);
  if (type)
    found.push({ line: lineOfNames(entries, type[2]!), message: `${type[2]}: ${type[1]} is not ${type[3]}` });
  return found;
}

/** The line of a path such as `spec.containers.name`, which leaves out the items of lists. */
function lineOfNames(entries: readonly OutlineEntry[], names: string): number {
  const fits = ({ path }: OutlineEntry): boolean =>
    path.filter((step) => typeof step === 'string').join('.') === names;
  return entries.find(fits)?.line ?? lineOfField(entries, names);
}
