/** The text of `wherry --help`, made from the declarations of the flags. */
import { flagsOf, type Option } from '../cluster/options/option.ts';
import { type Section, sections } from './flag-sections.ts';

/** The column where the text of a flag begins. */
const column = 24;
const indent = ' '.repeat(column);

const commands = `Usage: wherry <command> [options]

Commands
  up       run the cluster: API server, controllers, and this machine as a node
  serve    run the API server, with the controllers that keep house for it
  node     run this machine as a node of a server elsewhere
  backup   write all objects of a running server to a file: wherry backup FILE
  restore  make a data folder from such a file, or fill an etcd: wherry restore FILE
  token    make, list and delete the tokens that nodes join with: wherry token create|list|delete
  kubeconfig
           print a kubeconfig for the administrator or any user of the secure door
  test     run a command against a fresh cluster: wherry test [options] -- COMMAND…
  cleanup  remove the containers that a cluster has left in a container engine
  envtest  write etcd, kube-apiserver and kubectl for test suites that start these: wherry envtest FOLDER
`;

export const help = [commands, ...sections.map(sectionText)].join('\n');

function sectionText({ title, topics, note = '' }: Section): string {
  return `${title}\n${topics.flatMap(flagsOf).map(flagText).join('')}${note}`;
}

function flagText({
  flag,
  value,
  shown = value.shown,
  text,
  default: usual,
}: NonNullable<Option<unknown>['form']>): string {
  const name = `  --${flag}${shown && ` ${shown}`}`;
  const separator = text.endsWith('\n') ? '' : ' ';
  const words = usual === undefined ? text : `${text}${separator}(default ${usual})`;
  const below = words.startsWith('\n') || name.length >= column;
  const lines = words.replace(/^\n/, '').replaceAll('\n', `\n${indent}`);
  return `${below ? `${name}\n${indent}` : name.padEnd(column)}${lines}\n`;
}
