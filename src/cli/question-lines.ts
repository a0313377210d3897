/** The command lines that ask a running server: what is not well, and what has changed. */

import { problemFlags } from '../cluster/options/commands.ts';
import { askedServerFlags, atFlags, pastFlags } from '../cluster/options/past.ts';
import type { ServerChoice } from '../cluster/past/asked-server.ts';
import type { HistoryQuestion, TimelineQuestion } from '../cluster/past/change-list.ts';
import type { AtQuestion } from '../cluster/past/past-objects.ts';
import type { ProblemsQuestion } from '../cluster/past/problems.ts';
import { type FlagLine, readOptions } from '../program/flag-reading.ts';

export interface ProblemsLine extends ProblemsQuestion {
  readonly command: 'problems';
}

export type PastLine =
  | { readonly command: 'history'; readonly past: HistoryQuestion }
  | { readonly command: 'timeline'; readonly past: TimelineQuestion }
  | { readonly command: 'at'; readonly past: AtQuestion };

export function pastLine(command: PastLine['command'], line: FlagLine, words: readonly string[]): PastLine {
  const read = { ...serverChoice(line), ...readOptions(pastFlags, line) };
  if (command === 'timeline')
    return words.length ? line.refuse('timeline takes options only') : { command, past: read };
  if (command === 'at')
    return { command, past: { ...read, ...readOptions(atFlags, line), ...atWords(line, words) } };
  const [resource, object, ...rest] = words.length === 1 ? words[0]!.split('/') : words;
  if (!resource || !object || rest.length)
    return line.refuse('history takes one object: wherry history KIND/NAME');
  return { command, past: { ...read, resource, object } };
}

/** At most one way to a server. */
function serverChoice(line: FlagLine): ServerChoice {
  const choice = readOptions(askedServerFlags, line);
  const ways = [choice.server, choice.kubeconfig ?? choice.context, choice.name];
  if (ways.filter((way) => way !== undefined).length > 1)
    line.refuse('--server, --kubeconfig and --name exclude each other');
  return choice;
}

function atWords(line: FlagLine, words: readonly string[]): Pick<AtQuestion, 'moment' | 'what' | 'objects'> {
  const [moment, verb, what, ...objects] = words;
  if (!moment || verb !== 'get' || !what)
    return line.refuse('at takes a time and what to get: wherry at TIME get KIND [NAME…]');
  return { moment, what, objects };
}

export function problemsLine(line: FlagLine): ProblemsLine {
  const { namespace, format = 'text' } = readOptions(problemFlags, line);
  return { command: 'problems', ...serverChoice(line), namespace, format };
}
