/** Flags of the commands that ask a running cluster, most of them about its past. */
import { isServerUrl } from './commands.ts';
import { nameValue } from './named.ts';
import { optionFor } from './option.ts';
import { file, list, on, oneOf, parsed, text } from './values.ts';

const server = optionFor('history', 'timeline', 'at', 'problems');
const asking = optionFor('history', 'timeline', 'at');
const changes = optionFor('history', 'timeline');

/** Which server is asked. Default: the cluster that all commands mean if it runs, else the usual port. */
export const askedServerFlags = {
  name: server<string>({
    flag: 'name',
    value: nameValue,
    text: 'the cluster of this user to ask',
  }),
  server: server<string>({
    flag: 'server',
    value: parsed('URL', 'a URL', (given) => (isServerUrl(given) ? given : undefined)),
    text: 'the server to ask (default: the cluster of --name if it runs, else http://127.0.0.1:8080)',
  }),
  kubeconfig: server<string>({
    flag: 'kubeconfig',
    value: file,
    text: 'how the server is reached, with credentials; with --context alone as kubectl finds it',
  }),
  context: server<string>({
    flag: 'context',
    value: text('NAME'),
    text: 'the context of the kubeconfig (default: the current one)',
  }),
};

export const pastFlags = {
  namespace: asking<string>({
    flag: 'namespace',
    short: 'n',
    value: text('NAME'),
    text: 'the namespace (default: default; for timeline all of them)',
  }),
  since: changes<string>({
    flag: 'since',
    value: text('TIME'),
    text: 'changes since then: 15m, 1h30m, 09:30, 2026-01-02T15:04:05Z (default: all that are kept; for\ntimeline 15m)',
  }),
  until: changes<string>({
    flag: 'until',
    value: text('TIME'),
    text: 'changes until then (default: now)',
  }),
  diff: optionFor('history')<boolean>({
    flag: 'diff',
    value: on,
    text: 'show every field that differs, with its values before and after',
  }),
  kinds: optionFor('timeline')<readonly string[]>({
    flag: 'kinds',
    value: list,
    text: 'changes of these resources alone, such as pods,deployments.apps (default: all but leases)',
  }),
  format: changes<'text' | 'json'>({
    flag: 'output',
    short: 'o',
    value: oneOf('FORMAT', 'text', 'json'),
    text: 'text for people, or json',
    default: 'text',
  }),
};

export const atFlags = {
  allNamespaces: optionFor('at')<boolean>({
    flag: 'all-namespaces',
    short: 'A',
    value: on,
    text: 'objects of all namespaces',
  }),
  selector: optionFor('at')<string>({
    flag: 'selector',
    short: 'l',
    value: text('LABELS'),
    text: 'objects with these labels',
  }),
  shape: optionFor('at')<'text' | 'wide' | 'json' | 'yaml' | 'name'>({
    flag: 'output',
    short: 'o',
    value: oneOf('FORMAT', 'text', 'wide', 'json', 'yaml', 'name'),
    text: 'text for people, wide, json, yaml or name',
    default: 'text',
  }),
};
