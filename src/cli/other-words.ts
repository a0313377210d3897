/** Words that users of other tools try, and what they mean here. */
import { type Command, commands } from '../cluster/options/option.ts';
import { nearestName } from '../cluster/shared/suggestion.ts';

/** Commands of other tools, and what is probably meant. */
const meant: Readonly<Record<string, Command>> = {
  start: 'up',
  create: 'up',
  run: 'up',
  get: 'list',
  ls: 'list',
  ps: 'list',
  kill: 'stop',
  rm: 'delete',
  remove: 'delete',
  destroy: 'delete',
  export: 'kubeconfig',
  reset: 'snapshot',
  server: 'serve',
  agent: 'node',
};

/** What there is no command for. */
const answers: Readonly<Record<string, string>> = {
  load: 'images of the container engine on this machine need no loading',
  dashboard: 'the dashboard is at the address of the API, which wherry status prints',
};

/** What a word that is no command should have been. */
export function adviceFor(word: string): string {
  if (Object.hasOwn(answers, word)) return answers[word]!;
  const command = Object.hasOwn(meant, word) ? meant[word] : nearestName(word, commands);
  return command
    ? `did you mean "${command}"? wherry --help lists all`
    : `the commands are ${listed(commands)}`;
}

/** `a, b and c`. */
export const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
