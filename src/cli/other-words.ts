/** Words that users of other tools try, and what they mean here. */
import { type Command, commands } from '../cluster/options/option.ts';
import { nearestName } from '../cluster/shared/suggestion.ts';

/** Commands of other tools, and what is probably meant. */
const meant: Readonly<Record<string, Command>> = {
  start: 'up',
  create: 'up',
  cluster: 'up',
  run: 'up',
  ls: 'list',
  ps: 'list',
  profile: 'list',
  kill: 'stop',
  down: 'stop',
  halt: 'stop',
  pause: 'stop',
  rm: 'delete',
  remove: 'delete',
  destroy: 'delete',
  export: 'kubeconfig',
  reset: 'snapshot',
  server: 'serve',
  agent: 'node',
};

const noLoading = 'images of the container engine on this machine need no loading';

/** What there is no command for. */
const answers: Readonly<Record<string, string>> = {
  load: noLoading,
  image: noLoading,
  images: noLoading,
  kubectl:
    'kubectl itself finds the cluster, by the context that wherry up makes: kubectl --context wherry-default get nodes',
  addons:
    'an ingress, storage, metrics and the dashboard are part of it; Helm and kubectl apply install all else',
  dashboard: 'the dashboard is at the address of the API, which wherry status prints',
};

/** Commands of kubectl, by which objects of the cluster are made and looked at. */
const ofKubectl: ReadonlySet<string> = new Set(
  'apply get describe edit patch scale rollout exec attach cp port-forward expose drain cordon top'.split(
    ' ',
  ),
);

/** What a word that is no command should have been. */
export function adviceFor(word: string): string {
  if (ofKubectl.has(word))
    return `kubectl has it: kubectl --context wherry-default ${word} …${word === 'get' ? '; wherry list lists the clusters' : ''}`;
  if (Object.hasOwn(answers, word)) return answers[word]!;
  const command = Object.hasOwn(meant, word) ? meant[word] : nearestName(word, commands);
  return command
    ? `did you mean "${command}"? wherry --help lists all`
    : `the commands are ${listed(commands)}`;
}

/** kind and k3d name what is deleted or listed: `delete cluster dev`. */
export const withoutKind = (words: readonly string[]): string | undefined =>
  words.length === 2 && /^clusters?$/.test(words[0]!) ? words[1] : undefined;

/** `a, b and c`. */
export const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** `, not "x y"`; nothing when nothing was said. */
export const notWords = (words: readonly string[]): string =>
  words.length ? `, not ${JSON.stringify(words.join(' '))}` : '';
