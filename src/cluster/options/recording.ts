/** Flags of `wherry record`. */
import { optionFor } from './option.ts';
import { count, file, folder, lifeMs, list, on, parsed, text, timeMs } from './values.ts';

const recording = optionFor('record');

/** LMDB's map has 16 GiB. */
const sizeMaxBytes = 12 * 2 ** 30;
const sizeMinBytes = 16 * 2 ** 20;
const unitBytes: Readonly<Record<string, number>> = { Mi: 2 ** 20, Gi: 2 ** 30 };

export const recordFlags = {
  dataDir: recording<string>({
    flag: 'data-dir',
    needed: ['record'],
    value: folder,
    text: 'the folder of the recording; one of the same cluster goes on',
    default: 'recording',
    preset: true,
  }),
  kubeconfig: recording<string>({
    flag: 'kubeconfig',
    needed: ['record'],
    value: file,
    text: 'how the cluster is reached (default: as kubectl finds it)',
  }),
  context: recording<string>({
    flag: 'context',
    needed: ['record'],
    value: text('NAME'),
    text: 'the context of the kubeconfig (default: the current one)',
  }),
  kinds: recording<readonly string[]>({
    flag: 'kinds',
    needed: ['record'],
    value: list,
    text: 'record only these resources, such as pods,deployments.apps',
  }),
  historyMs: recording<number>({
    flag: 'history',
    needed: ['record'],
    value: parsed('AGE', 'an age such as 90m, 24h or 7d', (given) => lifeMs(given) ?? timeMs(given)),
    text: 'how long changes are kept, such as 90m, 24h or 7d',
    default: '24h',
  }),
  historyBytes: recording<number>({
    flag: 'history-size',
    needed: ['record'],
    value: parsed('SIZE', 'a size from 16Mi to 12Gi', sizeBytes),
    text: 'how large the data file may become, such as 512Mi or 2Gi;\nthe oldest changes go first',
    default: '2Gi',
  }),
  metadataOnly: recording<boolean>({
    flag: 'metadata-only',
    needed: ['record'],
    value: on,
    text: 'record names, labels, annotations and owners, not specs and status',
  }),
  withSecrets: recording<boolean>({
    flag: 'with-secrets',
    needed: ['record'],
    value: on,
    text: 'record the values of secrets, too; who has the folder has them (default: names and keys alone)',
  }),
  noSecrets: recording<boolean>({
    flag: 'no-secrets',
    needed: ['record'],
    value: on,
    text: 'record no secrets',
  }),
  requestsPerSecond: recording<number>({
    flag: 'rate',
    needed: ['record'],
    value: count('NUMBER', 1_000, 1),
    text: 'requests a second to the cluster, at most',
    default: '20',
  }),
};

function sizeBytes(given: string): number | undefined {
  const [, number, unit] = /^(\d{1,6})(Mi|Gi)$/.exec(given) ?? [];
  const bytes = Number(number) * (unitBytes[unit ?? ''] ?? Number.NaN);
  return bytes >= sizeMinBytes && bytes <= sizeMaxBytes ? bytes : undefined;
}
