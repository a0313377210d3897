/** Named clusters: how a cluster is found again, and what is done with one that runs elsewhere. */
import { optionFor, type Value } from './option.ts';
import { on, oneOf } from './values.ts';

const nameCharsMax = 40;
const up = optionFor('up');

/** Names become parts of paths, contexts and labels. */
export const isClusterName = (given: string): boolean =>
  given.length <= nameCharsMax && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(given);

export const nameRule = `small letters, digits and -, at most ${nameCharsMax}`;

export const nameValue: Value<string> = {
  shown: 'NAME',
  form: 'text',
  completes: 'clusters',
  read: ([given = ''], flag, refuse) =>
    isClusterName(given) ? given : refuse(`${flag} must be ${nameRule}, not ${JSON.stringify(given)}`),
};

export const namedFlags = {
  name: optionFor(
    'up',
    'token',
    'kubeconfig',
    'cleanup',
    'snapshot',
  )<string>({
    flag: 'name',
    value: nameValue,
    needed: ['up'],
    text: "the cluster; its data is in the user's data folder, unless --data-dir names another (default:\nthat of .wherry in the current folder if it is there, else default)",
  }),
  detached: up<boolean>({
    flag: 'detach',
    short: 'd',
    value: on,
    needed: ['up'],
    text: 'run it in the background; returns when pods can run, or says why not',
  }),
  uses: up<boolean>({
    flag: 'use',
    value: on,
    text: "make its context, wherry-NAME, the current one of the user's kubeconfig (default: if there is\nno current one)",
  }),
  format: up<'json' | 'text'>({
    flag: 'output',
    short: 'o',
    value: oneOf('FORMAT', 'json', 'text'),
    text: 'with --detach: text for people, or json, as wherry status prints it (default text)',
  }),
  noKubeconfig: up<boolean>({
    flag: 'no-kubeconfig',
    value: on,
    text: "leave the user's kubeconfig alone",
  }),
};

export const listFlags = {
  format: optionFor(
    'list',
    'status',
    'stop',
    'delete',
    'logs',
    'restart',
    'snapshot',
  )<'json' | 'text'>({
    flag: 'output',
    short: 'o',
    value: oneOf('FORMAT', 'json', 'text'),
    text: 'text for people, or json',
    default: 'text',
    preset: true,
  }),
};

export const deleteFlags = {
  sure: optionFor(
    'delete',
    'restart',
  )<boolean>({
    flag: 'yes',
    short: 'y',
    value: on,
    text: 'lose objects without being asked',
  }),
  all: optionFor('delete')<boolean>({
    flag: 'all',
    value: on,
    text: 'delete every cluster of this user, and the cache of compiled code',
  }),
};

export const logsFlags = {
  follows: optionFor('logs')<boolean>({
    flag: 'follow',
    short: 'f',
    value: on,
    text: 'go on with what is logged from now on',
  }),
};

export const snapshotFlags = {
  replaces: optionFor('snapshot')<boolean>({
    flag: 'replace',
    value: on,
    text: 'save over the snapshot that has this name',
  }),
};
