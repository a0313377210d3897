/** Checks options that a program hands in, as they are declared: a misspelt one would silently be ignored. */

import { StartError } from '../shared/start-error.ts';
import { nearestName } from '../shared/suggestion.ts';
import { type NodeOptions, nodeOptions } from './nodes.ts';
import type { Members, Option } from './option.ts';
import { type StartOptions, startOptions } from './start-options.ts';

/** Throws a `StartError` that names the first unknown option, or one with a value that there is not. */
export const checkStartOptions = (options: StartOptions): void => checkMembers(options, startOptions, '');

export const checkNodeOptionNames = (options: NodeOptions): void => checkMembers(options, nodeOptions, '');

function checkMembers(given: object, declared: Members, place: string): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(declared, name));
  if (unknown !== undefined) throw new StartError(unknownSentence(unknown, declared, place));
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) checkOption(value, declared[name]!, `${place}${name}`);
}

function checkOption(value: unknown, { form, group }: Option<unknown>, name: string): void {
  const problem = form?.value.problem?.(name, value);
  if (problem) throw new StartError(problem);
  if (!group || group.isCheckedByReader) return;
  if (Array.isArray(value)) for (const item of value) checkOption(item, { group }, `${name}[]`);
  else if (typeof value === 'object' && value !== null) checkMembers(value, group.members, `${name}.`);
}

function unknownSentence(unknown: string, declared: Members, place: string): string {
  const meant = nearestName(unknown, Object.keys(declared));
  const advice = meant === undefined ? '' : `; did you mean ${JSON.stringify(`${place}${meant}`)}?`;
  return `there is no option ${JSON.stringify(`${place}${unknown}`)}${advice}`;
}
